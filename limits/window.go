package limits

import (
	"slices"
	"time"
)

// resolution is the number of quanta that a window is divided into; one more may be counted at a time.
const resolution = 127

// firstRing is the length of the first ring; it doubles from there to 128.
const firstRing = 4

// Stamps are 32-bit numbers of ticks. Windows beyond coarseFrom have a longer tick, so that a stamp holds them too.
const (
	fineTick   = time.Millisecond
	coarseTick = 20 * time.Millisecond
	coarseFrom = 24 * 24 * time.Hour
)

func tickOf(period time.Duration) time.Duration {
	if period > coarseFrom {
		return coarseTick
	}
	return fineTick
}

// span is a window's length and quantum in ticks, and a tick in nanoseconds.
type span struct{ length, quantum, tick int64 }

func spanOf(period time.Duration) span {
	tick := int64(tickOf(period))
	length := int64(period) / tick
	return span{length: length, quantum: (length + resolution - 1) / resolution, tick: tick}
}

// moment is a reading of the clock as a window sees it.
type moment struct {
	span
	now  int64 // nanoseconds
	tick int64 // the last whole tick
}

func momentOf(now int64, s span) moment {
	var m moment
	m.read(now, &s)
	return m
}

func (m *moment) read(now int64, s *span) {
	m.span, m.now = *s, now
	if s.tick == int64(fineTick) {
		m.tick = floorDiv(now, int64(fineTick)) // a constant divides ten times as fast
		return
	}
	m.tick = floorDiv(now, s.tick)
}

// next is the first tick that is not over.
func (m *moment) next() int64 {
	if m.tick*m.span.tick == m.now {
		return m.tick
	}
	return m.tick + 1
}

// until is how long it takes for events of a tick to leave.
func (m *moment) until(tick int64) time.Duration {
	return time.Duration((tick+m.length)*m.span.tick - m.now)
}

// window is the log of one counter: what was admitted, in quanta. All events of one quantum leave together, one
// window's length after the last of them, so that an event is counted for at least the window's length and at most
// a quantum longer. It holds at most resolution+1 quanta of 8 bytes, whatever the figure, and knows nothing of
// figures. Every method is a function of its arguments and the log; only charge changes the log.
//
// Clock readings are nanoseconds of any clock. Events are stamped in ticks rounded up and leave by the clock's
// ticks rounded down: no event is counted for less than the window's length.
//
// Most decisions need only the oldest and the newest quantum. Those stand in the window itself; the ring, which is
// elsewhere in memory, is looked at when something leaves.
type window struct {
	base   int64     // tick of the clock that stamps count from
	sum    int64     // cost of all quanta
	oldest quantum   // if size is 2 or more
	newest quantum   // if size is 1 or more
	size   uint8     // quanta
	head   uint8     // place in the ring of the oldest that it holds
	ring   []quantum // those between oldest and newest; nil until there is one, then as long as a power of two
}

// quantum is the last stamp and the cost of the events of one stretch of the clock.
type quantum struct {
	stamp uint32 // ticks after base
	cost  uint32
}

// windowOf is the log of these quanta, oldest first, whose stamps count from base.
func windowOf(base int64, quanta []quantum) window {
	w := window{base: base}
	for _, q := range quanta {
		w.push(q)
		w.sum += int64(q.cost)
	}
	return w
}

// at is the i-th oldest quantum.
func (w *window) at(i int) *quantum {
	switch i {
	case int(w.size) - 1:
		return &w.newest
	case 0:
		return &w.oldest
	}
	return w.between(i - 1)
}

// between is the i-th oldest place of the ring.
func (w *window) between(i int) *quantum { return &w.ring[(int(w.head)+i)&(len(w.ring)-1)] }

// last is the tick of the newest event. The log must not be empty.
func (w *window) last() int64 { return w.base + int64(w.newest.stamp) }

// look tells how many of the oldest quanta have left, and what the others cost. Nothing has come to a nil log.
func (w *window) look(m *moment) (gone int, used int64) {
	if w == nil {
		return 0, 0
	}
	edge := m.tick - m.length - w.base
	used = w.sum
	for gone < int(w.size) {
		q := w.at(gone)
		if int64(q.stamp) > edge {
			break
		}
		used -= int64(q.cost)
		gone++
	}
	return gone, used
}

// until is how long it takes for need units to leave, when gone quanta have left. Need is at most what is used.
func (w *window) until(m *moment, gone int, need int64) time.Duration {
	q := w.at(gone)
	for need -= int64(q.cost); need > 0; need -= int64(q.cost) {
		gone++
		q = w.at(gone)
	}
	return m.until(w.base + int64(q.stamp))
}

// whole is how long it takes until nothing is counted any more. The log must not be empty.
func (w *window) whole(m *moment) time.Duration { return m.until(w.last()) }

// idle reports whether nothing is counted any more.
func (w *window) idle(m *moment) bool { return w.size == 0 || w.whole(m) <= 0 }

// charge counts cost at this moment and forgets what has left. A clock that has stepped back counts at the newest
// stamp instead: stamps never fall, so that nothing that was counted leaves earlier.
func (w *window) charge(m *moment, cost int64) {
	gone, used := w.look(m)
	tick := m.next()
	if w.size > 0 {
		tick = max(tick, w.last())
	}
	w.drop(gone)
	w.sum = used + cost
	w.rebase(tick)
	stamp := uint32(tick - w.base)
	if w.size == 0 || tick >= (floorDiv(w.last(), m.quantum)+1)*m.quantum {
		w.push(quantum{stamp, uint32(cost)})
		return
	}
	w.newest.stamp = stamp
	w.newest.cost += uint32(cost)
}

// drop forgets the oldest quanta.
func (w *window) drop(gone int) {
	left := int(w.size) - gone
	switch {
	case gone == 0:
		return
	case left < 2:
		w.head = 0
	default:
		w.oldest = *w.at(gone)
		w.head = uint8((int(w.head) + gone) & (len(w.ring) - 1))
	}
	w.size = uint8(left)
}

// push makes q the newest quantum.
func (w *window) push(q quantum) {
	switch between := int(w.size) - 2; {
	case between == len(w.ring):
		w.grow()
		fallthrough
	case between >= 0:
		*w.between(between) = w.newest
	case between == -1:
		w.oldest = w.newest
	}
	w.newest = q
	w.size++
}

// rebase makes room for a stamp of this tick, however long the counter has lived. What is counted lies within one
// window of it, so counting from the oldest quantum keeps every stamp far within 32 bits.
func (w *window) rebase(tick int64) {
	if w.size == 0 {
		w.base = tick
		return
	}
	if tick-w.base <= 1<<32-1 {
		return
	}
	shift := w.at(0).stamp
	for i := range int(w.size) {
		w.at(i).stamp -= shift
	}
	w.base += int64(shift)
}

// grow makes a ring of twice the length, in which the oldest quantum comes first.
func (w *window) grow() {
	ring := make([]quantum, max(firstRing, 2*len(w.ring)))
	for i := range w.ring {
		ring[i] = *w.between(i)
	}
	w.ring, w.head = ring, 0
}

// clone is a log of its own with the same content.
func (w *window) clone() window {
	c := *w
	c.ring = slices.Clone(w.ring)
	return c
}

// floorDiv rounds down, below zero too: a clock may be read before the moment that it counts from.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
