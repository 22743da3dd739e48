package limits

import (
	"testing"
	"time"
)

// The rings of counters that were forgotten are used again, also while newcomers keep a shard from shrinking.
func TestMemoryUsesRingsAgain(t *testing.T) {
	t.Parallel()
	clock := newFakeTime()
	m := NewMemory(clock.now)
	const atATime, rounds = 200, 50
	for round := range rounds {
		for range 5 {
			for n := range atATime {
				mustTake(t, m, tokenLimit(round*atATime+n, 100, time.Second))
			}
			clock.at = clock.at.Add(20 * time.Millisecond)
		}
		clock.at = clock.at.Add(time.Second)
	}
	rings := 0
	for i := range m.shards {
		rings += len(m.shards[i].rings.list)
	}
	if rings < atATime || rings > 2*atATime {
		t.Errorf("%d rings were made for %d counters at a time", rings, atATime)
	}
}

// However many windows a plan has had, each is counted by itself and forgotten in its time.
func TestMemoryCountsManyWindowsApart(t *testing.T) {
	t.Parallel()
	clock := newFakeTime()
	m := NewMemory(clock.now)
	const windows = 3 * scanned
	for before := range 3 {
		for seconds := 1; seconds <= windows; seconds++ {
			if d := mustTake(t, m, tokenLimit(1, 2, time.Duration(seconds)*time.Second)); d.Admitted != (before < 2) {
				t.Errorf("request %d of two in the window of %d seconds: admitted is %v", before+1, seconds, d.Admitted)
			}
		}
	}
	clock.at = clock.at.Add(windows / 2 * time.Second)
	m.Sweep()
	if kept := m.keys.Load(); kept != windows/2 {
		t.Errorf("%d counters are kept, %d count something", kept, windows/2)
	}
}
