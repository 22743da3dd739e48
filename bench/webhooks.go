package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/webhooks"
)

const (
	// hookCount is how many webhooks are told of each event, one of which hangs.
	hookCount = 200
	// hookEvents is how many events one webhook is sent to see how many a second that makes; hookTogether how many it is
	// sent at once, by the queue and by the loop beside it.
	hookEvents   = 5000
	hookTogether = 8
	// hookLook is how many requests are asked to see what waiting deliveries cost others.
	hookLook = 300
)

// webhookFigures are milliseconds, and deliveries a second.
type webhookFigures struct {
	median, slowest         []float64
	queued, loop, loopAtOne []float64
	idle, waiting           []float64
}

// sink is a receiver that tells when what arrived. /hang never answers.
type sink struct {
	address string
	server  *http.Server

	mu       sync.Mutex // protects what follows
	arrivals []time.Time
}

func newSink(ctx context.Context) (*sink, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening as a receiver: %w", err)
	}
	s := &sink{address: "http://" + listener.Addr().String()}
	s.server = &http.Server{ReadHeaderTimeout: startPatience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
			return
		}
		s.mu.Lock()
		s.arrivals = append(s.arrivals, time.Now())
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() { _ = s.server.Serve(listener) }() // ends with Close
	return s, nil
}

// await waits for so many arrivals since the last call and gives their moments.
func (s *sink) await(ctx context.Context, n int) ([]time.Time, error) {
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		if len(s.arrivals) >= n {
			arrived := s.arrivals
			s.arrivals = nil
			s.mu.Unlock()
			return arrived, nil
		}
		s.mu.Unlock()
	}
	return nil, errors.Join(errors.New("not all events arrived"), ctx.Err())
}

func (b *bench) delivering(address string) launch {
	started := b.product("memory://")(address)
	started.environment = append(started.environment,
		"WEBHOOK_MAX_PER_USER=1000", `WEBHOOK_INTRANET_HOST_ALLOWLIST=127\.0\.0\.1`, "WEBHOOK_PENDING_MAX=100000",
		"API_TOKEN_RATE_LIMIT_WRITE=0", "API_USER_RATE_LIMIT_WRITE=0")
	return started
}

// measureWebhooks tells many receivers of events, and one of many.
func (b *bench) measureWebhooks(ctx context.Context, p plan, r *results) (err error) {
	server, _, err := b.running(ctx, b.delivering)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	db, err := models.Open(ctx, models.Options{URL: "sqlite://" + filepath.Join(b.dataFolder(), "stenometer.db"), Now: time.Now})
	if err != nil {
		return fmt.Errorf("opening the database of the bench: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	receiver, err := newSink(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, receiver.server.Close()) }()
	m := &hookBench{bench: b, server: server, db: db, sink: receiver, figures: &webhookFigures{}}
	r.webhooks = m.figures
	return m.run(ctx, p)
}

type hookBench struct {
	bench   *bench
	server  *process
	db      *models.DB
	sink    *sink
	figures *webhookFigures
}

func (m *hookBench) run(ctx context.Context, p plan) error {
	many, one, away := m.bench.tokens[0], m.bench.tokens[tokensPerAccount], m.bench.tokens[2*tokensPerAccount]
	for i := range hookCount - 1 {
		if err := m.create(ctx, many, fmt.Sprintf("%s/%d", m.sink.address, i)); err != nil {
			return err
		}
	}
	for _, made := range []struct {
		who     minted
		address string
	}{{many, m.sink.address + "/hang"}, {one, m.sink.address + "/one"}, {away, m.sink.address + "/hang"}} {
		if err := m.create(ctx, made.who, made.address); err != nil {
			return err
		}
	}
	for range p.runs {
		if err := m.tellMany(ctx, many); err != nil {
			return err
		}
		if err := m.tellOne(ctx, one); err != nil {
			return err
		}
	}
	return m.lookBeside(ctx, one, away)
}

func (m *hookBench) create(ctx context.Context, who minted, address string) error {
	body, err := json.Marshal(map[string]any{"name": "bench", "url": address, "allow_http": true, "events": []string{"recording.deleted"}})
	if err != nil {
		return fmt.Errorf("making a webhook: %w", err)
	}
	return m.ask(ctx, http.MethodPost, "/api/v1/webhooks", who, body, http.StatusCreated)
}

func (m *hookBench) ask(ctx context.Context, method, path string, who minted, body []byte, want int) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+m.server.address+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking the server: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+who.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("asking the server: %w", err)
	}
	said, err := io.ReadAll(response.Body)
	if response.StatusCode != want {
		err = errors.Join(err, fmt.Errorf("%s %s is answered %d %s", method, path, response.StatusCode, said))
	}
	return errors.Join(err, response.Body.Close())
}

// announce commits so many events of an account, each about a recording of its own.
func (m *hookBench) announce(ctx context.Context, who minted, n int) error {
	var user models.User
	if err := m.db.Read.WithContext(ctx).Take(&user, who.account).Error; err != nil {
		return fmt.Errorf("finding an account: %w", err)
	}
	events := make([]webhooks.Event, n)
	for i := range events {
		events[i] = webhooks.Event{
			Type: webhooks.RecordingDeleted, OrganizationID: user.OrganizationID, UserID: user.ID, RecordingID: int64(i + 1),
			Data: map[string]any{"recording_id": i + 1, "title": "A meeting"}, OccurredAt: time.Now(),
		}
	}
	return m.db.Transaction(ctx, func(tx *gorm.DB) error { return webhooks.Announce(tx, events...) })
}

// tellMany commits one event and looks at how long the receivers wait for it that do not hang.
func (m *hookBench) tellMany(ctx context.Context, who minted) error {
	began := time.Now()
	if err := m.announce(ctx, who, 1); err != nil {
		return err
	}
	arrived, err := m.sink.await(ctx, hookCount-1)
	if err != nil {
		return err
	}
	took := make([]float64, len(arrived))
	for i, at := range arrived {
		took[i] = float64(at.Sub(began).Milliseconds())
	}
	slices.Sort(took)
	m.figures.median, m.figures.slowest = append(m.figures.median, took[len(took)/2]), append(m.figures.slowest, took[len(took)-1])
	return nil
}

// tellOne commits many events for one receiver, and posts as many to it without a queue.
func (m *hookBench) tellOne(ctx context.Context, who minted) error {
	began := time.Now()
	if err := m.announce(ctx, who, hookEvents); err != nil {
		return err
	}
	arrived, err := m.sink.await(ctx, hookEvents)
	if err != nil {
		return err
	}
	perSecond := func(since time.Time, until time.Time) float64 {
		return float64(hookEvents) / until.Sub(since).Seconds()
	}
	m.figures.queued = append(m.figures.queued, perSecond(began, arrived[len(arrived)-1]))
	for together, into := range map[int]*[]float64{1: &m.figures.loopAtOne, hookTogether: &m.figures.loop} {
		began := time.Now()
		if err := m.loop(ctx, together); err != nil {
			return err
		}
		if _, err := m.sink.await(ctx, hookEvents); err != nil {
			return err
		}
		*into = append(*into, perSecond(began, time.Now()))
	}
	return nil
}

// loop signs and posts as the server does, and keeps nothing.
func (m *hookBench) loop(ctx context.Context, together int) error {
	transport := &http.Transport{Proxy: nil, MaxIdleConnsPerHost: together}
	defer transport.CloseIdleConnections()
	body := []byte(`{"id":"3f2b8c1e-5a4d-4e6f-8b7a-9c0d1e2f3a4b","type":"recording.deleted","timestamp":"2026-03-04T08:00:00Z","occurred_at":"2026-03-04T08:00:00Z","user_id":1,"sequence":4,"data":{"recording_id":7,"title":"A meeting"}}`)
	failures := make(chan error, together)
	var all sync.WaitGroup
	for range together {
		all.Go(func() {
			for range hookEvents / together {
				headers, err := webhooks.Headers("3f2b8c1e-5a4d-4e6f-8b7a-9c0d1e2f3a4b", "recording.deleted", 1, body, []string{"whsec_" + strings.Repeat("A", 43) + "="}, time.Now())
				if err == nil {
					err = posted(ctx, transport, m.sink.address+"/loop", headers, body)
				}
				if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failures)
	return <-failures
}

func posted(ctx context.Context, over http.RoundTripper, address string, headers http.Header, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("posting: %w", err)
	}
	request.Header = headers
	response, err := over.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("posting: %w", err)
	}
	return response.Body.Close()
}

// lookBeside asks for a list while nothing waits, and while 10,000 deliveries wait for a receiver that hangs.
func (m *hookBench) lookBeside(ctx context.Context, who, away minted) error {
	look := func() (float64, error) {
		took := make([]float64, hookLook)
		for i := range took {
			began := time.Now()
			if err := m.ask(ctx, http.MethodGet, "/api/v1/recordings", who, nil, http.StatusOK); err != nil {
				return 0, err
			}
			took[i] = float64(time.Since(began).Microseconds()) / 1000
		}
		slices.Sort(took)
		return took[len(took)/2], nil
	}
	idle, err := look()
	if err != nil {
		return err
	}
	for range 20 {
		if err := m.announce(ctx, away, 500); err != nil {
			return err
		}
	}
	for waiting := int64(0); waiting < 9900; time.Sleep(50 * time.Millisecond) {
		if err := m.db.Read.WithContext(ctx).Model(&models.WebhookDelivery{}).Where("finished_at IS NULL").Count(&waiting).Error; err != nil {
			return fmt.Errorf("counting what waits: %w", err)
		}
	}
	waiting, err := look()
	m.figures.idle, m.figures.waiting = append(m.figures.idle, idle), append(m.figures.waiting, waiting)
	return err
}

func (r *results) webhookBars() []bar {
	if r.webhooks == nil {
		return nil
	}
	return []bar{
		{what: fmt.Sprintf("median delivery to %d webhooks, one of which hangs", hookCount), most: 1000, unit: " ms", values: r.webhooks.median},
		{what: "deliveries a second to one webhook", unit: "/s", values: r.webhooks.queued},
		{what: "a list beside 10,000 waiting deliveries / beside none", most: 1.5, values: ratios(r.webhooks.waiting, r.webhooks.idle)},
	}
}

func (r *results) writeWebhooks(w *strings.Builder) {
	fmt.Fprintf(w, "\n## Webhooks\n\nOn SQLite, receivers on loopback. %d webhooks, one of which never answers, are told of one event; one webhook is told of %d events,\nbeside a bare loop that signs and posts without a queue. %d runs.\n\n", hookCount, hookEvents, r.plan.runs)
	fmt.Fprintf(w, "| | |\n|---|---|\n| median of the others, ms | %s |\n| slowest of the others, ms | %s |\n", spread(r.webhooks.median), spread(r.webhooks.slowest))
	fmt.Fprintf(w, "| delivered a second, from commit to arrival | %s |\n| a loop, %d at once, a second | %s |\n| a loop, one at a time, a second | %s |\n", spread(r.webhooks.queued), hookTogether, spread(r.webhooks.loop), spread(r.webhooks.loopAtOne))
	fmt.Fprintf(w, "| a list of recordings, ms, while nothing waits | %s |\n| the same while 10,000 deliveries wait | %s |\n", spread(r.webhooks.idle), spread(r.webhooks.waiting))
}
