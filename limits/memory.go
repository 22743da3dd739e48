package limits

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"
)

// DefaultMaxKeys is how many counters a Memory keeps at a time.
const DefaultMaxKeys = 1_000_000

// Memory is the store of a single process. A decision is one critical section over all counters of its stack.
// Counters in which nothing is counted any more are forgotten as newcomers come, and by Sweep.
type Memory struct {
	*memoryLeases
	now      func() time.Time
	start    time.Time
	maxKeys  int64
	keys     atomic.Int64  // counters kept or reserved, never above maxKeys
	visited  atomic.Uint32 // shards that newcomers have swept
	seed     maphash.Seed
	kinds    *kinds
	shards   [shardCount]shard
	overflow overflow
}

var (
	_ Store  = (*Memory)(nil)
	_ Leases = (*Memory)(nil)
)

// NewMemory makes a store for at most DefaultMaxKeys counters. Where the readings of now have a monotonic part, as
// those of time.Now do, steps of the wall clock are not even noticed.
func NewMemory(now func() time.Time) *Memory { return NewMemoryOf(now, DefaultMaxKeys) }

// NewMemoryOf makes a store for at most maxKeys counters. At the bound the live ones are kept, and all newcomers of
// one plan and window share a single counter: they may be refused early, and never pass uncounted.
func NewMemoryOf(now func() time.Time, maxKeys int) *Memory {
	m := &Memory{
		memoryLeases: newMemoryLeases(now), now: now, start: now(), maxKeys: int64(maxKeys),
		seed: maphash.MakeSeed(), kinds: newKinds(),
	}
	for i := range m.shards {
		m.shards[i].seed = m.seed
	}
	return m
}

// Take implements Store. Its only error is a stack that no store can decide about.
func (m *Memory) Take(_ context.Context, stack []Limit, room []State) (Decision, error) {
	if err := check(stack); err != nil {
		return Decision{}, err
	}
	decision := Decision{Admitted: true, States: statesIn(room, len(stack)), Binding: -1}
	var few [6]place
	places := few[:]
	if len(stack) > len(few) {
		places = make([]place, len(stack))
	}
	places = places[:len(stack)]
	wall := m.now()
	now := int64(wall.Sub(m.start))

	held := m.address(stack, places, now)
	m.lock(held)
	defer m.unlock(held)
	if m.find(places, now, true) {
		defer m.overflow.mu.Unlock()
	}
	for i := range places {
		p := &places[i]
		p.wait = waitFor(&stack[i], &p.window, &p.moment)
		decision.Admitted = decision.Admitted && p.wait == 0
	}
	for i := range places {
		p := &places[i]
		switch {
		case p.first != i:
			p.window = places[p.first].window
		case decision.Admitted:
			m.charge(p, stack[i].Cost)
		}
		standOf(&stack[i], &p.window, &p.moment, p.wait).state(&decision.States[i], &stack[i], wall)
	}
	if !decision.Admitted {
		decision.Binding = bindingOf(decision.States)
	}
	m.finish(places, decision.Admitted, now)
	return decision, nil
}

// Peek implements Store. Its only error is a stack that no store can decide about.
func (m *Memory) Peek(_ context.Context, stack []Limit) ([]State, error) {
	if err := check(stack); err != nil {
		return nil, err
	}
	states := make([]State, len(stack))
	places := make([]place, len(stack))
	wall := m.now()
	now := int64(wall.Sub(m.start))

	held := m.address(stack, places, now)
	m.lock(held)
	defer m.unlock(held)
	if m.find(places, now, false) {
		defer m.overflow.mu.Unlock()
	}
	for i := range places {
		p := &places[i]
		standOf(&stack[i], &p.window, &p.moment, 0).state(&states[i], &stack[i], wall)
	}
	return states, nil
}

// Sweep forgets every counter in which nothing is counted and every lease that has run out. Take does the same bit
// by bit while newcomers come; a server calls Sweep now and then so that memory returns when they stop.
func (m *Memory) Sweep() {
	now := int64(m.now().Sub(m.start))
	for i := range m.shards {
		m.sweepAll(&m.shards[i], now)
	}
	m.overflow.mu.Lock()
	m.overflow.sweep(now, m.kinds.spans())
	m.overflow.mu.Unlock()
	m.memoryLeases.sweep()
}

// sweepAll visits every counter of a shard, and lets requests in after each few.
func (m *Memory) sweepAll(s *shard, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cursor = 0
	for left := s.count; left > 0; left -= sweepAtOnce {
		m.keys.Add(-s.sweep(now, m.kinds.spans(), sweepAtOnce))
		s.mu.Unlock()
		s.mu.Lock()
	}
}

// Forget makes a counter what it was before anything was counted. What its key did while it shared a counter at the
// bound goes on being counted. Its only error is a limit that no store can decide about.
func (m *Memory) Forget(_ context.Context, l Limit) error {
	stack, places := []Limit{l}, make([]place, 1)
	if err := check(stack); err != nil {
		return err
	}
	m.address(stack, places, 0)
	p := &places[0]
	p.shard.mu.Lock()
	defer p.shard.mu.Unlock()
	if at := p.shard.find(&p.key, p.hash); at >= 0 {
		p.shard.remove(at)
		m.keys.Add(-1)
	}
	return nil
}

// Ping never fails: memory always answers.
func (m *Memory) Ping(context.Context) error { return nil }

// Close implements Store.
func (m *Memory) Close() error { return nil }
