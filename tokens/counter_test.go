package tokens

import (
	"net/netip"
	"testing"
	"time"
)

// The counter that a guard is told of is at most a second old and never stands before a change of this process.
func TestWhichReadingOfTheCounterCounts(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	now := start
	known := &changes{clock: func() time.Time { return now }}
	expect := func(about string, value int64, fresh bool) {
		t.Helper()
		if got, ok := known.known(); ok != fresh || (ok && got != value) {
			t.Errorf("%s: known is %d, %v; want %d, %v", about, got, ok, value, fresh)
		}
	}
	expect("before any reading", 0, false)
	known.read(4, at(0))
	now = at(1000)
	expect("a second later", 4, true)
	now = at(1001)
	expect("more than a second later", 0, false)

	known.raised(7)
	now = at(1100)
	known.read(6, at(900))
	expect("a reading that began before our change", 7, true)
	known.raised(6)
	expect("two changes of ours that report in the other order", 7, true)
	known.read(3, at(1150))
	now = at(1150)
	expect("a database that was restored", 3, true)
}

// Characters are drawn evenly: a draw by remainder alone would make the first eight a quarter likelier.
func TestRandomCharactersAreEven(t *testing.T) {
	t.Parallel()
	const draws = 620_000
	counts := make(map[rune]int)
	for _, r := range random62(draws) {
		counts[r]++
	}
	if len(counts) != 62 {
		t.Errorf("%d different characters", len(counts))
	}
	for r, count := range counts {
		// Expected 10,000 with a deviation of about 100; six of them are a chance of one in 10^9.
		if count < 9_400 || count > 10_600 {
			t.Errorf("%q was drawn %d times of %d", r, count, draws)
		}
	}
}

// The queue is bounded: uses of one token merge, and a use beyond the bound is forgotten.
func TestTheQueueOfUsesIsBounded(t *testing.T) {
	t.Parallel()
	var queue uses
	now := time.Now()
	for id := range int64(maxUses + 50) {
		queue.note(id, use{at: now})
	}
	earlier, later := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	queue.note(3, use{at: now.Add(time.Second), address: later})
	queue.note(3, use{at: now, address: earlier})
	due := queue.takeDue(now)
	if len(due) != maxUses || due[3].address != later {
		t.Errorf("%d uses are queued, token 3's is %+v", len(due), due[3])
	}
	// Within the minute nothing of these is due again; after it, what came meanwhile is.
	queue.note(3, use{at: now.Add(2 * time.Second)})
	if due := queue.takeDue(now.Add(useApart - time.Nanosecond)); len(due) != 0 {
		t.Errorf("within a minute %d uses are due", len(due))
	}
	if due := queue.takeDue(now.Add(useApart)); len(due) != 1 {
		t.Errorf("after a minute %d uses are due", len(due))
	}
}
