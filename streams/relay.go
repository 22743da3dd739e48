package streams

import (
	"context"
	"errors"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// await waits until the provider has answered with its own success, which a source that ends well has had too.
func (s *stream) await() error {
	for {
		if err := s.over(); err != nil {
			return err
		}
		_, due := s.Clocks.first(s.moments())
		s.timer.Reset(time.Until(due))
		select {
		case <-s.sink.started:
			return nil
		case <-s.sink.ended:
			select {
			case <-s.sink.started: // it failed after its success: the client is to see how far it came
				return nil
			default:
				return s.failure()
			}
		case <-s.ctx.Done():
		case <-s.timer.C:
		}
	}
}

// relay writes what the source sends until it ends or a clock does.
func (s *stream) relay() error {
	s.begun = true
	if err := s.sent(s.out.begin); err != nil {
		return err
	}
	for {
		if err := s.over(); err != nil {
			return err
		}
		beat := s.out.wrote.Add(s.Heartbeat)
		if !time.Now().Before(beat) {
			if err := s.write([]byte(heartbeat)); err != nil {
				return err
			}
			continue
		}
		_, due := s.Clocks.first(s.moments())
		if beat.Before(due) {
			due = beat
		}
		s.timer.Reset(time.Until(due))
		select {
		case frame, more := <-s.sink.frames:
			if !more {
				<-s.sink.ended
				return s.failure()
			}
			if err := s.write(frame); err != nil {
				return err
			}
		case <-s.ctx.Done():
		case <-s.timer.C:
		}
	}
}

func (s *stream) moments() moments {
	m := moments{opened: s.opened, writing: s.writing}
	if s.begun {
		m.heard = s.sink.silentSince()
	} else {
		m.waiting = s.opened
	}
	return m
}

// over is why the stream ends now; nil while it does not.
func (s *stream) over() error {
	if which := s.Clocks.passed(s.moments(), time.Now()); which != none {
		return s.Clocks.expired(which)
	}
	if s.ctx.Err() == nil {
		return nil
	}
	var known *problems.Error
	if cause := context.Cause(s.ctx); errors.As(cause, &known) {
		return cause
	}
	return errClientGone
}

// failure is what became of a source that has ended. One that failed because the stream is over is not the reason.
func (s *stream) failure() error {
	if s.sink.err == nil {
		return nil
	}
	if err := s.over(); err != nil {
		return err
	}
	return s.sink.err
}

func (s *stream) write(frame []byte) error {
	return s.sent(func() error { return s.out.write(frame) })
}

// sent writes to the client. What a wrapper says of a failed write is not relied on, since some say nothing: a write that
// ends after its deadline has failed by it.
func (s *stream) sent(write func() error) error {
	s.writing = time.Now()
	failed := write()
	ended := s.Clocks.passed(moments{opened: s.opened, writing: s.writing}, time.Now())
	if failed == nil && ended != clientStall {
		s.writing = time.Time{}
		return nil
	}
	if err := s.over(); err != nil {
		return err
	}
	return errClientGone
}
