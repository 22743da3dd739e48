package streams

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// The reason of an end is the deadline that was due first, whichever timer told of it and however late; of two at the
// same moment it is the total's.
func TestTheReasonIsTheDeadlineThatWasDueFirst(t *testing.T) {
	t.Parallel()
	clocks := Clocks{FirstByte: 20 * time.Second, Idle: 5 * time.Second, Total: 60 * time.Second, ClientStall: 30 * time.Second}
	opened := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return opened.Add(time.Duration(seconds * float64(time.Second))) }
	for name, row := range map[string]struct {
		moments moments
		now     float64
		want    clock
	}{
		"nothing is due":                     {moments{opened: opened, waiting: opened}, 19.999, none},
		"the provider does not begin":        {moments{opened: opened, waiting: opened}, 20, firstByte},
		"seen long after":                    {moments{opened: opened, waiting: opened}, 3600, firstByte},
		"it begins and is silent":            {moments{opened: opened, heard: at(10)}, 15, idle},
		"it is not silent yet":               {moments{opened: opened, heard: at(10)}, 14.999, none},
		"idle was due before the total":      {moments{opened: opened, heard: at(54.9)}, 61, idle},
		"the total was due before idle":      {moments{opened: opened, heard: at(55.1)}, 61, total},
		"both at once":                       {moments{opened: opened, heard: at(55)}, 60, total},
		"a talker is not silent":             {moments{opened: opened, heard: at(58)}, 59.999, none},
		"the client takes nothing":           {moments{opened: opened, writing: at(10)}, 40, clientStall},
		"the total while the client stalls":  {moments{opened: opened, writing: at(31)}, 62, total},
		"nobody is waited for but the total": {moments{opened: opened}, 59.999, none},
		"the total alone":                    {moments{opened: opened}, 60, total},
	} {
		if got := clocks.passed(row.moments, at(row.now)); got != row.want {
			t.Errorf("%s: clock %d, want %d", name, got, row.want)
		}
	}
}

// A provider that answered with its success and failed at once has answered: whichever is seen first, the client is to
// see how far it came.
func TestASuccessComesBeforeItsFailure(t *testing.T) {
	t.Parallel()
	s := ended(t, time.Now(), errors.New("the provider broke off"))
	s.sink.Start()
	for range 100 {
		if err := s.await(); err != nil {
			t.Fatalf("an HTTP error: %v", err)
		}
	}
}

// A source that fails because the stream is over is not the reason of its end.
func TestASourceThatWasEndedIsNotTheReason(t *testing.T) {
	t.Parallel()
	own := errors.New("the provider's call was canceled")
	if err := ended(t, time.Now(), own).failure(); !errors.Is(err, own) {
		t.Errorf("the source's own failure is %v", err)
	}
	if err := ended(t, time.Now().Add(-time.Hour), own).failure(); !problems.Is(err, problems.FirstByteTimeout) {
		t.Errorf("after a deadline the reason is %v", err)
	}
	left := ended(t, time.Now(), own)
	left.cancel(context.Canceled)
	if err := left.failure(); !errors.Is(err, errClientGone) {
		t.Errorf("after the client has left the reason is %v", err)
	}
	if err := ended(t, time.Now().Add(-time.Hour), nil).failure(); err != nil {
		t.Errorf("a success is %v", err)
	}
}

// A source that makes a success of being told to end has none: its answer may lack its end.
func TestASourceThatWasEndedHasNoSuccess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	sink := newSink(ctx, time.Now())
	sink.run(func(ctx context.Context, _ *Sink) error {
		cancel(errStopping())
		<-ctx.Done()
		return nil
	}, func() *slog.Logger { return slog.New(slog.DiscardHandler) })
	if !problems.Is(sink.err, problems.Stopping) {
		t.Errorf("the source has ended with %v", sink.err)
	}
}

// ended is a stream whose source has ended with err.
func ended(t *testing.T, opened time.Time, err error) *stream {
	t.Helper()
	clocks := Clocks{FirstByte: time.Minute, Idle: time.Minute, Total: time.Hour, ClientStall: time.Minute}
	s := &stream{Streams: &Streams{Options: Options{Clocks: clocks}}, opened: opened, timer: time.NewTimer(time.Hour)}
	s.ctx, s.cancel = context.WithCancelCause(t.Context())
	s.sink = newSink(s.ctx, opened)
	s.sink.err = err
	close(s.sink.ended)
	return s
}
