package webhooks_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/metrics"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/sealed"
	"github.com/stenometer/stenometer/tests/jobstest"
	"github.com/stenometer/stenometer/webhooks"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// each runs the test on both databases.
func each(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	for name, newURL := range jobstest.Migrated.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newURL(t))
		})
	}
}

// rig is a process that delivers, with real parts.
type rig struct {
	t     testing.TB
	db    *models.DB
	hooks *webhooks.Webhooks
	queue *jobs.Jobs
	user  models.User
	owner auth.Principal
}

// newRig builds one on a database; start lets it deliver.
func newRig(t testing.TB, url string, change func(*webhooks.Options)) *rig {
	t.Helper()
	r := &rig{t: t, db: modelstest.Open(t, url, false)}
	var err error
	if r.hooks, r.queue, err = build(r.db, slog.New(slog.NewTextHandler(t.Output(), nil)), time.Minute, change); err != nil {
		t.Fatal(err)
	}
	r.user, r.owner = r.account("owner", auth.RoleEditor)
	return r
}

// build puts the parts of a process together, which believes others dead after some time.
func build(db *models.DB, logger *slog.Logger, deadAfter time.Duration, change func(*webhooks.Options)) (*webhooks.Webhooks, *jobs.Jobs, error) {
	queue, err := jobs.New(db, jobs.Options{
		Role: "all", Version: "test", LimitsStorage: "memory", MaxWorkers: 1, MaxAttempts: 3,
		Heartbeat: 100 * time.Millisecond, DeadAfter: deadAfter, RetryBase: 50 * time.Millisecond, Logger: logger,
	})
	if err != nil {
		return nil, nil, err
	}
	keys, err := sealed.New("0123456789abcdef")
	if err != nil {
		return nil, nil, err
	}
	o := webhooks.Options{
		Keys: keys, Queue: queue, Enabled: true, MaxPerUser: 10, Timeout: 2 * time.Second, PauseAfter: 10, Trial: time.Hour, Grace: time.Hour,
		Schedule: []time.Duration{0, 50 * time.Millisecond, 50 * time.Millisecond, 50 * time.Millisecond}, Attempts: 4,
		PendingAge: time.Hour, PendingMax: 1000, LogLife: time.Hour, DrainPerSecond: 1000,
		DispatchEvery: 20 * time.Millisecond, SweepEvery: time.Hour, Now: time.Now, Metrics: metrics.New("test"), Logger: logger,
		Strangers: outbound.NewStrangers(outbound.StrangersOptions{Intranet: regexp.MustCompile(`^127\.0\.0\.1$`)}),
	}
	if change != nil {
		change(&o)
	}
	hooks := webhooks.New(db, o)
	webhooks.RegisterWorkers(queue, hooks)
	return hooks, queue, nil
}

// start begins to deliver, until the test ends.
func (r *rig) start() {
	r.t.Helper()
	if err := r.queue.Start(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	r.hooks.Start(context.Background())
	r.t.Cleanup(func() {
		r.hooks.Stop()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.queue.Stop(ctx); err != nil {
			r.t.Error(err)
		}
	})
}

// account makes one in the organization of all accounts of the test, and its principal.
func (r *rig) account(name, role string) (models.User, auth.Principal) {
	r.t.Helper()
	user := modelstest.Account(r.t, r.db, "default", name, role)
	return user, r.principal(user, "full")
}

func (r *rig) principal(user models.User, scopes string) auth.Principal {
	return authtest.By(r.t, auth.Token{ID: 1, UserID: user.ID, OrganizationID: user.OrganizationID, Role: user.Role, Scopes: auth.ParseScopes(scopes)})
}

// create makes an endpoint that is told of deletions, unless events are given.
func (r *rig) create(url string, events ...webhooks.Type) (webhooks.Endpoint, string) {
	r.t.Helper()
	if len(events) == 0 {
		events = []webhooks.Type{webhooks.RecordingDeleted}
	}
	names := make([]string, len(events))
	for i, event := range events {
		names[i] = string(event)
	}
	e, secret, err := r.hooks.Create(r.t.Context(), r.owner, webhooks.Wish{Name: new("test"), URL: &url, AllowHTTP: new(true), Events: names})
	if err != nil {
		r.t.Fatal(err)
	}
	return e, secret
}

// deleted announces that recordings were deleted, each in a transaction of its own.
func (r *rig) deleted(recordings ...int64) {
	r.t.Helper()
	for _, id := range recordings {
		r.announce(webhooks.Event{
			Type: webhooks.RecordingDeleted, OrganizationID: r.user.OrganizationID, UserID: r.user.ID, RecordingID: id,
			Data: map[string]any{"recording_id": id, "title": "Tïtle <&> 🎙"}, OccurredAt: time.Now(),
		})
	}
}

func (r *rig) announce(events ...webhooks.Event) {
	r.t.Helper()
	err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error { return webhooks.Announce(tx, events...) })
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) deliveries(id int64) []webhooks.Delivery {
	r.t.Helper()
	found, err := r.hooks.Deliveries(r.t.Context(), r.owner, id, webhooks.MaxDeliveries, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

func (r *rig) endpoint(id int64) webhooks.Endpoint {
	r.t.Helper()
	e, err := r.hooks.Find(r.t.Context(), r.owner, id)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

// until waits for what comes without a signal.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) { //nolint:forbidigo // looks again, up to a deadline
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain for: %s", patience, what)
		}
	}
}

// call is one request that a receiver got.
type call struct {
	header http.Header
	body   []byte
	at     time.Time
}

// receiver is a real one on loopback. It answers with the status that it is told, 204 at first.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex // protects what follows
	calls  []call
	status int
	header http.Header
	answer string
}

func newReceiver(t testing.TB) *receiver {
	t.Helper()
	v := &receiver{status: http.StatusNoContent}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.calls = append(v.calls, call{r.Header.Clone(), body, time.Now()})
		for name, values := range v.header {
			w.Header()[name] = values
		}
		w.WriteHeader(v.status)
		_, _ = io.WriteString(w, v.answer)
	}))
	t.Cleanup(v.Close)
	return v
}

func (v *receiver) answers(status int, headers ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.status, v.header = status, http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		v.header.Set(headers[i], headers[i+1])
	}
}

func (v *receiver) received() []call {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]call(nil), v.calls...)
}

// await waits for so many calls.
func (v *receiver) await(t testing.TB, n int) []call {
	t.Helper()
	until(t, strconv.Itoa(n)+" calls", func() bool { return len(v.received()) >= n })
	return v.received()
}

func sqliteURL(t testing.TB) string { return jobstest.Migrated.SQLiteURL(t) }

func (r *rig) write(change func(tx *gorm.DB) error) {
	r.t.Helper()
	if err := r.db.Transaction(context.Background(), change); err != nil {
		r.t.Fatal(err)
	}
}

// handedOut waits until no event waits in the outbox.
func (r *rig) handedOut() {
	r.t.Helper()
	until(r.t, "all events are handed out", func() bool {
		var waiting int64
		return r.db.Read.Model(&models.OutboxEvent{}).Where("sequence IS NULL").Count(&waiting).Error == nil && waiting == 0
	})
}
