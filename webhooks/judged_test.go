package webhooks_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/webhooks"
)

// holding is a receiver that answers nothing; it tells when it is asked and when it is left.
func holding(t *testing.T) (v *receiver, asked, left chan time.Time) {
	t.Helper()
	v, asked, left = newReceiver(t), make(chan time.Time, 9), make(chan time.Time, 9)
	v.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body) // else the server does not see that it is left
		asked <- time.Now()
		<-q.Context().Done()
		left <- time.Now()
	})
	return v, asked, left
}

func moments(t *testing.T, what string, from <-chan time.Time) {
	t.Helper()
	select {
	case <-from:
	case <-time.After(patience):
		t.Fatalf("waited in vain: %s", what)
	}
}

// Rule (H-039): once its account is disabled, or may not manage the organization's any more, an endpoint is told nothing: an
// attempt under way ends within a second, and what waits is not sent. It counts as no failure, and goes on when the
// account is back.
func TestAnEndpointStopsWithItsAccount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, func(o *webhooks.Options) { o.Timeout = patience })
		boss, admin := r.account("admin", auth.RoleAdmin)
		own, ownAsked, ownLeft := holding(t)
		shared, sharedAsked, sharedLeft := holding(t)
		mine, _ := r.create(own.URL)
		w := wish(shared.URL, "recording.deleted")
		w.Scope = new(webhooks.ScopeOrganization)
		if _, _, err := r.hooks.Create(t.Context(), admin, w); err != nil {
			t.Fatal(err)
		}
		r.start()
		r.deleted(1)
		moments(t, "the account's is asked", ownAsked)
		moments(t, "the organization's is asked", sharedAsked)
		set := func(role string, disabled *time.Time) {
			r.write(func(tx *gorm.DB) error {
				if err := tx.Model(&models.User{}).Where("id = ?", boss.ID).UpdateColumn("role", role).Error; err != nil {
					return err
				}
				return tx.Model(&models.User{}).Where("id = ?", r.user.ID).UpdateColumn("disabled_at", disabled).Error
			})
		}
		began := time.Now()
		set(auth.RoleViewer, new(began.UTC()))
		moments(t, "the account's is left", ownLeft)
		moments(t, "the organization's is left", sharedLeft)
		if took := time.Since(began); took > time.Second {
			t.Errorf("they were left after %s", took)
		}
		until(t, "nobody delivers", func() bool {
			var busy int64
			return r.db.Read.Model(&models.Webhook{}).Where("busy_until IS NOT NULL").Count(&busy).Error == nil && busy == 0
		})
		if err := r.hooks.Dispatch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := r.deliveries(mine.ID)[0]; d.Attempts != 0 || d.Status != "pending" || len(ownAsked)+len(sharedAsked) != 0 {
			t.Errorf("it is %+v, and %d were asked again", d, len(ownAsked)+len(sharedAsked))
		}
		set(auth.RoleAdmin, nil)
		moments(t, "the account's is asked again", ownAsked)
		moments(t, "the organization's is asked again", sharedAsked)
	})
}

// colleagues makes a recording of another account that is shared with the rig's.
func (r *rig) colleagues() (owner models.User, recording int64) {
	r.t.Helper()
	owner, _ = r.account("colleague", auth.RoleEditor)
	now := time.Now().UTC()
	row := models.Recording{OrganizationID: owner.OrganizationID, UserID: owner.ID, Status: "COMPLETED", SHA256: strings.Repeat("a", 64), CreatedAt: now, UpdatedAt: now}
	r.write(func(tx *gorm.DB) error {
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		note := models.ExternalRef{RecordingID: row.ID, UserID: r.user.ID, System: "crm", Kind: "note", Ref: "mine", CreatedAt: now}
		if err := tx.Create(&note).Error; err != nil {
			return err
		}
		return tx.Create(&models.InternalShare{RecordingID: row.ID, UserID: r.user.ID, GrantedBy: owner.ID, Source: "manual", CreatedAt: now}).Error
	})
	return owner, row.ID
}

// changed announces that the owner has changed fields of a recording.
func (r *rig) changed(owner models.User, recording int64, fields ...string) {
	r.t.Helper()
	r.announce(webhooks.Event{
		Type: webhooks.RecordingUpdated, OrganizationID: owner.OrganizationID, UserID: owner.ID, RecordingID: recording, OccurredAt: time.Now(),
		Data: map[string]any{"recording_id": recording, "title": "Tïtle", "fields_changed": fields, "updated_at": time.Now()},
	})
}

// Rule: of a shared recording its owner, and the references of the webhook's account, are told; not what the owner has of it
// alone. What waits when the share ends, or is replayed afterwards, is dropped and tells nothing.
func TestAnEndedShareTellsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, func(o *webhooks.Options) { o.InternalSharing = true })
		v := newReceiver(t)
		owner, recording := r.colleagues()
		w := wish(v.URL, "recording.updated")
		w.Shared = new(true)
		e, _, err := r.hooks.Create(t.Context(), r.owner, w)
		if err != nil {
			t.Fatal(err)
		}
		r.start()
		r.changed(owner, recording, "notes", "external_refs")
		r.changed(owner, recording, "notes", "title")
		body := string(v.await(t, 1)[0].body)
		for _, part := range []string{fmt.Sprintf(`"owner_user_id":%d`, owner.ID), `"ref":"mine"`, `"fields_changed":["title"]`, `"sequence":2`} {
			if !strings.Contains(body, part) {
				t.Errorf("it lacks %s: %s", part, body)
			}
		}
		v.answers(http.StatusServiceUnavailable)
		r.changed(owner, recording, "title")
		v.await(t, 2)
		r.write(func(tx *gorm.DB) error {
			return tx.Where("recording_id = ?", recording).Delete(&models.InternalShare{}).Error
		})
		ended := func(n int) bool {
			found := r.deliveries(e.ID)
			return len(found) == n && found[0].Reason == webhooks.ShareEnded && found[0].Status == "dropped"
		}
		until(t, "what waits is dropped", func() bool { return ended(2) })
		if _, err := r.hooks.Replay(t.Context(), r.owner, e.ID, r.deliveries(e.ID)[1].ID); err != nil {
			t.Fatal(err)
		}
		until(t, "the replay is dropped", func() bool { return ended(3) })
		for _, listed := range r.deliveries(e.ID)[:2] {
			if d, err := r.hooks.Delivery(t.Context(), r.owner, e.ID, listed.ID); err != nil || strings.Contains(d.Payload, "Tïtle") {
				t.Errorf("%v shows %s", err, d.Payload)
			}
		}
	})
}

// Rule: that a summary was approved is told to its owner's webhooks and to the organization's, with who approved it.
func TestApprovalsAreTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), nil)
	_, admin := r.account("admin", auth.RoleAdmin)
	own, shared := newReceiver(t), newReceiver(t)
	r.create(own.URL, webhooks.SummaryApproved)
	w := wish(shared.URL, string(webhooks.SummaryApproved))
	w.Scope = new(webhooks.ScopeOrganization)
	if _, _, err := r.hooks.Create(t.Context(), admin, w); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.announce(webhooks.Event{
		Type: webhooks.SummaryApproved, OrganizationID: r.user.OrganizationID, UserID: r.user.ID, RecordingID: 7,
		Data: samples()[webhooks.SummaryApproved], OccurredAt: time.Now(),
	})
	for _, v := range []*receiver{own, shared} {
		if body := string(v.await(t, 1)[0].body); !strings.Contains(body, `"type":"recording.summary.approved"`) || !strings.Contains(body, `"approved_by":5`) {
			t.Errorf("told %s", body)
		}
	}
}
