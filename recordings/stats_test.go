package recordings_test

import (
	"context"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
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
