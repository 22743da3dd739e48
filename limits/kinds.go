package limits

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// kind is what a counter is besides its key: a plan and the length of a window.
type kind struct {
	plan   *Plan
	period time.Duration
}

// kinds numbers the kinds that a store has met, so that a counter names its own without a pointer that the garbage
// collector would have to follow. They are never forgotten: they come from the program, its configuration and what
// an administrator sets; the owners of tokens can choose among a few windows alone.
type kinds struct {
	mu    sync.Mutex // held while a table takes the place of another
	table atomic.Pointer[kindTable]
}

// kindTable is never changed, so that a decision reads it without a lock.
type kindTable struct {
	kinds []kind // by number
	spans []span // by number
	later map[kind]int
}

// scanned is how many kinds are looked through one by one, which for so few is faster than a map.
const scanned = 32

func (t *kindTable) find(k kind) (number int, known bool) {
	for i := range t.kinds[:min(scanned, len(t.kinds))] {
		if t.kinds[i] == k {
			return i, true
		}
	}
	number, known = t.later[k]
	return number, known
}

func newKinds() *kinds {
	k := &kinds{}
	k.table.Store(&kindTable{})
	return k
}

// of is the number of the limit's kind and its window.
func (k *kinds) of(l *Limit) (int, *span) {
	table := k.table.Load()
	number, known := table.find(kind{l.Plan, l.Rate.Period})
	if !known {
		table, number = k.add(kind{l.Plan, l.Rate.Period})
	}
	return number, &table.spans[number]
}

func (k *kinds) add(met kind) (*kindTable, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.table.Load()
	if number, known := old.find(met); known {
		return old, number
	}
	table := &kindTable{kinds: append(slices.Clip(old.kinds), met), spans: append(slices.Clip(old.spans), spanOf(met.period))}
	if len(table.kinds) > scanned {
		table.later = make(map[kind]int)
		for number, k := range table.kinds[scanned:] {
			table.later[k] = scanned + number
		}
	}
	k.table.Store(table)
	return table, len(old.kinds)
}

// spans are the windows by the numbers of their kinds. Loaded under a shard's lock they hold those of all its counters.
func (k *kinds) spans() []span { return k.table.Load().spans }
