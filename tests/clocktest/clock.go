// Package clocktest has a clock that stands still until a test moves it.
package clocktest

import (
	"sync"
	"time"
)

// Clock is one, for many goroutines.
type Clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

// New is a clock that shows this moment.
func New(at time.Time) *Clock { return &Clock{now: at} }

// Now is the moment that it shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves it, back where by is negative.
func (c *Clock) Advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}
