package recordings_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// toldOf gives the account webhooks, of itself and of the organization, an integration and an import, and another one a webhook that was
// told of the account's recordings. It gives the organization's webhook.
func (r *rig) toldOf(other models.User) int64 {
	r.t.Helper()
	now := time.Now().UTC()
	hook := func(user models.User, scope string) models.Webhook {
		return models.Webhook{
			OrganizationID: user.OrganizationID, UserID: user.ID, Scope: scope, Name: "n", URL: "https://example.org/", Secret: "-", Events: "[]",
			Enabled: true, CreatedAt: now, UpdatedAt: now,
		}
	}
	mine, ours, their := hook(r.user, "user"), hook(r.user, "organization"), hook(other, "user")
	integration := models.Integration{
		PublicID: "sixteen-of-these", OrganizationID: r.user.OrganizationID, UserID: r.user.ID, Name: "n", Scope: "organization", Secret: "-", Enabled: true, CreatedAt: now,
	}
	err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
		for _, row := range []any{&mine, &ours, &their, &integration} {
			if err := tx.Create(row).Error; err != nil {
				return err
			}
		}
		for i, d := range []models.WebhookDelivery{
			{WebhookID: mine.ID, OwnerUserID: &r.user.ID},
			{WebhookID: mine.ID, OwnerUserID: &other.ID},
			{WebhookID: ours.ID, OwnerUserID: &r.user.ID},
			{WebhookID: ours.ID, OwnerUserID: &other.ID},
			{WebhookID: their.ID, OwnerUserID: &r.user.ID},
			{WebhookID: their.ID},
		} {
			d.EventID, d.EventType, d.Payload, d.Status, d.DueAt, d.CreatedAt = "00000000-0000-4000-8000-00000000000"+string(rune('0'+i)), "t", "{}", "pending", &now, now
			if err := tx.Create(&d).Error; err != nil {
				return err
			}
		}
		// Somebody who may manage it, and somebody who was there before and is disabled.
		gone := now
		for _, user := range []models.User{{Username: "former", DisabledAt: &gone}, {Username: "heir"}} {
			user.OrganizationID, user.Email, user.PasswordHash, user.Role, user.CreatedAt = r.user.OrganizationID, user.Username+"@example.org", "-", "admin", now
			if err := tx.Create(&user).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.importing(recordings.ImportWish{Address: serving(r.t, func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() })})
	return ours.ID
}

// expectToldOfOthers looks at what is left of it.
func (r *rig) expectToldOfOthers(other models.User, shared int64) {
	r.t.Helper()
	if left := r.count(&models.Webhook{}, "user_id = ?", other.ID); left != 1 {
		r.t.Errorf("another member has %d webhooks, want its one", left)
	}
	if left, about := r.count(&models.WebhookDelivery{}, "1 = 1"), r.count(&models.WebhookDelivery{}, "owner_user_id = ?", r.user.ID); left != 2 || about != 0 {
		r.t.Errorf("%d deliveries are left and %d of them tell of the account, want those of others", left, about)
	}
	if integrations, imports := r.count(&models.Integration{}, "1 = 1"), r.waitingImports(); integrations != 0 || imports != 0 {
		r.t.Errorf("%d integrations and %d imports are left", integrations, imports)
	}
	var hook models.Webhook
	err := r.db.Read.Joins("JOIN users ON users.id = webhooks.user_id AND users.username = 'heir'").Take(&hook, shared).Error
	if err != nil || hook.Enabled {
		r.t.Errorf("the organization's webhook is %+v, %v, want that of who may manage it, switched off", hook, err)
	}
	if waits := r.count(&models.WebhookDelivery{}, "webhook_id = ? AND status = 'dropped'", shared); waits != 1 {
		r.t.Errorf("%d deliveries to it are dropped, want the one that waited", waits)
	}
}

// Rule (issue 8): an import at work for an account that is disabled stops, as every job does, and says so. Nothing of it stays.
func TestADisabledAccountsImportStops(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		asked, left := make(chan time.Time, 1), make(chan time.Time, 1)
		id := r.importing(recordings.ImportWish{Address: serving(t, func(w http.ResponseWriter, request *http.Request) {
			_, _ = w.Write([]byte("RIFF"))
			http.NewResponseController(w).Flush()
			asked <- time.Now()
			<-request.Context().Done()
			left <- time.Now()
		})})
		r.start()
		receive(t, "the file is asked for", asked)
		began := time.Now()
		r.disable(r.user, true)
		receive(t, "the other side is left", left)
		if took := time.Since(began); took > time.Second {
			t.Errorf("it was left after %v", took)
		}
		if row := r.await(id, recordings.StatusFailed); row.ErrorCode == nil || *row.ErrorCode != "account_disabled" {
			t.Errorf("it failed as %+v", row)
		}
		r.until("nothing is left", func() bool { return len(r.left()) == 0 && r.waitingImports() == 0 })
	})
}
