package limitstest

import (
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
)

// RunBounded runs the rules of a store that is full. Open makes one that has room for so many counters and nothing
// counted; sweep, where it has one, lets go at once of what counts nothing any more.
func RunBounded(t *testing.T, open func(t *testing.T, counters int) (s Subject, sweep func(t *testing.T))) {
	for _, c := range []struct {
		rule string
		test func(*testing.T, Subject, func(*testing.T))
	}{
		{"at the bound live counters are kept and newcomers share one", newcomersShare},
		{"newcomers of another plan or window share another", newcomersOfAPlanShare},
		{"a newcomer that finds room goes on being counted for what it did", newcomerIsCopied},
		{"at the bound a refusal changes nothing", refusedAtTheBound},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			s, sweep := open(t, boundedTo)
			if sweep == nil {
				sweep = func(*testing.T) {}
			}
			c.test(t, s, sweep)
		})
	}
}

const boundedTo = 3

// ofToken is a limit of one of the organization's tokens.
func ofToken(id, figure int64, window time.Duration) limits.Limit {
	return one(limits.TokenRead, limits.Key{Org: 3, ID: id}, per(figure, window))
}

func newcomersShare(t *testing.T, s Subject, _ func(*testing.T)) {
	for id := range int64(boundedTo) {
		fill(t, s, 1, ofToken(id, 2, time.Hour))
	}
	fill(t, s, 1, ofToken(10, 2, time.Hour))
	fill(t, s, 1, ofToken(11, 2, time.Hour))
	for id := range int64(20) {
		refused(t, s, ofToken(10+id, 2, time.Hour))
	}
	if left := remaining(t, s, ofToken(40, 5, time.Hour)); left[0] != 3 {
		t.Errorf("whoever comes next has %d left of 5, of which 2 were used in common", left[0])
	}
	for id := range int64(boundedTo) {
		fill(t, s, 1, ofToken(id, 2, time.Hour))
		refused(t, s, ofToken(id, 2, time.Hour))
	}
}

func newcomersOfAPlanShare(t *testing.T, s Subject, _ func(*testing.T)) {
	for id := range int64(boundedTo) {
		fill(t, s, 1, ofToken(id, 1, time.Hour))
	}
	fill(t, s, 1, ofToken(10, 1, time.Hour))
	fill(t, s, 1, ofToken(11, 1, time.Minute))
	write := ofToken(12, 1, time.Hour)
	write.Plan = limits.TokenWrite
	fill(t, s, 1, write, ofToken(12, 5, 2*time.Hour), one(limits.AccountRead, account5, per(1, time.Hour)))
	refused(t, s, ofToken(13, 1, time.Hour))
	refused(t, s, ofToken(13, 1, time.Minute))
	write.Key.ID = 13
	refused(t, s, write)
}

// newcomerIsCopied lets the first counters go, so that there is room again.
func newcomerIsCopied(t *testing.T, s Subject, sweep func(*testing.T)) {
	for id := range int64(boundedTo) {
		fill(t, s, 1, ofToken(id, 1, s.Window))
	}
	const long = 6 * time.Hour
	fill(t, s, 3, ofToken(10, 5, long))
	s.Wait(s.Window + s.Window/2)
	sweep(t)
	fill(t, s, 2, ofToken(10, 5, long))
	refused(t, s, ofToken(10, 5, long))
	// It has a counter of its own now: what others do does not count for it, nor what it did last for them.
	fill(t, s, 1, ofToken(11, 4, long))
	if left := remaining(t, s, ofToken(10, 10, long), ofToken(12, 10, long)); left[0] != 5 || left[1] != 7 {
		t.Errorf("left of 10 are %v: to one that came back from the common counter, which has 3, and did 2, and to one that did nothing", left)
	}
}

func refusedAtTheBound(t *testing.T, s Subject, _ func(*testing.T)) {
	for id := range int64(boundedTo) {
		fill(t, s, 1, ofToken(id, 9, time.Hour))
	}
	stack := []limits.Limit{ofToken(10, 9, time.Hour), ofToken(0, 1, time.Hour)}
	for range 5 {
		refused(t, s, stack...)
	}
	if left := remaining(t, s, stack[0]); left[0] != 9 {
		t.Errorf("refusals charged the common counter: %d left of 9", left[0])
	}
	fill(t, s, 9, stack[0])
	refused(t, s, stack[0])
}
