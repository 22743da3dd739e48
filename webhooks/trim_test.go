package webhooks_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/metrics"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/webhooks"
)

// Rule: events leave the outbox once nobody needs them: handed out, and wanted by nobody or forgotten by the log. One that is
// still to be handed out, or to be delivered, stays, and so does the last of a recording, whose number the next goes on from.
func TestTheOutboxIsTrimmed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		var late atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
		r := newRig(t, url, func(o *webhooks.Options) { o.Now, o.LogLife, o.PendingAge = clock, 4*time.Hour, 100*time.Hour })
		owner, standing := r.colleagues()
		pass := func(handing bool) []int64 {
			t.Helper()
			var dispatched error
			if handing {
				dispatched = r.hooks.Dispatch(t.Context())
			}
			if err := errors.Join(dispatched, r.hooks.Sweep(t.Context())); err != nil {
				t.Fatal(err)
			}
			var recordings []int64
			if err := r.db.Read.Model(&models.OutboxEvent{}).Order("id").Pluck("recording_id", &recordings).Error; err != nil {
				t.Fatal(err)
			}
			return recordings
		}
		r.changed(owner, standing, "title")
		r.changed(owner, standing, "title")
		r.deleted(7, 7)
		late.Store(int64(2 * time.Hour))
		if left := pass(false); len(left) != 4 {
			t.Errorf("before they are handed out: %v", left)
		}
		late.Store(0)
		if left := pass(true); len(left) != 4 {
			t.Errorf("in their first hour: %v", left)
		}
		late.Store(int64(2 * time.Hour))
		r.write(func(tx *gorm.DB) error { // as if it had been committed after those that follow it
			return tx.Model(&models.OutboxEvent{}).Where("id = 3").UpdateColumn("sequence", nil).Error
		})
		if left := pass(false); len(left) != 3 || left[1] != 7 || left[2] != 7 {
			t.Errorf("while one between them is to be handed out: %v", left)
		}
		if left := pass(true); len(left) != 1 || left[0] != standing {
			t.Errorf("when nobody wanted them: %v, want the last of the recording that is there", left)
		}
		v := newReceiver(t)
		e, _ := r.create(v.URL, webhooks.RecordingDeleted, webhooks.RecordingUpdated)
		r.changed(r.user, standing, "title")
		r.deleted(8)
		late.Store(int64(4 * time.Hour))
		if left := pass(true); len(left) != 2 || r.deliveries(e.ID)[1].Sequence != 3 {
			t.Errorf("while they are to be delivered: %v, %+v", left, r.deliveries(e.ID))
		}
		r.start()
		v.await(t, 2)
		until(t, "both are over", func() bool { d := r.deliveries(e.ID); return d[0].FinishedAt != nil && d[1].FinishedAt != nil })
		if left := pass(true); len(left) != 2 {
			t.Errorf("while they are listed: %v", left)
		}
		late.Store(int64(9 * time.Hour))
		if left := pass(true); len(left) != 1 || left[0] != standing || len(r.deliveries(e.ID)) != 0 {
			t.Errorf("when the log has forgotten them: %v", left)
		}
		r.changed(r.user, standing, "title")
		until(t, "one is numbered", func() bool { d := r.deliveries(e.ID); return len(d) == 1 && d[0].Sequence == 4 })
	})
}

// Rule: the last event of a recording that is gone goes when the one that tells so has been handed out, not before.
func TestTheNumbersGoOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, func(o *webhooks.Options) { o.Now = func() time.Time { return time.Now().Add(2 * time.Hour) } })
		e, _ := r.create(nowhere, webhooks.RecordingDeleted)
		r.changed(r.user, 7, "title")
		if err := r.hooks.Dispatch(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.deleted(7)
		if err := errors.Join(r.hooks.Sweep(t.Context()), r.hooks.Dispatch(t.Context())); err != nil {
			t.Fatal(err)
		}
		if d := r.deliveries(e.ID); len(d) != 1 || d[0].Sequence != 2 {
			t.Errorf("it is %+v, want the second", d)
		}
	})
}

// Rule: operators see how deliveries go: attempts by what came of them, what waits, and what is paused.
func TestDeliveriesAreCounted(t *testing.T) {
	t.Parallel()
	counts := metrics.New("test")
	r := newRig(t, sqliteURL(t), func(o *webhooks.Options) { o.Metrics, o.PauseAfter, o.Attempts, o.Trial = counts, 1, 1, 0 })
	good, bad := newReceiver(t), newReceiver(t)
	bad.answers(http.StatusInternalServerError)
	e, _ := r.create(good.URL)
	down, _ := r.create(bad.URL)
	r.start()
	r.deleted(1)
	until(t, "one is delivered and one is paused", func() bool {
		d := r.deliveries(e.ID)
		return len(d) == 1 && d[0].Status == "success" && r.endpoint(down.ID).AutoPaused
	})
	if err := r.hooks.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	shown := httptest.NewRecorder()
	counts.Handler().ServeHTTP(shown, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`stenometer_webhook_attempts_total{outcome="delivered",reason="none"} 1`,
		`stenometer_webhook_attempts_total{outcome="failed",reason="server_error"} 1`,
		"stenometer_webhook_deliveries_waiting 1", "stenometer_webhooks_paused 1",
	} {
		if !strings.Contains(shown.Body.String(), line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
}
