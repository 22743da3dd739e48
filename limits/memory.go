package limits

import (
	"context"
	"math/bits"
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
	return &Memory{memoryLeases: newMemoryLeases(now), now: now, start: now(), maxKeys: int64(maxKeys)}
}

// place is where one entry of a stack is decided.
type place struct {
	key      counterKey
	moment   moment
	shard    *shard
	window   *window // the log that the entry is judged by; nil when nothing is counted
	own      bool    // the log is the key's own, and not the overflow's
	reserved bool    // there is room for a log of its own
	first    int     // index of the first entry of the same counter
	wait     time.Duration
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

	held := m.lock(stack)
	defer m.unlock(held)
	if m.find(stack, places, now, true) {
		defer m.overflow.mu.Unlock()
	}
	for i := range places {
		p := &places[i]
		p.wait = waitFor(&stack[i], p.window, &p.moment)
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
		standOf(&stack[i], p.window, &p.moment, p.wait).state(&decision.States[i], &stack[i], wall)
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

	held := m.lock(stack)
	defer m.unlock(held)
	if m.find(stack, places, now, false) {
		defer m.overflow.mu.Unlock()
	}
	for i := range places {
		p := &places[i]
		standOf(&stack[i], p.window, &p.moment, 0).state(&states[i], &stack[i], wall)
	}
	return states, nil
}

// Sweep forgets every counter in which nothing is counted and every lease that has run out. Take does the same bit
// by bit while newcomers come; a server calls Sweep now and then so that memory returns when they stop.
func (m *Memory) Sweep() {
	now := int64(m.now().Sub(m.start))
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		m.keys.Add(-s.sweep(now, len(s.slots)))
		s.mu.Unlock()
	}
	m.overflow.mu.Lock()
	m.overflow.sweep(now)
	m.overflow.mu.Unlock()
	m.memoryLeases.sweep()
}

// Close implements Store.
func (m *Memory) Close() error { return nil }

// lock takes the locks of all shards that the stack's counters live in, in the order of the shards, so that two
// decisions never wait for each other. It returns which they are.
func (m *Memory) lock(stack []Limit) uint64 {
	var held uint64
	for i := range stack {
		held |= 1 << shardOf(&stack[i])
	}
	for rest := held; rest != 0; rest &= rest - 1 {
		m.shards[bits.TrailingZeros64(rest)].mu.Lock()
	}
	return held
}

func (m *Memory) unlock(held uint64) {
	for rest := held; rest != 0; rest &= rest - 1 {
		m.shards[bits.TrailingZeros64(rest)].mu.Unlock()
	}
}

// find looks up what each entry is judged by. With reserve it also claims room for the counters that are new; at the
// bound it looks for some among the idle first, before anything points at one. It reports whether it had to lock the
// overflow, which comes after all shards.
func (m *Memory) find(stack []Limit, places []place, now int64, reserve bool) (overflowing bool) {
	if m.lookUp(stack, places, now, reserve) {
		for i := range places {
			m.sweepAround(places[i].shard, now)
		}
		m.lookUp(stack, places, now, reserve)
	}
	for i := range places {
		p := &places[i]
		if p.own || p.first != i || (p.reserved || !reserve) && !m.overflow.live.Load() {
			continue
		}
		if !overflowing {
			m.overflow.mu.Lock()
			overflowing = true
		}
		p.window = m.overflow.window(p.key, &p.moment)
	}
	return overflowing
}

// lookUp reports whether a new counter found no room.
func (m *Memory) lookUp(stack []Limit, places []place, now int64, reserve bool) (short bool) {
	for i := range places {
		l, p := &stack[i], &places[i]
		p.key, p.moment, p.first = keyOf(l), momentOf(now, spanOf(l.Rate.Period)), i
		p.shard = &m.shards[shardOf(l)]
		for j := range i {
			if places[j].key == p.key {
				p.first = j
				break
			}
		}
		p.window, p.own = nil, false
		if c := p.shard.counters[p.key]; c != nil {
			p.window, p.own = &c.window, true
		} else if reserve && !p.reserved && p.first == i {
			p.reserved = m.reserve()
			short = short || !p.reserved
		}
	}
	return short
}

// reserve claims room for one new counter.
func (m *Memory) reserve() bool {
	if m.keys.Add(1) <= m.maxKeys {
		return true
	}
	m.keys.Add(-1)
	return false
}

// charge counts the cost. A newcomer with room gets a log that begins as a copy of the overflow's: what it did
// while there was no room for it is in there, and must go on counting.
func (m *Memory) charge(p *place, cost int64) {
	switch {
	case p.own:
	case p.reserved:
		c := &counter{key: p.key, span: p.moment.span}
		if p.window != nil {
			c.window = p.window.clone()
		}
		p.shard.add(c)
		p.window = &c.window
	case p.window == nil:
		p.window = m.overflow.add(p.key, p.moment.span)
	}
	p.window.charge(&p.moment, cost)
}

// finish gives back the room that a refusal does not need, and has newcomers sweep now that nothing points at a
// counter any more.
func (m *Memory) finish(places []place, admitted bool, now int64) {
	for i := range places {
		switch p := &places[i]; {
		case !p.reserved:
		case admitted:
			m.sweepAround(p.shard, now)
		default:
			m.keys.Add(-1)
		}
	}
}

// sweepAround has a newcomer pay for its place: it looks at a few counters of its own shard and at a few of another
// that nobody holds, so that every shard is visited as long as newcomers come anywhere.
func (m *Memory) sweepAround(own *shard, now int64) {
	m.keys.Add(-own.sweep(now, sweepStep))
	other := &m.shards[m.visited.Add(1)%shardCount]
	if other.mu.TryLock() {
		m.keys.Add(-other.sweep(now, sweepStep))
		other.mu.Unlock()
	}
}

// Ping never fails: memory always answers.
func (m *Memory) Ping(context.Context) error { return nil }
