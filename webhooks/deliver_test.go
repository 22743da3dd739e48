package webhooks_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/webhooks"
)

// Rule: a committed event arrives, signed in both ways over the very bytes that are sent, whatever characters it has (H-052).
func TestACommittedEventArrivesSigned(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, nil)
		v := newReceiver(t)
		e, secret := r.create(v.URL)
		r.start()
		r.deleted(7)
		got := v.await(t, 1)[0]
		verifier, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(got.body, got.header); err != nil {
			t.Error(err)
		}
		if err := verifier.Verify(append(got.body, ' '), got.header); err == nil {
			t.Error("a changed body is verified")
		}
		var body struct {
			ID, Type, Timestamp string
			OccurredAt          string `json:"occurred_at"`
			UserID              int64  `json:"user_id"`
			Sequence            int64
			Data                map[string]any
		}
		if err := json.Unmarshal(got.body, &body); err != nil {
			t.Fatal(err)
		}
		if body.ID != got.header.Get("Speakr-Delivery-Id") || body.ID != got.header.Get("Webhook-Id") || body.Type != got.header.Get("Speakr-Event") ||
			body.UserID != r.user.ID || body.Sequence != 1 || body.OccurredAt != body.Timestamp || body.Data["title"] != "Tïtle <&> 🎙" {
			t.Errorf("got %s with %v", got.body, got.header)
		}
		if !bytes.Contains(got.body, []byte("<&> 🎙")) || bytes.Contains(got.body, []byte(`": `)) {
			t.Errorf("%s is not compact, or escapes what needs none", got.body)
		}
		until(t, "it is listed as delivered", func() bool { return r.deliveries(e.ID)[0].Status == "success" })
		d, err := r.hooks.Delivery(t.Context(), r.owner, e.ID, r.deliveries(e.ID)[0].ID)
		if err != nil || d.Payload != string(got.body) || d.Attempts != 1 || *d.ResponseStatus != http.StatusNoContent {
			t.Errorf("listed as %+v, %v", d, err)
		}
	})
}

// Rule: a retry has the same id and the same bytes, and is signed at its own moment (H-054).
func TestARetryIsSignedAfresh(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, func(o *webhooks.Options) { o.Schedule = []time.Duration{0, 1200 * time.Millisecond} })
		v := newReceiver(t)
		v.answers(http.StatusInternalServerError)
		_, secret := r.create(v.URL)
		r.start()
		r.deleted(7)
		v.await(t, 1)
		v.answers(http.StatusOK)
		calls := v.await(t, 2)
		first, second := calls[0], calls[1]
		if !bytes.Equal(first.body, second.body) || first.header.Get("Webhook-Id") != second.header.Get("Webhook-Id") {
			t.Errorf("sent %s, then %s", first.body, second.body)
		}
		if first.header.Get("Webhook-Timestamp") == second.header.Get("Webhook-Timestamp") || first.header.Get("Webhook-Signature") == second.header.Get("Webhook-Signature") {
			t.Error("the retry carries the signature of the first attempt")
		}
		if got := second.header.Get("Speakr-Attempt"); got != "2" {
			t.Errorf("the second attempt says %s", got)
		}
		verifier, _ := standardwebhooks.NewWebhook(secret)
		if err := verifier.Verify(second.body, second.header); err != nil {
			t.Error(err)
		}
	})
}

// Rule: attempts are bounded by the schedule, and not made before the receiver's Retry-After; what will not change by
// waiting is not tried again.
func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, nil)
		r.start()
		for status, want := range map[int]struct {
			attempts int
			reason   webhooks.Reason
		}{500: {4, webhooks.ServerError}, 408: {4, webhooks.RateLimited}, 404: {1, webhooks.ClientError}, 302: {1, webhooks.Redirected}} {
			v := newReceiver(t)
			v.answers(status)
			e, _ := r.create(v.URL)
			r.deleted(int64(status))
			until(t, "it is given up", func() bool {
				d := r.deliveries(e.ID)
				return len(d) > 0 && d[0].FinishedAt != nil
			})
			if d := r.deliveries(e.ID)[0]; d.Status != "permanent_failure" || d.Attempts != want.attempts || d.Reason != want.reason || len(v.received()) != want.attempts {
				t.Errorf("%d: %+v after %d calls, want %+v", status, d, len(v.received()), want)
			}
			if _, err := r.hooks.Delete(t.Context(), r.owner, e.ID); err != nil {
				t.Fatal(err)
			}
		}
		v := newReceiver(t)
		v.answers(http.StatusTooManyRequests, "Retry-After", "2")
		r.create(v.URL)
		r.deleted(8)
		v.await(t, 1)
		v.answers(http.StatusOK)
		calls := v.await(t, 2)
		if waited := calls[1].at.Sub(calls[0].at); waited < 1900*time.Millisecond {
			t.Errorf("tried again after %s, the receiver asked for 2 s", waited)
		}
	})
}

// Rule: an endpoint that answers 410 is disabled, and what waits for it is dropped, listed and replayable.
func TestGoneDisables(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, nil)
		v := newReceiver(t)
		v.answers(http.StatusGone)
		e, _ := r.create(v.URL)
		r.deleted(7)
		r.announce(updated(r, 7), updated(r, 7)) // not subscribed to
		r.deleted(7, 7)
		r.start()
		until(t, "it is disabled", func() bool { return !r.endpoint(e.ID).Enabled })
		var statuses []string
		for _, d := range r.deliveries(e.ID) {
			statuses = append(statuses, d.Status+" "+string(d.Reason))
		}
		if want := []string{"dropped dropped_disabled", "dropped dropped_disabled", "permanent_failure gone"}; !slices.Equal(statuses, want) {
			t.Errorf("listed as %v, want %v", statuses, want)
		}
		if r.endpoint(e.ID).AutoPaused {
			t.Error("it counts as paused")
		}
		r.deleted(9)
		v.answers(http.StatusOK)
		if _, err := r.hooks.Change(t.Context(), r.owner, e.ID, webhooks.Wish{Enabled: new(true)}); err != nil {
			t.Fatal(err)
		}
		until(t, "events are handed out again", func() bool { r.deleted(10); return len(v.received()) > 1 })
		queued, left, err := r.hooks.ReplayFailed(t.Context(), r.owner, e.ID)
		if err != nil || queued != 3 || left != 0 {
			t.Fatalf("%d replayed, %d left, %v", queued, left, err)
		}
		until(t, "they are replayed", func() bool {
			replayed := 0
			for _, got := range v.received() {
				if strings.Contains(string(got.body), `,"replayed_from":"`) {
					replayed++
				}
			}
			return replayed == 3
		})
		if again, _, err := r.hooks.ReplayFailed(t.Context(), r.owner, e.ID); err != nil || again != 0 {
			t.Errorf("%d replayed once more, %v", again, err)
		}
	})
}

func updated(r *rig, id int64) webhooks.Event {
	return webhooks.Event{
		Type: webhooks.RecordingUpdated, OrganizationID: r.user.OrganizationID, UserID: r.user.ID, RecordingID: id,
		Data: map[string]any{"recording_id": id, "title": "t", "fields_changed": []string{"title"}, "updated_at": time.Now()}, OccurredAt: time.Now(),
	}
}

// Rule: a receiver that is down is paused, tried now and then, and gets everything when it is back, each recording's
// events in their order.
func TestADownReceiverMissesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, func(o *webhooks.Options) {
			o.PauseAfter, o.Trial, o.Attempts, o.DrainPerSecond = 3, 200*time.Millisecond, 2, 50
		})
		v := newReceiver(t)
		v.answers(http.StatusServiceUnavailable)
		e, _ := r.create(v.URL)
		r.start()
		for i := range int64(12) {
			r.deleted(1 + i%3)
		}
		until(t, "it is paused", func() bool { return r.endpoint(e.ID).AutoPaused })
		r.deleted(1, 2, 3)
		before := len(v.received())
		v.await(t, before+2) // trials
		v.answers(http.StatusOK)
		until(t, "all is delivered", func() bool {
			for _, d := range r.deliveries(e.ID) {
				if d.Status != "success" {
					return false
				}
			}
			return len(r.deliveries(e.ID)) == 15
		})
		if after := r.endpoint(e.ID); !after.Enabled || after.AutoPaused || after.ConsecutiveFailures != 0 {
			t.Errorf("it is %+v", after)
		}
		inOrder(t, v.received())
	})
}

// inOrder fails the test when the last arrivals of one recording's events are not in their order.
func inOrder(t *testing.T, calls []call) {
	t.Helper()
	type sent struct {
		Sequence int64
		Data     struct {
			RecordingID int64 `json:"recording_id"`
		}
	}
	last := make(map[int64]int64)
	arrived := make(map[sent]int)
	var order []sent
	for i, got := range calls {
		var s sent
		if err := json.Unmarshal(got.body, &s); err != nil {
			t.Fatal(err)
		}
		arrived[s] = i // the last one is the one that was accepted
		order = append(order, s)
	}
	for i, s := range order {
		if arrived[s] != i {
			continue
		}
		if s.Sequence <= last[s.Data.RecordingID] {
			t.Errorf("event %d of recording %d arrived after %d", s.Sequence, s.Data.RecordingID, last[s.Data.RecordingID])
		}
		last[s.Data.RecordingID] = s.Sequence
	}
}

// Rule: a receiver that always fails is not tried for ever (H-055): attempts are bounded, it is paused after as many deliveries
// as are configured, its owner sees that and can end it, and what waited is then sent at no more than the rate.
func TestADeadReceiverIsLeftAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, func(o *webhooks.Options) { o.PauseAfter, o.Attempts, o.DrainPerSecond, o.Trial = 5, 2, 40, 0 })
		v := newReceiver(t)
		v.answers(http.StatusInternalServerError)
		e, _ := r.create(v.URL)
		events := make([]int64, 60)
		for i := range events {
			events[i] = int64(i + 1)
		}
		r.deleted(events...)
		r.start()
		until(t, "it is paused", func() bool { return r.endpoint(e.ID).AutoPaused })
		before := len(v.received())
		for _, d := range r.deliveries(e.ID) {
			if d.Attempts > 2 || d.FinishedAt != nil {
				t.Errorf("one was tried %d times and is %s", d.Attempts, d.Status)
			}
		}
		r.deleted(61, 62)
		r.handedOut()
		if after := len(v.received()); after != before {
			t.Errorf("%d calls while it was paused, without trials", after-before)
		}
		v.answers(http.StatusOK)
		began := time.Now()
		if _, err := r.hooks.Change(t.Context(), r.owner, e.ID, webhooks.Wish{Enabled: new(true)}); err != nil {
			t.Fatal(err)
		}
		v.await(t, before+62)
		if took := time.Since(began); took < time.Second {
			t.Errorf("62 that waited were sent in %s, at 40 a second", took)
		}
	})
}

// hanging is more than a few workers could wait for beside the others, and hangs is how long each is waited for: many times
// what the others take on a slow machine.
const (
	hanging = 40
	hangs   = 5 * time.Second
)

// Rule: receivers that hang delay no other, however many there are; when they are tried again it is among themselves.
func TestAHangingReceiverDelaysNoOther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, func(o *webhooks.Options) { o.MaxPerUser, o.Timeout = hanging+20, hangs })
		hang := make(chan struct{})
		slow := newReceiver(t)
		slow.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
			select {
			case <-hang:
			case <-q.Context().Done():
			}
		})
		t.Cleanup(func() { close(hang) })
		for range hanging {
			r.create(slow.URL)
		}
		quick := make([]*receiver, 20)
		for i := range quick {
			quick[i] = newReceiver(t)
			r.create(quick[i].URL)
		}
		r.start()
		began := time.Now()
		r.deleted(1, 2, 3)
		var took []time.Duration
		for _, v := range quick {
			took = append(took, v.await(t, 3)[2].at.Sub(began))
		}
		slices.Sort(took)
		if median := took[len(took)/2]; median > hangs {
			t.Errorf("the median took %s", median)
		}
		until(t, "those that hang are tried among themselves", func() bool {
			var apart int64
			return r.db.Read.Table("river_job").Where("queue = ?", jobs.SlowWebhooks).Count(&apart).Error == nil && apart >= hanging
		})
		var mixed int64
		err := r.db.Read.Table("river_job").Joins("JOIN webhooks ON webhooks.job_id = river_job.id").
			Where("river_job.queue = ? AND webhooks.url <> ?", jobs.SlowWebhooks, slow.URL).Count(&mixed).Error
		if err != nil || mixed != 0 {
			t.Errorf("%d that answer stand among those that hang, %v", mixed, err)
		}
	})
}
