package limits

import (
	"hash/maphash"
	"sync"
)

const (
	// shardCount is the number of bits of the word that remembers which shards a decision holds.
	shardCount = 64
	// pageSize is how many counters are allocated together, 4 KiB: growing copies none of them while requests wait.
	pageSize = 64
	// sweepAtOnce is how many counters Sweep looks at while requests wait: some ten microseconds.
	sweepAtOnce = 1024
	// sweepStep is how many counters a newcomer looks at in each of two shards. With eight in all, idle counters
	// stay below a seventh of the live ones while newcomers come.
	sweepStep = 4
	// shrinkFrom is the size from which a shard that has become a quarter of what it was gives its memory back.
	shrinkFrom = 64
)

// counter is a key and its log, as a shard keeps it: 64 bytes, a line of the processor's cache, without any pointer.
// A log of up to two quanta is all in here.
type counter struct {
	hi, lo, part   uint64
	kind           uint32
	sum            uint32 // at most MaxFigure, like whatever was admitted
	base           int64
	oldest, newest quantum
	ring           uint32 // its number, 0 for none
	head, size     uint8
}

func (c *counter) key() counterKey { return counterKey{c.hi, c.lo, c.part, int(c.kind)} }

// shard is a part of the counters under one lock. They stand without gaps, in no order; the index knows where.
type shard struct {
	seed   maphash.Seed
	mu     sync.Mutex // protects everything below
	index  index
	pages  []*[pageSize]counter
	count  int
	rings  rings
	cursor int // where the sweep goes on
	peak   int // most counters since the shard last shrank
}

// at is the counter at a place. It stays there until a sweep or a removal.
func (s *shard) at(place int) *counter { return &s.pages[place/pageSize][place%pageSize] }

// find is the place of a key with this hash, -1 if it has no counter.
func (s *shard) find(key *counterKey, hash uint32) int {
	if s.count == 0 {
		return -1
	}
	for i := s.index.home(hash); s.index.cells[i] != 0; i = s.index.after(i) {
		if place, may := s.index.place(s.index.cells[i], hash); may && s.at(place).key() == *key {
			return place
		}
	}
	return -1
}

// add makes the counter of a key that has none.
func (s *shard) add(key counterKey, hash uint32) *counter {
	if s.count == len(s.pages)*pageSize {
		s.pages = append(s.pages, new([pageSize]counter))
	}
	if s.index.full(s.count + 1) {
		s.reindex(2 * (s.count + 1))
	}
	s.index.add(hash, s.count)
	c := s.at(s.count)
	*c = counter{hi: key.hi, lo: key.lo, part: key.part, kind: uint32(key.kind)}
	s.count++
	s.peak = max(s.peak, s.count)
	return c
}

func (s *shard) hashAt(place int) uint32 { return hashOf(s.seed, s.at(place).key()) }

// reindex makes the index anew, with room for so many counters.
func (s *shard) reindex(counters int) {
	s.index = indexFor(counters)
	for place := range s.count {
		s.index.add(s.hashAt(place), place)
	}
}

// remove forgets the counter at a place; the last one moves there.
func (s *shard) remove(place int) {
	c, end := s.at(place), s.count-1
	s.index.remove(s.hashAt(place), place, s.hashAt)
	s.rings.drop(c.ring)
	if place != end {
		s.index.move(s.hashAt(end), end, place)
		*c = *s.at(end)
	}
	s.count--
	// An empty page is kept while the one before it is more than half full: the count may go up and down at its edge.
	if last := len(s.pages) - 1; s.count <= max(0, last*pageSize-pageSize/2) {
		s.pages[last] = nil
		s.pages = s.pages[:last]
	}
}

// load reads the log of a counter. Only a charge changes it, and then it must be kept.
func (s *shard) load(c *counter, w *window) {
	w.base, w.sum, w.oldest, w.newest, w.size, w.head = c.base, int64(c.sum), c.oldest, c.newest, c.size, c.head
	w.ring = s.rings.of(c.ring)
}

// keep writes the log of a counter.
func (s *shard) keep(c *counter, w *window) {
	c.base, c.sum, c.oldest, c.newest, c.size, c.head = w.base, uint32(w.sum), w.oldest, w.newest, w.size, w.head
	if w.ring != nil {
		c.ring = s.rings.keep(c.ring, w.ring)
	}
}

// sweep looks at the next few counters and forgets the idle ones; it returns how many.
func (s *shard) sweep(now int64, spans []span, steps int) (forgotten int64) {
	var w window
	for range min(steps, s.count) {
		if s.cursor >= s.count {
			s.cursor = 0
		}
		c := s.at(s.cursor)
		s.load(c, &w)
		if m := momentOf(now, spans[c.kind]); !w.idle(&m) {
			s.cursor++
			continue
		}
		s.remove(s.cursor)
		forgotten++
	}
	if s.peak >= shrinkFrom && s.count < s.peak/4 {
		s.shrink()
	}
	return forgotten
}

// shrink gives back what was needed for more counters than there are now.
func (s *shard) shrink() {
	s.reindex(s.count + 1)
	s.pages = append([]*[pageSize]counter(nil), s.pages...)
	old := s.rings
	s.rings = rings{}
	for place := range s.count {
		if c := s.at(place); c.ring != 0 {
			c.ring = s.rings.keep(0, old.of(c.ring))
		}
	}
	s.peak = s.count
}
