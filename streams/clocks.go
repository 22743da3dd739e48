package streams

import (
	"errors"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// Clocks bound how long a stream waits for whom.
type Clocks struct {
	// FirstByte is how long the provider may take to begin its answer.
	FirstByte time.Duration
	// Idle is how long it may be silent then. What we write ourselves, heartbeats, does not count.
	Idle time.Duration
	// Total is how long all of a stream may take.
	Total time.Duration
	// ClientStall is how long the client may take nothing of what is written.
	ClientStall time.Duration
}

// moments is what the clocks are read from. A zero moment stops the clock that begins with it.
type moments struct {
	opened  time.Time
	waiting time.Time // for the provider to begin
	heard   time.Time // something of the provider
	writing time.Time // to the client, since
}

// clock is one of the four.
type clock int

const (
	none clock = iota
	total
	firstByte
	idle
	clientStall
)

// first is the deadline that is due first, and whose. Timers fire late, and several deadlines may have passed when one
// is looked at: the reason of an end is the one that was due first, whichever timer told of it. Of deadlines of the same
// moment the total is named: it is what bounded the other.
func (c Clocks) first(m moments) (clock, time.Time) {
	first, due := total, m.opened.Add(c.Total)
	for _, other := range [...]struct {
		clock clock
		since time.Time
		span  time.Duration
	}{{firstByte, m.waiting, c.FirstByte}, {idle, m.heard, c.Idle}, {clientStall, m.writing, c.ClientStall}} {
		if other.since.IsZero() {
			continue
		}
		if at := other.since.Add(other.span); at.Before(due) {
			first, due = other.clock, at
		}
	}
	return first, due
}

// passed is the clock that has ended the stream by now.
func (c Clocks) passed(m moments, now time.Time) clock {
	if first, due := c.first(m); !now.Before(due) {
		return first
	}
	return none
}

// The ends of which the client hears nothing.
var (
	errClientGone    = errors.New("the client has left")
	errClientStalled = errors.New("the client took nothing for too long")
)

// expired is what a clock's end is to the client.
func (c Clocks) expired(which clock) error {
	switch which {
	case none:
		return nil
	case firstByte:
		return problems.New(problems.FirstByteTimeout, "The text service did not begin to answer within %g seconds.", c.FirstByte.Seconds())
	case idle:
		return problems.New(problems.IdleTimeout, "The text service was silent for %g seconds.", c.Idle.Seconds())
	case clientStall:
		return errClientStalled
	case total:
	}
	return problems.New(problems.TotalTimeout, "The answer took longer than %g seconds.", c.Total.Seconds())
}

// reason is the word for an end in metrics and log: the code of its problem, or one of those that no client hears.
func reason(err error) string {
	switch {
	case errors.Is(err, errClientGone):
		return "client_gone"
	case errors.Is(err, errClientStalled):
		return "client_stall_timeout"
	}
	return problems.Of(err).Kind.Code()
}
