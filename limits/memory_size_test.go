package limits

import (
	"runtime"
	"testing"
	"time"
)

// These tests measure the heap, and so they run alone.

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// tokenLimit is one limit of one token of one organization.
func tokenLimit(token int, figure int64, period time.Duration) []Limit {
	return []Limit{{Plan: TokenRead, Key: Key{Org: 1, ID: int64(token)}, Rate: Rate{Limit: figure, Period: period}, Cost: 1}}
}

func TestALightlyUsedCounterTakesAtMost120Bytes(t *testing.T) {
	const atMost = 120
	for name, c := range map[string]struct {
		counters int
		request  func(n int) []Limit
	}{
		"addresses":                  {1_000_000, func(n int) []Limit { return fromAddress(n, 5000, 24*time.Hour) }},
		"tokens of one organization": {100_000, func(n int) []Limit { return tokenLimit(n, 5000, 24*time.Hour) }},
	} {
		empty := heap()
		m := NewMemory(newFakeTime().now)
		for n := range c.counters {
			mustTake(t, m, c.request(n))
		}
		bytes := float64(heap()-empty) / float64(c.counters)
		t.Logf("%d %s: %.1f bytes each", c.counters, name, bytes)
		if kept := m.keys.Load(); kept != int64(c.counters) || bytes > atMost {
			t.Errorf("%s: %d counters take %.1f bytes each, allowed are %d", name, kept, bytes, atMost)
		}
	}
}

func TestAFullCounterTakesAtMost1536Bytes(t *testing.T) {
	const counters, figure, atMost = 250, 5000, 1536
	clock := newFakeTime()
	empty := heap()
	m := NewMemory(clock.now)
	for range figure {
		for n := range counters {
			if !mustTake(t, m, tokenLimit(n, figure, 24*time.Hour)).Admitted {
				t.Fatal("refused below the figure")
			}
		}
		clock.at = clock.at.Add(24 * time.Hour / figure)
	}
	bytes := float64(heap()-empty) / counters
	t.Logf("%.1f bytes", bytes)
	if bytes > atMost {
		t.Errorf("a counter with %d events takes %.1f bytes, allowed are %d", figure, bytes, atMost)
	}
	runtime.KeepAlive(m)
}

// TestMemoryForgetsTheIdle: a flood of addresses leaves nothing behind, neither while it goes on nor afterwards.
func TestMemoryForgetsTheIdle(t *testing.T) {
	clock := newFakeTime()
	m := NewMemory(clock.now)
	empty := heap()
	const perWindow = 20_000
	for n := range 10 * perWindow {
		mustTake(t, m, fromAddress(n, 5, time.Second))
		if n%3 == 0 {
			// Some come again and again: their logs have rings, which must return too.
			for range 3 {
				clock.at = clock.at.Add(time.Second / perWindow / 8)
				mustTake(t, m, fromAddress(n-n%300, 5000, time.Second))
			}
		}
		clock.at = clock.at.Add(time.Second / perWindow)
	}
	if kept := m.keys.Load(); kept > perWindow*5/4 {
		t.Errorf("%d counters are kept while %d are live", kept, perWindow)
	}
	flooded := heap() - empty
	clock.at = clock.at.Add(2 * time.Second)
	m.Sweep()
	if kept := m.keys.Load(); kept != 0 {
		t.Errorf("%d counters are kept after two windows of silence", kept)
	}
	if left := heap() - empty; left > flooded/10 {
		t.Errorf("%d KiB of %d KiB are in use after two windows of silence", left>>10, flooded>>10)
	}
	runtime.KeepAlive(m)
}

func TestADecisionAllocatesNothing(t *testing.T) {
	m := NewMemory(time.Now)
	for limits := 1; limits <= 4; limits++ {
		stack, room := benchLimits(17, limits), make([]State, limits)
		decide := func() {
			if _, err := m.Take(t.Context(), stack, room); err != nil {
				t.Fatal(err)
			}
		}
		decide()
		if n := testing.AllocsPerRun(1000, decide); n > 0 {
			t.Errorf("a decision about %d limits makes %v allocations", limits, n)
		}
	}
}
