package recordings_test

import (
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// Rule: what is shared is found by the shares of the caller, and what is the caller's own by the order of the page: with
// thousands of either, no page and no feed reads or sorts a whole table.
func TestNoSharedPageReadsAWholeTable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) { s.recordings.InternalSharing, s.recordings.ChangesSettle = true, time.Millisecond })
		grace, by := r.member("grace")
		r.crowd(r.user)
		r.write(func(tx *gorm.DB) error {
			return tx.Exec(`INSERT INTO internal_shares (recording_id, user_id, granted_by, can_edit, can_reshare, source, created_at)
				SELECT id, ?, user_id, false, false, 'manual', created_at FROM recordings WHERE id % 300 = 0`, grace.ID).Error
		})
		r.crowd(grace) // and the figures of both are known
		shared, all := recordings.ScopeShared, recordings.ScopeAll
		asked := map[string]func(){
			"shared":          func() { r.listBy(by, recordings.Filter{Scope: shared}) },
			"all":             func() { r.listBy(by, recordings.Filter{Scope: all}) },
			"all by title":    func() { r.listBy(by, recordings.Filter{Scope: all, SortBy: "title"}) },
			"all, inbox":      func() { r.listBy(by, recordings.Filter{Scope: all, Inbox: new(true)}) },
			"shared, starred": func() { r.listBy(by, recordings.Filter{Scope: shared, Starred: new(true)}) },
			"feed of shared":  func() { r.followBy(by, shared, "") },
			"feed of all":     func() { r.followBy(by, all, "") },
			"search": func() {
				if _, err := r.recordings.Search(t.Context(), by, recordings.Query{Text: "recording 42", Scope: shared}); err != nil {
					t.Error(err)
				}
			},
		}
		for name, ask := range asked {
			plans := r.plans(ask)
			if len(plans) == 0 {
				t.Errorf("%s makes no query", name)
			}
			for _, plan := range plans {
				if strings.Contains(plan, "Seq Scan on recordings") || strings.Contains(plan, "SCAN recordings") {
					t.Errorf("%s: the table is read whole:\n%s", name, plan)
				}
				if strings.Contains(plan, "AS mine") && r.db.Dialect == models.SQLite && !strings.Contains(plan, "(user_id=?)") {
					t.Errorf("%s: one's own are not read by their order:\n%s", name, plan)
				}
			}
		}
	})
}
