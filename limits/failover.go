package limits

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/problems"
)

// Class is what a decision is about where the storage does not take it: each class has a policy of its own.
type Class uint8

// The classes.
const (
	// OnRead is for requests that change nothing.
	OnRead Class = iota + 1
	// OnWrite is for requests that change something, for signing in and for failures that are counted.
	OnWrite
	// OnProcess is for paid work and for places.
	OnProcess
)

// String is the class's word in metrics: "read", "write" or "process".
func (c Class) String() string {
	switch c {
	case OnRead:
		return "read"
	case OnWrite:
		return "write"
	case OnProcess:
		return "process"
	}
	return "none"
}

// FailoverMetrics counts what operators must hear of.
type FailoverMetrics interface {
	// LimitsOutage notes that the storage counts as away, or that it answers again.
	LimitsOutage(away bool)
	// DecidedWithoutStorage counts a decision that a policy took: "local" or "deny".
	DecidedWithoutStorage(class, policy string)
}

// FailoverOptions is what a Failover is made of. All of it is required.
type FailoverOptions struct {
	Policy config.OnStorageError
	// Replicas is how many processes were last seen alive; below 1 counts as 1.
	Replicas func() int
	Metrics  FailoverMetrics
	Logger   *slog.Logger
	Now      func() time.Time
}

// Failover stands before a shared storage. While that answers it decides. A decision that it does not take follows the
// policy of its class: it is counted here, at the figure divided by the processes alive, or refused with
// problems.LimitsUnavailable. Once the storage, or the site of it that a decision needs, counts as away no decision
// waits for it, until a Probe finds it again.
// It is safe for concurrent use and starts nothing by itself.
type Failover struct {
	shared   Shared
	local    *Memory
	places   *places
	policies map[Class]config.StorageErrorPolicy
	options  FailoverOptions

	sited   Sited // the storage, if it has sites
	sites   [sitesOfStorage]site
	probing sync.Mutex // held by who asks a storage that counts as away
	reached atomic.Bool
	outage  outage
}

var _ Leases = (*Failover)(nil)

// NewFailover makes a Failover. The storage counts as away until the first Probe has found it.
func NewFailover(shared Shared, o FailoverOptions) *Failover {
	f := &Failover{
		shared: shared, local: NewMemory(o.Now), places: newPlaces(o.Now), options: o,
		policies: map[Class]config.StorageErrorPolicy{OnRead: o.Policy.Read, OnWrite: o.Policy.Write, OnProcess: o.Policy.Process},
		outage:   outage{away: 1},
	}
	f.sited, _ = shared.(Sited)
	f.sites[0].probe = f.probeOfStack(nil)
	f.sites[0].open()
	return f
}

// For is the store of one class.
func (f *Failover) For(class Class) Store { return &inClass{f, class} }

// Always is a store that decides for every class, because it is never away.
func Always(store Store) func(Class) Store { return func(Class) Store { return store } }

// inClass is a Failover as the decisions of one class see it.
type inClass struct {
	*Failover

	class Class
}

// Take implements Store.
func (c *inClass) Take(ctx context.Context, stack []Limit, room []State) (Decision, error) {
	if p, may := c.enterFor(ctx, stack); may {
		decision, err := c.shared.Take(ctx, stack, room)
		if err == nil {
			if decision.Admitted { // a refusal proves that the storage can be read, not that it can count
				c.answered(p)
			}
			return decision, nil
		}
		if err := c.missed(ctx, p, err, c.probeOfStackAt(ctx, stack)); err != nil {
			return Decision{}, err
		}
	}
	if err := c.mayDecide(c.class); err != nil {
		return Decision{}, err
	}
	return c.local.Take(ctx, divided(stack, c.replicas()), room)
}

// Peek implements Store.
func (c *inClass) Peek(ctx context.Context, stack []Limit) ([]State, error) {
	if p, may := c.enterFor(ctx, stack); may {
		states, err := c.shared.Peek(ctx, stack)
		if err == nil {
			return states, nil
		}
		if err := c.missed(ctx, p, err, c.probeOfStackAt(ctx, stack)); err != nil {
			return nil, err
		}
	}
	if err := c.mayDecide(c.class); err != nil {
		return nil, err
	}
	return c.local.Peek(ctx, divided(stack, c.replicas()))
}

// Close implements Store. It closes the storage.
func (f *Failover) Close() error { return f.shared.Close() }

// missed judges a decision that failed: nil where the policy decides instead. A caller that has gone is no failure of
// the storage, nor is a stack that no store can decide about.
func (f *Failover) missed(ctx context.Context, p pass, err error, probeAt func(at Sites) func(context.Context) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !problems.Is(err, problems.LimitsUnavailable) {
		return err
	}
	f.failed(p, err, probeAt)
	return nil
}

var errAway = errors.New("the storage of the limits did not decide, and RATELIMIT_ON_STORAGE_ERROR says to refuse then")

// mayDecide is the policy's answer to a decision that the storage did not take: nil to count here.
func (f *Failover) mayDecide(class Class) error {
	policy := f.policies[class]
	f.options.Metrics.DecidedWithoutStorage(class.String(), string(policy))
	if policy != config.CountLocally {
		return Unavailable(errAway)
	}
	return nil
}

func (f *Failover) replicas() int64 { return int64(max(1, f.options.Replicas())) }

// divided is a stack at this process's part of every figure. A request that fits the figure fits its part: a batch that
// weighs more than that would never be let in. A figure that no store decides about stays one.
func divided(stack []Limit, replicas int64) []Limit {
	if replicas == 1 {
		return stack
	}
	parts := slices.Clone(stack)
	for i := range parts {
		l := &parts[i]
		whole := l.Rate.Limit
		if whole < 1 {
			continue
		}
		l.Rate.Limit = max(1, whole/replicas)
		if l.Cost <= whole {
			l.Cost = min(l.Cost, l.Rate.Limit)
		}
	}
	return parts
}

// Sweep lets go of what was counted here in outages and is over. A server calls it now and then.
func (f *Failover) Sweep() {
	f.local.Sweep()
	f.places.sweep()
}
