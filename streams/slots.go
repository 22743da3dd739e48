package streams

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/resting"
)

// Slots hands out places that a dead holder gives back by itself: one that is not renewed in time is free again.
type Slots interface {
	// Acquire takes one of so many places of the key, for so long; ok is false when all are held.
	Acquire(ctx context.Context, key string, places int, life time.Duration) (id string, ok bool, err error)
	// Renew holds the place for life from now. It is false when the place may be another's.
	Renew(ctx context.Context, key, id string, life time.Duration) (bool, error)
	// Release gives the place back; releasing what is not held does nothing.
	Release(ctx context.Context, key, id string) error
}

const (
	// slotHint is when it is worth to ask again for a slot. Nobody knows when one is free.
	slotHint = 2 * time.Second
	// takeTime bounds how long a stream waits for a storage that does not answer.
	takeTime = 5 * time.Second
	// releaseTime is the same at its end: the lease runs out by itself.
	releaseTime = time.Second
)

// slot is one organization's place, held by one stream.
type slot struct {
	streams   *Streams
	key, id   string
	operation Operation
	renewed   time.Time
	cancel    context.CancelFunc
	renewal   *resting.Recurrent // nil until it is kept
	released  sync.Once
}

// take takes a slot, or refuses with stream_limit_reached. A client that leaves meanwhile does not end it: a slot whose
// taking was broken off would be nobody's to give back.
func (s *Streams) take(ctx context.Context, organizationID int64, operation Operation) (*slot, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeTime)
	defer cancel()
	taken := &slot{
		streams: s, key: fmt.Sprintf("streams:{org:%d}", organizationID), operation: operation, renewed: time.Now(),
		cancel: func() {},
	}
	id, ok, err := s.Slots.Acquire(ctx, taken.key, s.Places, s.Lease)
	if err != nil {
		return nil, fmt.Errorf("take a stream slot of organization %d: %w", organizationID, err)
	}
	if !ok {
		return nil, s.full()
	}
	taken.id = id
	s.Metrics.StreamsInFlight(string(operation), 1)
	return taken, nil
}

func (s *Streams) full() error {
	limit := map[string]any{"name": "organization_streams", "scope": "organization", "limit": s.Places}
	if s.Places < 1 {
		return problems.New(problems.StreamLimitReached, "This server opens no streams.").With("limit", limit)
	}
	return problems.New(problems.StreamLimitReached,
		"All places for streams of the organization are taken (%d); try again when one stream has ended.", s.Places).
		With("limit", limit).With("retry_after", int(slotHint/time.Second)).After(slotHint)
}

// keep renews the slot until it is released, and tells when it is lost: then it may be another's already.
func (p *slot) keep(ctx context.Context, lost func()) {
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.renewal = resting.Again(ctx, p.streams.Lease/3, func(ctx context.Context) time.Duration {
		next, kept := p.renew(ctx)
		if !kept {
			lost()
			return 0
		}
		return next
	})
}

// renew is false when the slot is lost. While the storage does not answer it is asked again and again, and the slot is
// believed in until its lease ends.
func (p *slot) renew(ctx context.Context) (next time.Duration, kept bool) {
	again := p.streams.Lease / 10
	began := time.Now()
	asking, cancel := context.WithTimeout(ctx, again)
	defer cancel()
	kept, err := p.streams.Slots.Renew(asking, p.key, p.id, p.streams.Lease)
	if err == nil {
		p.renewed = began
		return p.streams.Lease / 3, kept
	}
	if ctx.Err() == nil {
		p.streams.Logger.WarnContext(ctx, "a stream slot could not be renewed", "operation", string(p.operation), "error", err.Error())
	}
	return again, time.Since(p.renewed) < p.streams.Lease
}

// release ends the renewal and gives the slot back; doing so twice is once.
func (p *slot) release() {
	p.released.Do(func() {
		p.cancel()
		if p.renewal != nil {
			p.renewal.End()
		}
		p.streams.Metrics.StreamsInFlight(string(p.operation), -1)
		ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
		defer cancel()
		if err := p.streams.Slots.Release(ctx, p.key, p.id); err != nil {
			p.streams.Logger.WarnContext(ctx, "a stream slot could not be given back; it is free when its lease is over",
				"operation", string(p.operation), "error", err.Error())
		}
	})
}
