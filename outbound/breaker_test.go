package outbound_test

import (
	"testing"
	"time"

	"github.com/stenometer/stenometer/outbound"
)

// A provider that fails five times in a row is left alone for the pause; then one call tries while others wait, and its
// success lets all in.
func TestABreakerPausesAndTriesWithOneCall(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	b := outbound.NewBreaker(5*time.Second, func() time.Time { return now })
	allowed := func(want bool) time.Duration {
		t.Helper()
		wait, ok := b.Allow()
		if ok != want {
			t.Fatalf("allowed: %v, wanted %v", ok, want)
		}
		return wait
	}
	for range 4 {
		allowed(true)
		b.Failed(0)
	}
	allowed(true)
	b.Succeeded()
	for range 5 {
		allowed(true)
		b.Failed(0)
	}
	if wait := allowed(false); wait != 5*time.Second {
		t.Errorf("the wait is %s", wait)
	}
	now = now.Add(5 * time.Second)
	allowed(true)
	allowed(false)
	b.Ended()
	allowed(true)
	b.Failed(0)
	allowed(false)
	now = now.Add(5 * time.Second)
	allowed(true)
	b.Succeeded()
	allowed(true)
	allowed(true)
}

// A wait that the provider names is kept from its first failure on.
func TestABreakerKeepsTheWaitThatIsAsked(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	b := outbound.NewBreaker(time.Second, func() time.Time { return now })
	b.Failed(7 * time.Second)
	if wait, ok := b.Allow(); ok || wait != 7*time.Second {
		t.Errorf("allowed %v, wait %s", ok, wait)
	}
	now = now.Add(7 * time.Second)
	if _, ok := b.Allow(); !ok {
		t.Error("it was not allowed after the wait")
	}
}
