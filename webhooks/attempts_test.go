package webhooks_test

import (
	"log/slog"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/webhooks"
)

// Rule: the waits between attempts are those of the schedule, a tenth more or less, so that what failed together does not
// come back together (H-055).
func TestWaitsAreSpread(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), func(o *webhooks.Options) {
		o.Schedule, o.Attempts = []time.Duration{0, 10 * time.Millisecond, time.Hour}, 3
	})
	v := newReceiver(t)
	v.answers(http.StatusServiceUnavailable)
	e, _ := r.create(v.URL)
	r.deleted(1, 2, 3, 4, 5, 6, 7, 8)
	began := time.Now()
	r.start()
	until(t, "each was tried twice", func() bool {
		tried := 0
		for _, d := range r.deliveries(e.ID) {
			if d.Attempts == 2 {
				tried++
			}
		}
		return tried == 8
	})
	due := make(map[time.Duration]bool)
	for _, d := range r.deliveries(e.ID) {
		wait := d.NextRetryAt.Sub(began).Round(time.Second)
		if wait < 54*time.Minute || wait > 67*time.Minute {
			t.Errorf("tried again after %s, the schedule says an hour", wait)
		}
		due[wait] = true
	}
	if len(due) < 4 {
		t.Errorf("eight that failed together come back in %d moments", len(due))
	}
}

// Rule: how often something was tried outlives the process: whoever is up next goes on counting, with the same id (H-053).
func TestAttemptsGoOnAfterAKill(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		v := newReceiver(t)
		v.answers(http.StatusServiceUnavailable)
		r := newRig(t, url, nil)
		e, _ := r.create(v.URL)
		killAfter(t, url, func() { v.await(t, 20) })
		var tried []models.WebhookDelivery
		if err := r.db.Read.Where("attempts > 0 AND finished_at IS NULL").Find(&tried).Error; err != nil || len(tried) == 0 {
			t.Fatalf("%d were tried and are open, %v", len(tried), err)
		}
		v.answers(http.StatusOK)
		before := len(v.received())
		var err error
		if r.hooks, r.queue, err = build(r.db, slog.New(slog.NewTextHandler(t.Output(), nil)), time.Second, nil); err != nil {
			t.Fatal(err)
		}
		r.start()
		if _, err := r.hooks.Change(t.Context(), r.owner, e.ID, webhooks.Wish{Enabled: new(true)}); err != nil {
			t.Fatal(err) // it may have been paused
		}
		for _, d := range tried {
			until(t, "what was tried arrives", func() bool { return attemptAt(v.received()[before:], d.EventID) > d.Attempts })
		}
	})
}

// attemptAt is the highest number that an attempt at an event had.
func attemptAt(calls []call, id string) int {
	highest := 0
	for _, got := range calls {
		if got.header.Get("Webhook-Id") == id {
			attempt, _ := strconv.Atoi(got.header.Get("Speakr-Attempt"))
			highest = max(highest, attempt)
		}
	}
	return highest
}

// Rule: a connection that ends without an answer is told from one that brings what is no answer, and a status that there is
// not from a redirect.
func TestWhatIsNoAnswerHasItsReason(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), func(o *webhooks.Options) { o.Attempts = 1 })
	r.start()
	for text, want := range map[string]webhooks.Reason{
		"": webhooks.Unreachable, "SSH-2.0-x\r\n": webhooks.NotHTTP, "HTTP/1.1 000 x\r\nContent-Length: 0\r\n\r\n": webhooks.NotHTTP,
	} {
		v := newReceiver(t)
		v.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = connection.Write([]byte(text))
			_ = connection.Close()
		})
		e, _ := r.create(v.URL, webhooks.Test)
		if _, err := r.hooks.Test(t.Context(), r.owner, e.ID); err != nil {
			t.Fatal(err)
		}
		until(t, "it is given up", func() bool { return r.deliveries(e.ID)[0].FinishedAt != nil })
		if d := r.deliveries(e.ID)[0]; d.Reason != want {
			t.Errorf("%q has the reason %s, want %s", text, d.Reason, want)
		}
	}
}
