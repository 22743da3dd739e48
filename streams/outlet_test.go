package streams_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenometer/stenometer/streams"
)

// bounded is a wrapper that notes how each write is bounded.
type bounded struct {
	http.ResponseWriter

	mu       sync.Mutex
	deadline time.Time
	writes   []time.Duration
}

func (b *bounded) SetWriteDeadline(at time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deadline = at
	return http.NewResponseController(b.ResponseWriter).SetWriteDeadline(at)
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	b.writes = append(b.writes, time.Until(b.deadline))
	b.mu.Unlock()
	return b.ResponseWriter.Write(p)
}

func (b *bounded) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *bounded) free() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.deadline.IsZero()
}

// Each write has the whole stall time, and between writes no deadline runs: a stream may be silent for longer.
func TestEachWriteHasADeadlineOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w *bounded
		r := newRig(t, provider(3, 40*time.Second), func(o *streams.Options) { o.Heartbeat = 25 * time.Second })
		r.wrap = func(under http.ResponseWriter) http.ResponseWriter {
			w = &bounded{ResponseWriter: under}
			return w
		}
		url, client := r.bubble(t)
		response := post(t, client, url)
		go func() {
			<-time.After(50 * time.Second)
			if !w.free() {
				t.Error("a deadline runs while nothing is written")
			}
		}()
		lines(t, response)
		<-r.ended
		if len(w.writes) != 8 { // the head, three heartbeats, three deltas, the end
			t.Errorf("%d writes", len(w.writes))
		}
		for i, left := range w.writes {
			if left != 30*time.Second {
				t.Errorf("write %d had %v", i, left)
			}
		}
	})
}

// A client that takes nothing of the error frame does not keep a stream that is over.
func TestAStalledClientIsNotWaitedForAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, silent, func(o *streams.Options) { o.Clocks.Idle = 5 * time.Second })
		url, client := r.bubble(t)
		response := post(t, client, url)
		if _, err := io.ReadFull(response.Body, make([]byte, len("data: {\"delta\":\"hello\"}\n\n"))); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := <-r.ended; err == nil {
			t.Error("the door was told of no failure: it would leave the connection open")
		}
		if waited := time.Since(began); waited != 6*time.Second {
			t.Errorf("it took %v", waited)
		}
		r.counts.want(t, map[string]int{"chat idle_timeout": 1})
		response.Body.Close()
	})
}

// Nor does one that takes nothing of what the server writes behind the last frame: its connection is closed.
func TestAStalledClientIsNotWaitedForAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, provider(0, 0))
		url, client := r.bubble(t)
		response := post(t, client, url)
		if _, err := io.ReadFull(response.Body, make([]byte, len("data: {\"end_of_stream\":true}\n\n"))); err != nil {
			t.Fatal(err)
		}
		<-r.ended
		<-time.After(31 * time.Second)
		if _, err := io.ReadAll(response.Body); err == nil {
			t.Error("the server has waited for the client")
		}
	})
}
