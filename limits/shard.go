package limits

import (
	"sync"
	"sync/atomic"
)

const (
	// shardCount is the number of bits of the word that remembers which shards a decision holds.
	shardCount = 64
	// sweepStep is how many counters a newcomer looks at in each of two shards. With eight in all, idle counters
	// stay below a seventh of the live ones while newcomers come.
	sweepStep = 4
	// shrinkFrom is the size from which a shard that has become a quarter of what it was gives its memory back.
	shrinkFrom = 64
)

// counterKey is a counter's name without anything that a request could make longer.
type counterKey struct {
	plan         *Plan
	period       int64
	hi, lo, part uint64
}

func keyOf(l *Limit) counterKey {
	key := counterKey{plan: l.Plan, period: int64(l.Rate.Period), lo: uint64(l.Key.ID), part: l.Key.Part}
	if l.Plan.Subject == Address {
		key.hi, key.lo = addressWords(l)
	}
	return key
}

// addressWords is the address as two words. A mapped IPv4 address is the IPv4 address.
func addressWords(l *Limit) (hi, lo uint64) {
	if !l.Key.Addr.IsValid() {
		return 0, 0
	}
	b := l.Key.Addr.As16()
	for i := range 8 {
		hi = hi<<8 | uint64(b[i])
		lo = lo<<8 | uint64(b[i+8])
	}
	return hi, lo
}

// shardOf keeps the counters of one organization together, as a clustered storage does: most stacks lock one shard.
func shardOf(l *Limit) uint64 {
	word := uint64(l.Key.Org)
	if l.Plan.Subject == Address {
		hi, lo := addressWords(l)
		word = hi ^ lo
	}
	// The odd constant spreads neighboring numbers; the upper six bits choose one of 64.
	return word * 0x9E3779B97F4A7C15 >> 58
}

// counter is a key with its log.
type counter struct {
	key    counterKey
	span   span
	window window
}

// shard is a part of the counters under one lock.
type shard struct {
	mu       sync.Mutex // protects everything below
	counters map[counterKey]*counter
	slots    []*counter // the same counters, in the order in which the sweep visits them
	cursor   int
	peak     int // most slots since the maps were made
}

func (s *shard) add(c *counter) {
	if s.counters == nil {
		s.counters = make(map[counterKey]*counter)
	}
	s.counters[c.key] = c
	s.slots = append(s.slots, c)
	s.peak = max(s.peak, len(s.slots))
}

// sweep looks at the next few counters and forgets the idle ones; it returns how many.
func (s *shard) sweep(now int64, steps int) (forgotten int64) {
	for range min(steps, len(s.slots)) {
		if s.cursor >= len(s.slots) {
			s.cursor = 0
		}
		c := s.slots[s.cursor]
		if m := momentOf(now, c.span); !c.window.idle(&m) {
			s.cursor++
			continue
		}
		delete(s.counters, c.key)
		last := len(s.slots) - 1
		s.slots[s.cursor], s.slots[last] = s.slots[last], nil
		s.slots = s.slots[:last]
		forgotten++
	}
	if s.peak >= shrinkFrom && len(s.slots) < s.peak/4 {
		s.shrink()
	}
	return forgotten
}

// shrink makes the maps anew: a map keeps the room of every key it ever held.
func (s *shard) shrink() {
	slots := make([]*counter, len(s.slots))
	copy(slots, s.slots)
	counters := make(map[counterKey]*counter, len(slots))
	for _, c := range slots {
		counters[c.key] = c
	}
	s.slots, s.counters, s.cursor, s.peak = slots, counters, 0, len(slots)
}

// overflow holds the counters that newcomers share when there is no room: one for each plan and window.
type overflow struct {
	live     atomic.Bool // something may be counted
	mu       sync.Mutex  // protects counters; taken after the locks of shards
	counters map[counterKey]*counter
}

// shared is the name of the counter that the key shares with all newcomers.
func (k counterKey) shared() counterKey { return counterKey{plan: k.plan, period: k.period} }

// window is the shared log for a key, nil when nothing is counted.
func (o *overflow) window(key counterKey, m *moment) *window {
	c := o.counters[key.shared()]
	if c == nil {
		return nil
	}
	if c.window.idle(m) {
		o.sweep(m.now)
		return nil
	}
	return &c.window
}

// add is the shared log for a key, made if there is none.
func (o *overflow) add(key counterKey, s span) *window {
	if c := o.counters[key.shared()]; c != nil {
		return &c.window
	}
	if o.counters == nil {
		o.counters = make(map[counterKey]*counter)
	}
	c := &counter{key: key.shared(), span: s}
	o.counters[c.key] = c
	o.live.Store(true)
	return &c.window
}

// sweep forgets the shared logs in which nothing is counted.
func (o *overflow) sweep(now int64) {
	for key, c := range o.counters {
		if m := momentOf(now, c.span); c.window.idle(&m) {
			delete(o.counters, key)
		}
	}
	o.live.Store(len(o.counters) > 0)
}
