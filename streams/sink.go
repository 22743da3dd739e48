package streams

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Source asks a provider and sends what it says. It must return soon after its context ends, with what it spent
// settled: the stream waits for it. Its error is shown to the client as far as it is a *problems.Error; nil is success.
type Source func(ctx context.Context, out *Sink) error

const (
	// waiting is how many events wait for a client that reads slower than the provider writes.
	waiting = 32
	// maxEvent bounds one event, so that those waiting are bounded too.
	maxEvent = 256 << 10
)

// Sink takes the events of one stream from its source. It is safe for concurrent use while the source runs.
type Sink struct {
	ctx    context.Context
	opened time.Time
	// heard is when the provider last said something, since opened.
	heard   atomic.Int64
	begin   sync.Once
	started chan struct{}
	frames  chan []byte

	ended chan struct{}
	err   error // of the source; read when ended is closed
}

func newSink(ctx context.Context, opened time.Time) *Sink {
	return &Sink{
		ctx: ctx, opened: opened,
		started: make(chan struct{}), frames: make(chan []byte, waiting), ended: make(chan struct{}),
	}
}

// Start says that the provider has answered with its own success: now the client may have one. From here on a failure
// is an error frame.
func (s *Sink) Start() {
	s.Heard()
	s.begin.Do(func() { close(s.started) })
}

// Heard says that the provider has sent something of which the client is told nothing, as the arguments of a tool.
func (s *Sink) Heard() { s.heard.Store(int64(time.Since(s.opened))) }

// Send sends one event, as JSON. It waits while the client is slow, and ends with the stream, of which the error is the
// reason. What is sent before Start waits for it.
func (s *Sink) Send(event any) error {
	s.Heard() // before the writer can have the event and look at the clock
	frame, err := dataFrame(event)
	if err != nil {
		return err
	}
	select {
	case s.frames <- frame:
		s.Heard() // the provider could not be heard while its reader waited here
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// dataFrame is one event on the wire. JSON has no line breaks of its own, which would end the frame early.
func dataFrame(event any) ([]byte, error) {
	var frame bytes.Buffer
	frame.WriteString("data: ")
	if err := json.NewEncoder(&frame).Encode(event); err != nil {
		return nil, fmt.Errorf("encode an event: %w", err)
	}
	if frame.Len() > maxEvent {
		return nil, fmt.Errorf("an event has %d bytes and may have %d", frame.Len(), maxEvent)
	}
	frame.WriteByte('\n')
	return frame.Bytes(), nil
}

// run runs the source. A panic in it is its failure: in a goroutine of ours it would take the process along.
func (s *Sink) run(source Source, logger func() *slog.Logger) {
	defer close(s.ended)
	defer close(s.frames)
	defer func() {
		if cause := recover(); cause != nil {
			logger().ErrorContext(s.ctx, "panic in the source of a stream", "stack", string(debug.Stack()))
			s.err = fmt.Errorf("panic: %v", cause)
		}
	}()
	if s.err = source(s.ctx, s); s.err == nil && s.ctx.Err() != nil {
		// It may have left off where it was told to: nobody can say that its answer is whole.
		s.err = context.Cause(s.ctx)
	}
}

// silentSince is when the provider was last heard, if it is the one that is waited for: not while events wait for the
// client, nor when the source has ended.
func (s *Sink) silentSince() time.Time {
	if len(s.frames) > 0 {
		return time.Time{}
	}
	select {
	case <-s.ended:
		return time.Time{}
	default:
		return s.opened.Add(time.Duration(s.heard.Load()))
	}
}
