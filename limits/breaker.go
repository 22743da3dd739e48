package limits

import (
	"sync"
	"sync/atomic"
)

// breakerPatience is how many decisions must fail one after the other before a storage counts as away.
const breakerPatience = 3

// breaker remembers whether a storage answers, so that an outage does not cost every request its timeout. Failures in
// a row open it; only a probe closes it again. A hiccup is one failure, however many decisions it met: a decision
// that was under way when another's failure was counted is not counted itself.
type breaker struct {
	// turn grows when the breaker opens and when it closes; while it is odd the breaker is open.
	turn     atomic.Uint64
	failures atomic.Uint64 // in a row, 0 while open
	mu       sync.Mutex    // taken to turn, and to count failures
	cause    error         // of the last failure that was counted
}

// ticket is what a decision knew of the breaker when it began. What it finds out counts only as long as that holds.
type ticket struct{ turn, failures uint64 }

// enter reports whether the storage may be asked.
func (b *breaker) enter() (t ticket, may bool) {
	t = ticket{b.turn.Load(), b.failures.Load()}
	return t, t.turn%2 == 0
}

// isOpen reports whether the storage counts as away.
func (b *breaker) isOpen() bool { return b.turn.Load()%2 == 1 }

// open has the storage count as away before anybody asked it.
func (b *breaker) open() { b.turn.Store(1) }

// failed notes that the storage did not answer. When that opens the breaker, opened runs before anybody can close it.
func (b *breaker) failed(t ticket, cause error, opened func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isOpen() || b.turn.Load() != t.turn || b.failures.Load() != t.failures {
		return
	}
	b.cause = cause
	if b.failures.Add(1) < breakerPatience {
		return
	}
	b.failures.Store(0)
	b.turn.Add(1)
	opened()
}

// answered notes that the storage wrote something down. When that ends a row of failures, ended is told how many they
// were and why the last of them failed.
func (b *breaker) answered(t ticket, ended func(failures uint64, cause error)) {
	if b.failures.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isOpen() || b.turn.Load() != t.turn {
		return
	}
	if failures := b.failures.Swap(0); failures > 0 {
		ended(failures, b.cause)
	}
}

// close lets decisions through again; closed runs before anybody can open it.
func (b *breaker) close(closed func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isOpen() {
		b.failures.Store(0)
		b.turn.Add(1)
		closed()
	}
}
