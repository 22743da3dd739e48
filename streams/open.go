package streams

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/resting"
)

// settleTime is how long the client waits, at a stream's end, for the source to settle what was spent before it is told.
// The stream itself waits as long as it takes.
const settleTime = time.Second

// requestIDHeader is where the door has left the request's id.
const requestIDHeader = "X-Request-Id"

// Open answers the request with what the source sends, in one of the organization's slots. What fails before the source
// has started is returned, for the door to answer; what fails later has its error frame and is not an error here. The
// slot is free and the source has ended when the client reads the last frame.
func (o Opener) Open(operation Operation, source Source) error {
	if o.refused != nil {
		return o.refused
	}
	if o.streams == nil || o.caller.Frames.failure == nil {
		return errNoOpener
	}
	s, ctx := o.streams, o.r.Context()
	out, err := newOutlet(o.w, s.Clocks.ClientStall)
	if err != nil {
		return err
	}
	// The server notices that a client leaves only when all of the request has been read.
	if _, err := io.Copy(io.Discard, o.r.Body); err != nil {
		return fmt.Errorf("read the rest of the request: %w", err)
	}
	slot, err := s.enter(ctx, o.caller.OrganizationID, operation)
	if err != nil {
		s.Metrics.StreamRejected(string(operation), reason(err))
		return err
	}
	defer slot.release()
	opened := &stream{
		Streams: s, slot: slot, out: out, frames: o.caller.Frames, alive: o.caller.Alive, timer: time.NewTimer(s.Clocks.Total),
		organizationID: o.caller.OrganizationID, requestID: o.w.Header().Get(requestIDHeader),
	}
	return opened.run(ctx, source)
}

func (s *Streams) enter(ctx context.Context, organizationID int64, operation Operation) (*slot, error) {
	if s.stopping.Err() != nil {
		return nil, errStopping()
	}
	return s.take(ctx, organizationID, operation)
}

// stream is one that is open. Its fields belong to the goroutine of the request.
type stream struct {
	*Streams

	slot   *slot
	out    *outlet
	frames Frames
	// organizationID and requestID are for the log.
	organizationID int64
	requestID      string

	timer *time.Timer
	begun bool

	ctx     context.Context
	cancel  context.CancelCauseFunc
	sink    *Sink
	opened  time.Time
	writing time.Time
	alive   func(context.Context) error
	source  sync.WaitGroup
	// watching asks after the caller; nil where nobody is asked.
	watching *resting.Recurrent
}

// run runs the source and relays what it sends. Whatever happens, a panic too, it leaves nothing behind.
func (s *stream) run(ctx context.Context, source Source) error {
	s.opened = time.Now()
	ctx, stop := context.WithDeadlineCause(ctx, s.opened.Add(s.Clocks.Total), s.Clocks.expired(total))
	defer stop()
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.sink = newSink(s.ctx, s.opened)
	defer s.leave()
	defer context.AfterFunc(s.stopping, func() { s.cancel(context.Cause(s.stopping)) })()
	defer context.AfterFunc(s.ctx, s.out.hurry)()
	s.slot.keep(ctx, func() {
		s.cancel(problems.New(problems.StreamSlotLost, "The stream's slot could not be kept; the answer was given up."))
	})
	s.watch(s.alive)
	s.source.Go(func() { s.sink.run(source, s.log) })
	err := s.await()
	if err == nil {
		err = s.relay()
	}
	if err == nil {
		s.slot.release()
		err = s.write([]byte(s.frames.success))
	}
	if err == nil {
		return nil
	}
	return s.abort(err)
}

// log is the logger of one stream, for any goroutine. It is made when there is something to say: most have nothing, and it is not small.
func (s *stream) log() *slog.Logger {
	return s.Logger.With("request_id", s.requestID, "operation", string(s.slot.operation),
		"organization", s.organizationID)
}

// leave ends what run began.
func (s *stream) leave() {
	s.cancel(context.Canceled)
	s.timer.Stop()
	if s.watching != nil {
		s.watching.End()
	}
	s.source.Wait()
	s.out.close()
}

// abort ends a stream that failed: first the provider's call, then the client's wait. Of what happened to a client that
// is not there any more the door is told, so that the connection is broken off.
func (s *stream) abort(err error) error {
	s.cancel(err)
	s.settle()
	s.slot.release()
	why, level := reason(err), slog.LevelWarn
	if errors.Is(err, errClientGone) {
		level = slog.LevelInfo
	}
	s.Metrics.StreamRejected(string(s.slot.operation), why)
	s.log().Log(context.WithoutCancel(s.ctx), level, "stream.aborted",
		"reason", why, "begun", s.begun, "milliseconds", time.Since(s.opened).Milliseconds(), "error", err.Error())
	if !s.begun || errors.Is(err, errClientGone) || errors.Is(err, errClientStalled) {
		return err
	}
	frame, encoding := s.frames.failed(err)
	if encoding != nil {
		return encoding
	}
	return s.out.write(frame)
}

// settle waits for the source, but not for ever: a client must not wait for its error as long as for its answer.
func (s *stream) settle() {
	s.timer.Reset(settleTime)
	select {
	case <-s.sink.ended:
	case <-s.timer.C:
	}
}
