// Package limits decides whether a request may pass. A request meets a stack of limits, and one decision settles
// the whole stack: every limit is charged, or none is and nothing has changed. Each limit is a sliding window that
// never admits more than its figure in any window of its length; README.md says how and why.
package limits

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/ulule/limiter/v3"

	"github.com/stenometer/stenometer/problems"
)

// Subject is whose requests a limit counts.
type Subject uint8

// The subjects, in the order in which product rules speak of them.
const (
	Token Subject = iota + 1
	Account
	Organization
	Address
)

// String is the subject's name in answers: "token", "account", "organization" or "address".
func (s Subject) String() string {
	switch s {
	case Token:
		return "token"
	case Account:
		return "account"
	case Organization:
		return "organization"
	case Address:
		return "address"
	}
	return "nobody"
}

// Plan is one row of the table of limits: what it is called, whom it counts and what a refusal by it is called.
// Plans are constants of plans.go; the figure in force is not part of a plan. Subject and bucket together are
// different in every plan, because they are what the storage keeps counters by.
type Plan struct {
	// Name is what answers and headers show: "account_read".
	Name string
	// Bucket is the last part of the key: "read", "ai", "session".
	Bucket string
	// Subject is what the key counts by.
	Subject Subject
	// Kind is the failure that a refusal by this limit is.
	Kind problems.Kind
	// Meaning is the sentence of the user guide.
	Meaning string
}

// Key names one counter. It is comparable and holds no pointer to the request, so that a decision allocates nothing.
type Key struct {
	// Org is the organization whose keys are kept together on a clustered storage; 0 for addresses.
	Org int64
	// ID is the token's, account's or organization's id; 0 for addresses.
	ID int64
	// Addr is the client's address, IPv6 already cut to its /64; the zero Addr for other subjects.
	Addr netip.Addr
	// Part tells apart counters of one plan and subject: the hash of an account name in login failures. 0 elsewhere.
	Part uint64
}

// What a store decides about. A stack with anything outside is an error and admits nothing.
const (
	// MaxFigure is the highest figure of a limit.
	MaxFigure = 1<<31 - 1
	// MinWindow and MaxWindow bound a window's length, which is a whole number of milliseconds (of 20 milliseconds
	// beyond 24 days).
	MinWindow = time.Millisecond
	MaxWindow = 366 * 24 * time.Hour
)

// Rate is a figure and the length of its window; a figure of 0 means that the limit is switched off.
type Rate = limiter.Rate

// Limit is one entry of a stack: a plan at a figure for one subject, and what this request weighs in it.
// The counter is that of the plan, the key and the window's length: another figure for the same window applies at
// once to what was counted before. Entries of a stack that name one counter are each judged at their own figure,
// and the counter is charged once, with the weight of the first.
type Limit struct {
	Plan *Plan
	Key  Key
	// Rate is the figure in force; a Rate.Limit of 0 must be left out of the stack by its builder (switched off).
	Rate Rate
	// Cost is the request's weight, at least 1. A cost above the figure is never admitted.
	Cost int64
}

// State is how one limit stands after a decision.
type State struct {
	Limit
	// Context is ulule's vocabulary: Limit, Remaining, Reset (epoch seconds, rounded up, when Remaining next
	// grows; now when nothing is counted) and Reached (this limit refused).
	Context limiter.Context
	// Wait is how long until this request would be admitted by this limit if nothing else came; 0 if this limit
	// does not refuse it, negative if waiting cannot help because the request weighs more than the figure.
	Wait time.Duration
	// Next is how long until Remaining next grows; 0 when nothing is counted.
	Next time.Duration
	// Whole is how long until nothing is counted any more.
	Whole time.Duration
}

// Decision is the one answer for a whole stack: every limit was charged, or none was.
type Decision struct {
	Admitted bool
	// States stand in the order of the stack.
	States []State
	// Binding is the index of the state that a refusal names: the longest wait in whole seconds rounded up, a
	// wait without end before all others, equal waits by the order of precedence; -1 when admitted.
	Binding int
}

// Store remembers what was admitted and decides. Every implementation passes limitstest.
type Store interface {
	// Take admits the whole stack and charges every limit, or refuses and changes nothing. The decision's states are
	// written over room from its beginning where it has the capacity, so that a caller that keeps it allocates
	// nothing; nil has none.
	Take(ctx context.Context, stack []Limit, room []State) (Decision, error)
	// Peek tells how the limits stand and changes nothing. Costs are ignored.
	Peek(ctx context.Context, stack []Limit) ([]State, error)
	// Close releases what the store holds; it may be called twice.
	Close() error
}

// appendAddress writes the address as keys do: a mapped IPv4 address is the IPv4 address.
func (k Key) appendAddress(b []byte) []byte { return k.Addr.Unmap().WithZone("").AppendTo(b) }

// check refuses what no store can decide about. Such a stack is a fault of the program, never of the caller.
func check(stack []Limit) error {
	for i := range stack {
		l := &stack[i]
		switch {
		case l.Plan == nil:
			return fmt.Errorf("deciding about limits: entry %d of the stack has no plan", i)
		case l.Rate.Limit < 1 || l.Rate.Limit > MaxFigure:
			return fmt.Errorf("deciding about limits: the figure of %s is %d, allowed are 1 to %d", l.Plan.Name, l.Rate.Limit, MaxFigure)
		case l.Rate.Period < MinWindow || l.Rate.Period > MaxWindow || l.Rate.Period%tickOf(l.Rate.Period) != 0:
			return fmt.Errorf("deciding about limits: the window of %s is %v, allowed are whole multiples of %v up to %v",
				l.Plan.Name, l.Rate.Period, tickOf(l.Rate.Period), MaxWindow)
		case l.Cost < 1:
			return fmt.Errorf("deciding about limits: a request weighs %d in %s, allowed is 1 and more", l.Cost, l.Plan.Name)
		}
	}
	return nil
}

// String renders the key the way the user guide writes it, without its organization: "token:17:read".
func (l Limit) String() string { return string(appendSubject(nil, &l)) }

func appendSubject(b []byte, l *Limit) []byte {
	switch l.Plan.Subject {
	case Token:
		b = strconv.AppendInt(append(b, "token:"...), l.Key.ID, 10)
	case Account:
		b = strconv.AppendInt(append(b, "user:"...), l.Key.ID, 10)
	case Organization:
		b = strconv.AppendInt(append(b, "org:"...), l.Key.ID, 10)
	case Address:
		b = l.Key.appendAddress(append(b, "ip:"...))
	}
	b = append(append(b, ':'), l.Plan.Bucket...)
	if l.Key.Part != 0 {
		b = strconv.AppendUint(append(b, ':'), l.Key.Part, 36)
	}
	return b
}

// appendWindow ends a counter's name in a shared storage: the window in seconds, "60", or in milliseconds, "1500ms".
func appendWindow(b []byte, l *Limit) []byte {
	if l.Rate.Period%time.Second != 0 {
		return append(strconv.AppendInt(b, l.Rate.Period.Milliseconds(), 10), "ms"...)
	}
	return strconv.AppendInt(b, int64(l.Rate.Period/time.Second), 10)
}
