package limits

import (
	"hash/maphash"
	"math/bits"
	"time"
)

// place is where one entry of a stack is decided.
type place struct {
	key      counterKey
	moment   moment
	shard    *shard
	counter  *counter // the key's own, nil when it has none
	window   window   // the log that the entry is judged by: the counter's, or what is counted in common
	first    int      // index of the first entry of the same counter
	wait     time.Duration
	hash     uint32
	reserved bool // there is room for a counter of its own
}

// address tells where the counters of a stack belong: all that can be said before the locks are held. It returns the
// shards as bits.
func (m *Memory) address(stack []Limit, places []place, now int64) (shards uint64) {
	for i := range stack {
		l, p := &stack[i], &places[i]
		number, span := m.kinds.of(l)
		p.first = i
		p.moment.read(now, span)
		p.key = keyOf(l, number)
		p.hash = hashOf(m.seed, p.key)
		for j := range i {
			if places[j].hash == p.hash && places[j].key == p.key {
				p.first = j
				break
			}
		}
		shard := m.shardOf(l)
		p.shard = &m.shards[shard]
		shards |= 1 << shard
	}
	return shards
}

// shardOf keeps the counters of one organization together, as a clustered storage does: most stacks lock one shard.
// Nobody outside can tell which it is, so that strangers cannot choose addresses that all fall into one.
func (m *Memory) shardOf(l *Limit) uint64 {
	word := uint64(l.Key.Org)
	if l.Plan.Subject == Address {
		hi, lo := addressWords(l)
		word = hi ^ lo
	}
	return maphash.Comparable(m.seed, word) % shardCount
}

// lock takes the locks in the order of the shards, so that two decisions never wait for each other.
func (m *Memory) lock(shards uint64) {
	for rest := shards; rest != 0; rest &= rest - 1 {
		m.shards[bits.TrailingZeros64(rest)].mu.Lock()
	}
}

func (m *Memory) unlock(shards uint64) {
	for rest := shards; rest != 0; rest &= rest - 1 {
		m.shards[bits.TrailingZeros64(rest)].mu.Unlock()
	}
}

// find looks up what each entry is judged by. With reserve it also claims room for the counters that are new; at the
// bound it looks for some among the idle first, before anything points at one. It reports whether it had to lock the
// overflow, which comes after all shards.
func (m *Memory) find(places []place, now int64, reserve bool) (overflowing bool) {
	if m.lookUp(places, reserve) {
		for i := range places {
			m.sweepAround(places[i].shard, now)
		}
		m.lookUp(places, reserve)
	}
	for i := range places {
		p := &places[i]
		if p.first != i {
			p.window = places[p.first].window
			continue
		}
		if p.counter != nil || (p.reserved || !reserve) && !m.overflow.live.Load() {
			continue
		}
		if !overflowing {
			m.overflow.mu.Lock()
			overflowing = true
		}
		p.window = m.overflow.window(p.key.kind, &p.moment, m.kinds.spans())
	}
	return overflowing
}

// lookUp reports whether a new counter found no room.
func (m *Memory) lookUp(places []place, reserve bool) (short bool) {
	for i := range places {
		p := &places[i]
		p.counter = nil
		if at := p.shard.find(&p.key, p.hash); at >= 0 {
			p.counter = p.shard.at(at)
		}
	}
	// In a loop of its own, so that the processor waits for all counters at the same time.
	for i := range places {
		p := &places[i]
		if p.counter != nil {
			p.shard.load(p.counter, &p.window)
			continue
		}
		p.window = window{}
		if reserve && !p.reserved && p.first == i {
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
	if p.counter == nil && !p.reserved {
		p.window = m.overflow.charge(p.key.kind, &p.moment, cost)
		return
	}
	if p.counter == nil {
		p.counter, p.window = p.shard.add(p.key, p.hash), p.window.clone()
	}
	p.window.charge(&p.moment, cost)
	p.shard.keep(p.counter, &p.window)
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
	m.keys.Add(-own.sweep(now, m.kinds.spans(), sweepStep))
	other := &m.shards[m.visited.Add(1)%shardCount]
	if other.mu.TryLock() {
		m.keys.Add(-other.sweep(now, m.kinds.spans(), sweepStep))
		other.mu.Unlock()
	}
}
