package recordings_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

func (r *rig) stats(p auth.Principal) recordings.Stats {
	r.t.Helper()
	stats, err := r.recordings.Stats(context.Background(), p)
	if err != nil {
		r.t.Fatal(err)
	}
	return stats
}

// Every state is in one of the figures, audio that is gone takes no room, and another account has figures of its own.
func TestStats(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		completed, gone := day(5), day(6)
		rows := make([]models.Recording, len(someStatuses))
		for i, status := range someStatuses {
			rows[i] = models.Recording{Status: status, FileSize: 10}
			if status == recordings.StatusCompleted || status == recordings.StatusFailed {
				rows[i].CompletedAt = &completed
			}
		}
		rows[0].AudioDeletedAt, rows[5].CompletedAt = &gone, &gone
		r := listing(t, url, rows...)
		got := r.stats(r.owner)
		if got.LastTranscription == nil || !got.LastTranscription.Equal(completed) {
			t.Errorf("the last transcription is of %v, want %v", got.LastTranscription, completed)
		}
		got.LastTranscription = nil
		want := recordings.Stats{Total: 6, Completed: 1, Failed: 1, Processing: 2, Pending: 2, AudioBytes: 50}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if other := r.stats(r.principal(r.account("other"), "read")); other != (recordings.Stats{}) {
			t.Errorf("another account has %+v", other)
		}
	})
}

// Rule: the figures of all accounts are for administrators of the instance alone, by token for those with the mark; they
// add up everybody's.
func TestStatsOfAll(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		completed := day(5)
		r := listing(t, url,
			models.Recording{Status: recordings.StatusCompleted, FileSize: 10, CompletedAt: &completed}, models.Recording{Status: recordings.StatusQueued, FileSize: 7})
		other := r.account("other")
		row := models.Recording{
			OrganizationID: other.OrganizationID, UserID: other.ID, Status: recordings.StatusFailed, FileSize: 5,
			SHA256: strings.Repeat("0", 64), CreatedAt: time.Now().UTC(), UpdatedAt: time.Now().UTC(),
		}
		if err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error { return tx.Create(&row).Error }); err != nil {
			t.Fatal(err)
		}
		administrator := auth.Token{
			ID: 1, UserID: r.user.ID, OrganizationID: r.user.OrganizationID, Role: auth.RoleAdmin, Scopes: auth.ParseScopes("read"),
			Administration: true, Instance: true,
		}
		all, err := r.recordings.StatsOfAll(t.Context(), authtest.By(t, administrator))
		if err != nil || all.LastTranscription == nil || !all.LastTranscription.Equal(completed) {
			t.Fatalf("got %+v, %v", all, err)
		}
		all.LastTranscription = nil
		want := recordings.StatsOfAll{
			Stats: recordings.Stats{Total: 3, Completed: 1, Failed: 1, Pending: 1, AudioBytes: 22, Today: 1}, Accounts: 2, Active: 1,
		}
		if all != want {
			t.Errorf("got %+v, want %+v", all, want)
		}
		for name, change := range map[string]func(*auth.Token){
			"no mark":                         func(token *auth.Token) { token.Administration = false },
			"an organization's administrator": func(token *auth.Token) { token.Instance = false },
			"a viewer":                        func(token *auth.Token) { token.Role = auth.RoleViewer },
			"no role":                         func(token *auth.Token) { token.Role = "" },
		} {
			token := administrator
			change(&token)
			if got, err := r.recordings.StatsOfAll(t.Context(), authtest.By(t, token)); !problems.Is(err, problems.InsufficientPermission) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
	})
}

// Quirk 54: today is the organization's, not the machine's nor UTC's.
func TestTodayIsTheOrganizations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) {
			s.recordings.Now = func() time.Time { return time.Date(2026, 2, 10, 20, 0, 0, 0, time.UTC) }
		})
		for _, at := range []time.Time{
			time.Date(2026, 2, 10, 14, 59, 59, 0, time.UTC), time.Date(2026, 2, 10, 15, 0, 0, 0, time.UTC), time.Date(2026, 2, 10, 19, 0, 0, 0, time.UTC),
		} {
			r.put(0, "a", at)
		}
		for zone, want := range map[string]int64{"UTC": 3, "Asia/Tokyo": 2} {
			err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
				return tx.Model(&models.Organization{}).Where("id = ?", r.user.OrganizationID).UpdateColumn("time_zone", zone).Error
			})
			if got := r.stats(r.owner).Today; got != want || err != nil {
				t.Errorf("in %s today has %d recordings, want %d, %v", zone, got, want, err)
			}
		}
	})
}
