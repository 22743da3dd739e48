package streams_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/streams"
)

// counts is what the metrics were told.
type counts struct {
	mu       sync.Mutex
	inFlight int
	most     int
	rejected map[string]int
}

func (c *counts) StreamsInFlight(_ string, change int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight += change
	c.most = max(c.most, c.inFlight)
}

func (c *counts) StreamRejected(operation, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rejected[operation+" "+reason]++
}

// want checks how many streams ended badly, by reason, and that none is open.
func (c *counts) want(t *testing.T, rejected map[string]int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !maps.Equal(c.rejected, rejected) {
		t.Errorf("rejected: %v, want %v", c.rejected, rejected)
	}
	if c.inFlight != 0 {
		t.Errorf("%d streams are said to be open", c.inFlight)
	}
}

// text is a log that several goroutines write.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *text) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *text) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// rig is a server whose every request is one stream of a source.
type rig struct {
	streams *streams.Streams
	counts  *counts
	log     *text
	slots   limits.Slots
	frames  streams.Frames
	source  streams.Source
	// wrap stands between the stream and the server, as the door's wrappers do.
	wrap func(http.ResponseWriter) http.ResponseWriter
	// context is the door's: it ends with the credential.
	context func(context.Context) context.Context
	// ended is told what each Open returned.
	ended chan error
}

// newRig has the figures of the settings' defaults.
func newRig(t *testing.T, source streams.Source, change ...func(*streams.Options)) *rig {
	t.Helper()
	r := &rig{
		counts: &counts{rejected: map[string]int{}}, log: &text{}, slots: limits.Slots{Leases: limits.NewMemory(time.Now)},
		frames: streams.APIv1, source: source, ended: make(chan error, 256),
	}
	options := streams.Options{
		Slots: r.slots, Places: 3, Lease: 30 * time.Second, Heartbeat: 15 * time.Second,
		Clocks: streams.Clocks{
			FirstByte: 60 * time.Second, Idle: 60 * time.Second, Total: 600 * time.Second, ClientStall: 30 * time.Second,
		},
		Metrics: r.counts, Logger: slog.New(slog.NewJSONHandler(r.log, nil)),
	}
	for _, change := range change {
		change(&options)
	}
	made, err := streams.New(options)
	if err != nil {
		t.Fatal(err)
	}
	r.streams = made
	return r
}

// ServeHTTP is a door in small: it makes the opener, and answers what fails before the answer has begun.
func (r *rig) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("X-Request-Id", "request-1")
	if r.context != nil {
		request = request.WithContext(r.context(request.Context()))
	}
	written := &noted{ResponseWriter: w}
	var out http.ResponseWriter = written
	if r.wrap != nil {
		out = r.wrap(out)
	}
	caller := streams.Caller{OrganizationID: 7, Frames: r.frames}
	err := r.streams.Openers().Of(out, request, caller).Open(streams.Chatting, r.source)
	defer func() { r.ended <- err }()
	switch {
	case err == nil:
	case written.begun:
		panic(http.ErrAbortHandler)
	default:
		p := problems.Of(err)
		if p.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(p.RetryAfter/time.Second)))
		}
		body := maps.Clone(p.Fields)
		if body == nil {
			body = map[string]any{}
		}
		body["error"], body["code"] = p.Message, p.Kind.Code()
		w.WriteHeader(p.Kind.Status())
		if err := json.NewEncoder(w).Encode(body); err != nil {
			return // the client has left
		}
	}
}

// noted is a wrapper that only Unwrap leads through.
type noted struct {
	http.ResponseWriter

	begun bool
}

func (n *noted) WriteHeader(status int) {
	n.begun = true
	n.ResponseWriter.WriteHeader(status)
}

func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }

// serve listens on the loopback.
func (r *rig) serve(t *testing.T) (url string, client *http.Client) {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return server.URL, server.Client()
}

// bubble serves over pipes, which belong to the bubble of a test: its clock is that of server and client.
func (r *rig) bubble(t *testing.T) (url string, client *http.Client) {
	t.Helper()
	pipes := &pipes{dialed: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: r, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(pipes) }()
	transport := &http.Transport{DialContext: pipes.dial, DisableKeepAlives: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return "http://pipes", &http.Client{Transport: transport}
}

// pipes is a network without buffers.
type pipes struct {
	dialed chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.dialed <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.dialed:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// post sends a request with a body, as every stream is asked for.
func post(t *testing.T, client *http.Client, url string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

// lines reads the answer to its end.
func lines(t *testing.T, response *http.Response) []string {
	t.Helper()
	var read []string
	scanner := bufio.NewScanner(response.Body)
	for scanner.Scan() {
		read = append(read, scanner.Text())
	}
	if err := scanner.Err(); err != nil {
		t.Errorf("the answer was cut off: %v", err)
	}
	return read
}

// wantLines checks a whole answer.
func wantLines(t *testing.T, response *http.Response, want ...string) {
	t.Helper()
	if got := lines(t, response); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("read %q\nwant %q", got, want)
	}
}

// wantProblem checks an HTTP error.
func wantProblem(t *testing.T, response *http.Response, status int, code string) map[string]any {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var problem map[string]any
	if err := json.Unmarshal(body, &problem); err != nil {
		t.Fatalf("%q is no JSON: %v", body, err)
	}
	if response.StatusCode != status || problem["code"] != code {
		t.Errorf("answered %d %s, want %d %s", response.StatusCode, body, status, code)
	}
	return problem
}

// delta is an event of the contract.
func delta(format string, args ...any) map[string]any {
	return map[string]any{"delta": fmt.Sprintf(format, args...)}
}

// provider is a source that says so many things, each after a pause.
func provider(things int, pause time.Duration) streams.Source {
	return func(ctx context.Context, out *streams.Sink) error {
		out.Start()
		for i := range things {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := out.Send(delta("%d", i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// silent says one thing and then nothing until its context ends.
func silent(ctx context.Context, out *streams.Sink) error {
	out.Start()
	if err := out.Send(delta("hello")); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}
