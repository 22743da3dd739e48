package webhooks_test

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/webhooks"
)

// expectProblem fails the test unless the error is a problem of the kind.
func expectProblem(t *testing.T, what string, err error, kind problems.Kind) *problems.Error {
	t.Helper()
	var problem *problems.Error
	if !errors.As(err, &problem) || problem.Kind != kind {
		t.Fatalf("%s: %v, want %s", what, err, kind.Code())
	}
	return problem
}

func wish(url string, events ...string) webhooks.Wish {
	return webhooks.Wish{Name: new("test"), URL: &url, AllowHTTP: new(true), Events: events}
}

const nowhere = "http://127.0.0.1:9/hook"

// Rule: an account has as many webhooks as it may and not one more, however many are asked for at once.
func TestTheCapIsExact(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, func(o *webhooks.Options) { o.MaxPerUser = 5 })
		var all sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for range 12 {
			all.Go(func() {
				_, _, err := r.hooks.Create(t.Context(), r.owner, wish(nowhere, "recording.created"))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made++
				} else if problem := expectProblem(t, "beyond the cap", err, problems.WebhookLimitReached); problem.Fields["max_per_user"] != 5 {
					t.Errorf("it says %v", problem.Fields)
				}
			})
		}
		all.Wait()
		if made != 5 {
			t.Errorf("%d were made, want 5", made)
		}
	})
}

// Rule: what is wrong is refused by name, and nothing is made.
func TestWishesAreJudged(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), nil)
	for name, change := range map[string]func(*webhooks.Wish){
		"name":                    func(w *webhooks.Wish) { w.Name = new(" ") },
		"name is required":        func(w *webhooks.Wish) { w.Name = nil },
		"url is required":         func(w *webhooks.Wish) { w.URL = nil },
		"url is not accepted":     func(w *webhooks.Wish) { w.URL = new("http://10.0.0.1/") },
		"url is not accepted: it": func(w *webhooks.Wish) { w.AllowHTTP = nil },
		"url must be at most 500": func(w *webhooks.Wish) { w.URL = new(nowhere + strings.Repeat("é", 480)) },
		"events is required":      func(w *webhooks.Wish) { w.Events = nil },
		"events must name":        func(w *webhooks.Wish) { w.Events = []string{} },
		"events holds":            func(w *webhooks.Wish) { w.Events = []string{"recording.vanished"} },
		"scope must be":           func(w *webhooks.Wish) { w.Scope = new("world") },
	} {
		w := wish(nowhere, "recording.created")
		change(&w)
		_, _, err := r.hooks.Create(t.Context(), r.owner, w)
		if problem := expectProblem(t, name, err, problems.InvalidParameter); !strings.HasPrefix(problem.Message, name) {
			t.Errorf("%s: %q", name, problem.Message)
		}
	}
	if found, err := r.hooks.List(t.Context(), r.owner); err != nil || len(found) != 0 {
		t.Errorf("%d were made, %v", len(found), err)
	}
}

// Rule: an address is judged when it is created, changed, tested and replayed to, and for each delivery; one that is not
// called stands in the log with its reason.
func TestAddressesAreJudgedEachTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), func(o *webhooks.Options) { o.Attempts = 1 })
	e, _ := r.create(nowhere)
	_, err := r.hooks.Change(t.Context(), r.owner, e.ID, webhooks.Wish{URL: new("https://169.254.169.254/")})
	if problem := expectProblem(t, "changed", err, problems.InvalidParameter); problem.Fields["reason"] != "address_not_allowed" {
		t.Errorf("it says %v", problem.Fields)
	}
	r.deleted(1)
	if err := r.hooks.Dispatch(t.Context()); err != nil {
		t.Fatal(err)
	}
	// As if the name led elsewhere by now.
	r.write(func(tx *gorm.DB) error {
		return tx.Model(&models.Webhook{}).Where("id = ?", e.ID).UpdateColumn("url", "http://[::1]:9/").Error
	})
	_, err = r.hooks.Test(t.Context(), r.owner, e.ID)
	expectProblem(t, "tested", err, problems.InvalidParameter)
	_, err = r.hooks.Replay(t.Context(), r.owner, e.ID, r.deliveries(e.ID)[0].ID)
	expectProblem(t, "replayed", err, problems.InvalidParameter)
	_, _, err = r.hooks.ReplayFailed(t.Context(), r.owner, e.ID)
	expectProblem(t, "all replayed", err, problems.InvalidParameter)
	r.start()
	until(t, "it is given up", func() bool { return r.deliveries(e.ID)[0].FinishedAt != nil })
	if d := r.deliveries(e.ID)[0]; d.Reason != "address_not_allowed" || d.ResponseStatus != nil || d.Reason.Meaning() == "" {
		t.Errorf("listed as %+v", d)
	}
}

// Rule: another account's webhook does not exist; the organization's takes the verb manage_integrations, to make, to see
// and to change.
func TestWhoseWebhooksAreWhose(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, nil)
		e, _ := r.create(nowhere)
		_, stranger := r.account("stranger", auth.RoleEditor)
		_, admin := r.account("admin", auth.RoleAdmin)
		_, err := r.hooks.Find(t.Context(), stranger, e.ID)
		expectProblem(t, "a stranger's", err, problems.NotFound)
		_, err = r.hooks.Find(t.Context(), admin, e.ID)
		expectProblem(t, "a member's own, to an administrator", err, problems.NotFound)
		w := wish(nowhere, "budget.threshold", "recording.deleted")
		w.Scope = new("organization")
		_, _, err = r.hooks.Create(t.Context(), stranger, w)
		expectProblem(t, "an editor's for the organization", err, problems.InsufficientPermission)
		shared, _, err := r.hooks.Create(t.Context(), admin, w)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.hooks.Find(t.Context(), r.owner, shared.ID)
		expectProblem(t, "the organization's, to an editor", err, problems.NotFound)
		_, second := r.account("second", auth.RoleAdmin)
		if _, err := r.hooks.Change(t.Context(), second, shared.ID, webhooks.Wish{Name: new("ours")}); err != nil {
			t.Errorf("another administrator cannot change the organization's: %v", err)
		}
		demoted := r.principal(models.User{ID: shared.UserID, OrganizationID: r.user.OrganizationID, Role: auth.RoleViewer}, "full")
		for name, attempt := range map[string]func() error{
			"changed": func() error {
				_, err := r.hooks.Change(t.Context(), demoted, shared.ID, webhooks.Wish{Name: new("mine")})
				return err
			},
			"rotated": func() error { _, _, err := r.hooks.Rotate(t.Context(), demoted, shared.ID); return err },
			"deleted": func() error { _, err := r.hooks.Delete(t.Context(), demoted, shared.ID); return err },
			"tested":  func() error { _, err := r.hooks.Test(t.Context(), demoted, shared.ID); return err },
			"listed": func() error {
				_, err := r.hooks.Deliveries(t.Context(), demoted, shared.ID, webhooks.MaxDeliveries, 0)
				return err
			},
			"read": func() error { _, err := r.hooks.Delivery(t.Context(), demoted, shared.ID, 1); return err },
		} {
			expectProblem(t, name+" by a viewer", attempt(), problems.InsufficientPermission)
		}
	})
}

// Rule: a member's webhook is told of its own recordings and its own budget, the organization's of everybody's; neither of
// another organization's, nor of anything once its owner is disabled or may manage no more.
func TestWhoIsTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, nil)
		own, shared := newReceiver(t), newReceiver(t)
		mine, _ := r.create(own.URL, "recording.deleted", "budget.threshold")
		boss, admin := r.account("admin", auth.RoleAdmin)
		w := wish(shared.URL, "budget.threshold", "recording.deleted")
		w.Scope = new("organization")
		if _, _, err := r.hooks.Create(t.Context(), admin, w); err != nil {
			t.Fatal(err)
		}
		other, _ := r.account("other", auth.RoleEditor)
		r.start()
		r.deleted(1)
		ofAccount := maps.Clone(samples()[webhooks.BudgetThreshold])
		ofAccount["scope"], ofAccount["user_id"] = "account", r.user.ID
		r.announce(
			webhooks.Event{
				Type: webhooks.RecordingDeleted, OrganizationID: other.OrganizationID, UserID: other.ID, RecordingID: 2,
				Data: map[string]any{"recording_id": 2, "title": "t"}, OccurredAt: time.Now(),
			},
			webhooks.Event{
				Type: webhooks.BudgetThreshold, OrganizationID: other.OrganizationID, UserID: r.user.ID,
				Data: samples()[webhooks.BudgetThreshold], OccurredAt: time.Now(),
			},
			webhooks.Event{
				Type: webhooks.BudgetThreshold, OrganizationID: r.user.OrganizationID, UserID: r.user.ID,
				Data: ofAccount, OccurredAt: time.Now(),
			},
		)
		calls := shared.await(t, 4)
		until(t, "the member's is told of its own", func() bool { return len(own.received()) == 2 })
		owners := 0
		for _, got := range calls {
			if strings.Contains(string(got.body), `"owner_user_id":`) {
				owners++
			}
		}
		if owners != 2 {
			t.Errorf("%d of the organization's events name the recording's owner, want 2", owners)
		}
		r.write(func(tx *gorm.DB) error {
			if err := tx.Model(&models.User{}).Where("id = ?", boss.ID).UpdateColumn("role", auth.RoleViewer).Error; err != nil {
				return err
			}
			return tx.Model(&models.User{}).Where("id = ?", r.user.ID).UpdateColumn("disabled_at", time.Now().UTC()).Error
		})
		r.deleted(3, 4)
		if err := r.hooks.Dispatch(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.handedOut()
		var handed int64
		if err := r.db.Read.Model(&models.WebhookDelivery{}).Count(&handed).Error; err != nil || handed != 6 || len(r.deliveries(mine.ID)) != 2 {
			t.Errorf("%d deliveries, %v, want no more than before", handed, err)
		}
	})
}

// Rule: after a rotation both secrets sign until the grace is over; then the new one alone. No secret is stored as it is.
func TestBothSecretsSignDuringARotation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, func(o *webhooks.Options) { o.Grace = time.Second })
		v := newReceiver(t)
		e, old := r.create(v.URL)
		rotated, secret, err := r.hooks.Rotate(t.Context(), r.owner, e.ID)
		if err != nil || secret == old || rotated.PreviousSecretUntil == nil {
			t.Fatalf("rotated to %+v, %v", rotated, err)
		}
		var row models.Webhook
		if err := r.db.Read.Take(&row, e.ID).Error; err != nil || strings.Contains(row.Secret+*row.PreviousSecret, "whsec_") {
			t.Errorf("stored as %q, %v", row.Secret, err)
		}
		r.start()
		r.deleted(1)
		verifies := func(got call, secret string) bool {
			verifier, err := standardwebhooks.NewWebhook(secret)
			return err == nil && verifier.Verify(got.body, got.header) == nil
		}
		got := v.await(t, 1)[0]
		if !verifies(got, old) || !verifies(got, secret) || strings.Count(got.header.Get("Speakr-Signature-V2"), "v1=") != 2 {
			t.Errorf("during the grace: %v", got.header)
		}
		until(t, "the grace is over", func() bool { return r.endpoint(e.ID).PreviousSecretUntil == nil })
		r.deleted(2)
		got = v.await(t, 2)[1]
		if verifies(got, old) || !verifies(got, secret) {
			t.Errorf("after the grace: %v", got.header)
		}
	})
}

// Rule: what waits for too long, or is too much, is dropped with its reason and can be replayed; what is over is forgotten.
func TestWhatWaitsIsBounded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		now := time.Now()
		var mu sync.Mutex
		clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
		r := newRig(t, url, func(o *webhooks.Options) { o.Now, o.PendingMax = clock, 3 })
		e, _ := r.create(nowhere)
		r.deleted(1, 2, 3, 4, 5)
		sweep := func(later time.Duration) map[webhooks.Reason]int {
			mu.Lock()
			now = now.Add(later)
			mu.Unlock()
			if err := errors.Join(r.hooks.Dispatch(t.Context()), r.hooks.Sweep(t.Context())); err != nil {
				t.Fatal(err)
			}
			found := make(map[webhooks.Reason]int)
			for _, d := range r.deliveries(e.ID) {
				found[d.Reason]++
			}
			return found
		}
		if got := sweep(0); got[webhooks.TooMany] != 2 || got[""] != 3 {
			t.Errorf("of five that wait: %v", got)
		}
		if _, err := r.hooks.Test(t.Context(), r.owner, e.ID); err == nil {
			t.Error("one more may wait")
		}
		if got := sweep(61 * time.Minute); got[webhooks.TooOld] != 3 || got[webhooks.TooMany] != 0 {
			t.Errorf("an hour later: %v", got)
		}
		if queued, _, err := r.hooks.ReplayFailed(t.Context(), r.owner, e.ID); err != nil || queued != 3 {
			t.Errorf("%d replayed, %v", queued, err)
		}
		if got := sweep(3 * time.Hour); got[webhooks.TooOld] != 3 || len(r.deliveries(e.ID)) != 3 {
			t.Errorf("when all that was over is forgotten: %v", got)
		}
	})
}

// Rule: what a receiver sends back is kept to a bound, and shows neither signatures nor credentials.
func TestAnswersAreKeptBoundedAndClean(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), nil)
	v := newReceiver(t)
	v.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_ = q.Header.Write(w)
		_, _ = w.Write([]byte("Authorization: Bearer abcdefgh12345678 stn_abc123 stnhook_ABC123 whsec_AAAA= \x00\xff" + strings.Repeat("x", 100_000)))
	})
	e, secret := r.create(v.URL)
	r.start()
	r.deleted(1)
	until(t, "it is delivered", func() bool { d := r.deliveries(e.ID); return len(d) > 0 && d[0].Status == "success" })
	shown := *r.deliveries(e.ID)[0].ResponseBody
	for _, wrong := range []string{"sha256=", "abcdefgh12345678", "stn_abc123", "ABC123", "whsec_AAAA", secret, "\x00", "\xff"} {
		if rest := strings.ReplaceAll(shown, "sha256=[removed]", ""); strings.Contains(rest, wrong) {
			t.Errorf("the kept answer has %q: %s", wrong, shown[:400])
		}
	}
	if n := len([]rune(shown)); n > 2000 {
		t.Errorf("%d characters are kept", n)
	}
}
