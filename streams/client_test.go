package streams_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/streams"
)

// model is a provider on the network that says a line every few milliseconds, without end. Each call that is broken off
// is told on aborted.
type model struct {
	server  *httptest.Server
	aborted chan struct{}
}

func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{aborted: make(chan struct{}, 256)}
	m.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		control := http.NewResponseController(w)
		for {
			if _, err := fmt.Fprintln(w, strings.Repeat("word ", 200)); err != nil || control.Flush() != nil {
				break
			}
			select {
			case <-ticker.C:
				continue
			case <-r.Context().Done():
			}
			break
		}
		m.aborted <- struct{}{}
	}))
	t.Cleanup(m.server.Close)
	return m
}

// ask is the source that reads it.
func (m *model) ask(ctx context.Context, out *streams.Sink) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.server.URL, http.NoBody)
	if err != nil {
		return err
	}
	response, err := m.server.Client().Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	out.Start()
	scanner := bufio.NewScanner(response.Body)
	for scanner.Scan() {
		if err := out.Send(delta("%s", scanner.Text())); err != nil {
			return err
		}
	}
	return scanner.Err()
}

func within(t *testing.T, limit time.Duration, what string, happens <-chan struct{}) {
	t.Helper()
	select {
	case <-happens:
	case <-time.After(limit):
		t.Fatalf("%s: not within %v", what, limit)
	}
}

// When the client leaves the provider's call is canceled within a second, and the only slot is free: a hundred times.
func TestALeavingClientFreesSlotAndProvider(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	r := newRig(t, m.ask, func(o *streams.Options) { o.Places = 1 })
	url, client := r.serve(t)
	const rounds = 100
	for round := range rounds {
		ctx, leave := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"stream":true}`))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("round %d: %v %v", round, response, err)
		}
		if _, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		leave()
		response.Body.Close()
		within(t, time.Second, "the provider's call is canceled", m.aborted)
		select {
		case err := <-r.ended:
			if err == nil || errors.As(err, new(*problems.Error)) {
				t.Errorf("round %d: the door was told %v", round, err)
			}
		case <-time.After(time.Second):
			t.Fatalf("round %d: the request has not ended within a second", round)
		}
	}
	r.counts.want(t, map[string]int{"chat client_gone": rounds})
	if strings.Count(r.log.String(), `"level":"INFO","msg":"stream.aborted","request_id":"request-1","operation":"chat","organization":7,"reason":"client_gone"`) != rounds {
		t.Errorf("the log says %.500s", r.log)
	}
}

// A client that leaves before its provider has begun is noticed as soon: the call is canceled, though the request's body
// was not read by anybody else.
func TestAClientMayLeaveBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	asked, canceled := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(ctx context.Context, _ *streams.Sink) error {
		close(asked)
		<-ctx.Done()
		close(canceled)
		return ctx.Err()
	})
	url, client := r.serve(t)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-asked
		leave()
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(strings.Repeat(" ", 100<<10)))
	if err != nil {
		t.Fatal(err)
	}
	if response, err := client.Do(request); err == nil {
		response.Body.Close()
		t.Fatalf("answered %d", response.StatusCode)
	}
	within(t, time.Second, "the provider's call is canceled", canceled)
	<-r.ended
	r.counts.want(t, map[string]int{"chat client_gone": 1})
}

// narrow is a listener whose connections buffer little.
type narrow struct{ net.Listener }

const narrowBuffer = 4 << 10

func (n narrow) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
		err = tcp.SetWriteBuffer(narrowBuffer)
	}
	return conn, err
}

// A client that keeps its connection and stops reading ends by its own clock, by the deadline of the write, through
// wrappers that swallow what a flush says; slot and provider are free.
func TestAClientThatStopsReadingStalls(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(http.ResponseWriter) http.ResponseWriter{
		"bare":      func(w http.ResponseWriter) http.ResponseWriter { return w },
		"swallowed": func(w http.ResponseWriter) http.ResponseWriter { return &swallowing{w} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t)
			r := newRig(t, m.ask, func(o *streams.Options) { o.Clocks.ClientStall = 300 * time.Millisecond })
			r.wrap = wrap
			server := httptest.NewUnstartedServer(r)
			server.Listener = narrow{server.Listener}
			server.Start()
			t.Cleanup(server.Close)
			client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
				if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
					err = tcp.SetReadBuffer(narrowBuffer)
				}
				return conn, err
			}}}
			post(t, client, server.URL) // and never reads
			within(t, 10*time.Second, "the provider's call is canceled", m.aborted)
			if err := <-r.ended; err == nil {
				t.Error("the door was told of no failure: it would leave the connection open")
			}
			r.counts.want(t, map[string]int{"chat client_stall_timeout": 1})
		})
	}
}

// swallowing flushes as echo's response does: without a word of what became of it.
type swallowing struct{ http.ResponseWriter }

func (s *swallowing) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *swallowing) Flush() { _ = http.NewResponseController(s.ResponseWriter).Flush() }

// A connection serves its next request after a stream as if there had been none: no deadline of ours is left on it.
func TestNoDeadlineOutlivesItsStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, provider(1, 0), func(o *streams.Options) { o.Clocks.ClientStall = 50 * time.Millisecond })
	url, client := r.serve(t)
	wantLines(t, post(t, client, url), `data: {"delta":"0"}`, ``, `data: {"end_of_stream":true}`, ``)
	r.source = provider(2, 150*time.Millisecond)
	wantLines(t, post(t, client, url), `data: {"delta":"0"}`, ``, `data: {"delta":"1"}`, ``, `data: {"end_of_stream":true}`, ``)
}
