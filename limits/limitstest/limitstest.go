// Package limitstest is what every store of limits must do, as one suite of tests. A store that passes it may stand
// behind the guard; there is no rule of a store that is tested for one of them only.
package limitstest

import (
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
)

// Store is what the suite tests.
type Store interface {
	limits.Store
	limits.Leases
}

// Subject is a store under test and its clock.
type Subject struct {
	Store Store
	// Window is a length that a test can afford to wait for several times.
	Window time.Duration
	// Now reads a clock that runs as fast as the store's; it need not show the same time.
	Now func() time.Time
	// Wait returns when the store's clock has gone on for at least this long.
	Wait func(time.Duration)
	// Apart is true of a store that decides about an address before it decides about an organization, and gives back
	// what the other refuses. For that moment it may refuse too much; it never admits too much.
	Apart bool
}

// Run runs the suite. Open makes a store in which nothing is counted and nothing is held.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for _, c := range []struct {
		rule string
		test func(*testing.T, Subject)
	}{
		{"never more than the figure in any window", neverMore},
		{"a refused request changes nothing", refusalsChangeNothing},
		{"a hammering client is let in when a waiting one is", hammering},
		{"all or nothing", allOrNothing},
		{"weights", weights},
		{"the wait is kept and not late", waitIsKept},
		{"the longest wait binds", longestWaitBinds},
		{"equal waits bind by precedence", precedence},
		{"more than the figure is never admitted", neverAdmitted},
		{"exact under racing callers", racing},
		{"racing over an address never admits too much", racingOverAnAddress},
		{"four tokens share the account's figure", fourTokens},
		{"read does not use up write", readLeavesWrite},
		{"one token does not use up another", tokensApart},
		{"every part of a key tells counters apart", keysApart},
		{"windows of one plan are counted apart", windowsApart},
		{"a changed figure applies at once", changedFigure},
		{"peek changes nothing", peek},
		{"a counter named twice is charged once", namedTwice},
		{"states tell what is left and when it grows", states},
		{"a wrong stack is an error and admits nothing", wrongStack},
		{"an empty stack is admitted", emptyStack},
		{"leases are exact", leasesExact},
		{"a lease that is not renewed frees its place", leaseRunsOut},
		{"a renewed lease is kept", leaseRenewed},
		{"releasing twice frees one place", leaseReleasedTwice},
		{"no place, no lease", leaseOfNone},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			c.test(t, open(t))
		})
	}
}

// Clock is a clock that tests move. It may be read from any goroutine.
type Clock struct{ nanoseconds atomic.Int64 }

// NewClock is a clock that stands at some moment.
func NewClock() *Clock {
	c := &Clock{}
	c.nanoseconds.Store(time.Date(2024, 2, 29, 23, 59, 58, 123456789, time.UTC).UnixNano())
	return c
}

// Now reads the clock.
func (c *Clock) Now() time.Time { return time.Unix(0, c.nanoseconds.Load()) }

// Move sets the clock forward, or back.
func (c *Clock) Move(d time.Duration) { c.nanoseconds.Add(int64(d)) }

// The keys of the suite: two tokens of one account, another account, an organization, an address.
var (
	token17      = limits.Key{Org: 3, ID: 17}
	token18      = limits.Key{Org: 3, ID: 18}
	account5     = limits.Key{Org: 3, ID: 5}
	organization = limits.Key{Org: 3, ID: 3}
	address      = limits.Key{Addr: netip.MustParseAddr("203.0.113.9")}
)

func per(figure int64, window time.Duration) limits.Rate {
	return limits.Rate{Limit: figure, Period: window}
}

func one(plan *limits.Plan, key limits.Key, rate limits.Rate) limits.Limit {
	return limits.Limit{Plan: plan, Key: key, Rate: rate, Cost: 1}
}

func weighing(cost int64, l limits.Limit) limits.Limit {
	l.Cost = cost
	return l
}

func take(t *testing.T, s Subject, stack ...limits.Limit) limits.Decision {
	t.Helper()
	room := used(len(stack))
	d, err := s.Store.Take(t.Context(), stack, room)
	if err != nil {
		t.Fatalf("Take: %v", err)
	}
	if len(d.States) != len(stack) {
		t.Fatalf("Take told %d states of %d limits", len(d.States), len(stack))
	}
	for i := range d.States {
		if &d.States[i] != &room[i] {
			t.Fatal("Take wrote its states elsewhere than into the room that it was given")
		}
		if d.States[i].Limit != stack[i] || d.States[i].Context.Limit != stack[i].Rate.Limit || d.States[i].Wait == stale || d.States[i].Next == stale ||
			d.States[i].Whole == stale || d.States[i].Context.Remaining == int64(stale) || d.States[i].Context.Reset == int64(stale) {
			t.Fatalf("state %d has something left of what was in the room: %+v", i, d.States[i])
		}
	}
	if d.Admitted != (d.Binding == -1) {
		t.Fatalf("admitted is %v and binding is %d", d.Admitted, d.Binding)
	}
	return d
}

const stale = -31 * time.Hour

// used is room for so many states in which others have been.
func used(n int) []limits.State {
	room := make([]limits.State, n)
	for i := range room {
		room[i] = limits.State{
			Limit: limits.Limit{Plan: limits.Register, Key: token18, Rate: per(1, time.Second), Cost: 99},
			Wait:  stale, Next: stale, Whole: stale,
		}
		room[i].Context.Limit, room[i].Context.Remaining, room[i].Context.Reset = int64(stale), int64(stale), int64(stale)
		room[i].Context.Reached = true
	}
	return room
}

// fill takes the stack so many times, each of which must be admitted.
func fill(t *testing.T, s Subject, times int, stack ...limits.Limit) {
	t.Helper()
	for i := range times {
		if d := take(t, s, stack...); !d.Admitted {
			t.Fatalf("request %d of %d was refused by %s", i+1, times, d.States[d.Binding].Limit)
		}
	}
}

func refused(t *testing.T, s Subject, stack ...limits.Limit) limits.Decision {
	t.Helper()
	d := take(t, s, stack...)
	if d.Admitted {
		t.Fatalf("%v was admitted", stack)
	}
	return d
}

func remaining(t *testing.T, s Subject, stack ...limits.Limit) []int64 {
	t.Helper()
	states, err := s.Store.Peek(t.Context(), stack)
	if err != nil {
		t.Fatalf("Peek: %v", err)
	}
	left := make([]int64, len(states))
	for i := range states {
		left[i] = states[i].Context.Remaining
	}
	return left
}
