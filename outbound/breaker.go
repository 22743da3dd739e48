package outbound

import (
	"sync"
	"time"
)

// failuresInARow is how many open a Breaker: one may be chance, and a part that one audio file breaks is no outage.
const failuresInARow = 5

// Breaker leaves a provider alone for a while: after it failed several times in a row, or for as long as it says itself
// that it is busy. Then one call tries, and the others wait for what comes of it. It is safe for concurrent use.
type Breaker struct {
	pause time.Duration
	now   func() time.Time

	mu       sync.Mutex // guards what follows
	failures int
	until    time.Time
	trying   bool
}

// NewBreaker makes one that pauses for so long.
func NewBreaker(pause time.Duration, now func() time.Time) *Breaker {
	return &Breaker{pause: pause, now: now}
}

// Allow reports whether a call may be made now; if not, wait says when to ask again. Every call that was allowed is
// ended by Succeeded, Failed or Ended.
func (b *Breaker) Allow() (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if wait = b.until.Sub(b.now()); wait > 0 {
		return wait, false
	}
	if b.failures < failuresInARow {
		return 0, true
	}
	if b.trying {
		return b.pause, false
	}
	b.trying = true
	return 0, true
}

// Succeeded notes that the provider answered: also with a refusal of the one request.
func (b *Breaker) Succeeded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.trying = 0, false
}

// Failed notes that it did not. A wait that the provider asks for is kept from the first time on; 0 for none.
func (b *Breaker) Failed(retryAfter time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.trying = b.failures+1, false
	if b.failures >= failuresInARow {
		retryAfter = max(retryAfter, b.pause)
	}
	if until := b.now().Add(retryAfter); until.After(b.until) {
		b.until = until
	}
}

// Ended notes that a call ended without telling anything of the provider: its caller left.
func (b *Breaker) Ended() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
}
