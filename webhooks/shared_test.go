package webhooks_test

import (
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/webhooks"
)

// Rule: include_shared adds what others share with the webhook's owner, from when it is finished until the share ends or
// sharing is switched off, and tells whose it is; a webhook that does not ask for it is told of its owner's alone.
func TestSharedRecordingsAreToldOf(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, func(o *webhooks.Options) { o.InternalSharing = true })
		colleague, _ := r.account("colleague", auth.RoleEditor)
		recording := models.Recording{
			OrganizationID: colleague.OrganizationID, UserID: colleague.ID, Status: "PROCESSING", SHA256: strings.Repeat("a", 64), CreatedAt: time.Now().UTC(), UpdatedAt: time.Now().UTC(),
		}
		r.write(func(tx *gorm.DB) error {
			if err := tx.Create(&recording).Error; err != nil {
				return err
			}
			return tx.Create(&models.InternalShare{
				RecordingID: recording.ID, UserID: r.user.ID, GrantedBy: colleague.ID, Source: "manual", CreatedAt: time.Now().UTC(),
			}).Error
		})
		w := wish(nowhere, "recording.updated", "recording.deleted")
		w.Shared = new(true)
		asking, _, err := r.hooks.Create(t.Context(), r.owner, w)
		if err != nil {
			t.Fatal(err)
		}
		silent, _ := r.create(nowhere, webhooks.RecordingUpdated)
		told := func(after string, want int) {
			t.Helper()
			event := updated(r, recording.ID)
			event.UserID = colleague.ID
			r.announce(event)
			if err := r.hooks.Dispatch(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := len(r.deliveries(asking.ID)); got != want {
				t.Errorf("%s: %d deliveries, want %d", after, got, want)
			}
		}
		told("not finished", 0)
		r.write(func(tx *gorm.DB) error { return tx.Model(&recording).UpdateColumn("status", "COMPLETED").Error })
		told("finished", 1)
		r.hooks.InternalSharing = false
		told("switched off", 1)
		r.hooks.InternalSharing = true
		r.write(func(tx *gorm.DB) error {
			return tx.Where("recording_id = ?", recording.ID).Delete(&models.InternalShare{}).Error
		})
		told("no longer shared", 1)
		if got := len(r.deliveries(silent.ID)); got != 0 {
			t.Errorf("%d deliveries to one that does not ask", got)
		}
	})
}
