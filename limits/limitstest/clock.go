package limitstest

import (
	"testing"
	"time"
)

// RunSteppedClock runs the rule of a clock that is set back, on a store that goes by one that the test moves. Open
// makes one in which nothing is counted.
func RunSteppedClock(t *testing.T, open func(t *testing.T, clock *Clock) Store) {
	t.Parallel()
	clock := NewClock()
	s := Subject{Store: open(t, clock), Window: time.Minute, Now: clock.Now, Wait: clock.Move}
	for _, back := range []time.Duration{time.Millisecond, time.Second, 40 * time.Second, 3 * time.Minute} {
		l := ofToken(int64(back), 4, s.Window)
		fill(t, s, 3, l)
		clock.Move(-back)
		fill(t, s, 1, l) // counted at the newest moment, though the clock shows an earlier one
		opens := refused(t, s, l).States[0].Wait
		if opens < s.Window+back-time.Millisecond || opens > s.Window+back+s.Window/127+2*time.Millisecond {
			t.Errorf("a minute's window, %v after the clock was set back: told to wait %v", back, opens)
		}
		clock.Move(back + s.Window - 2*time.Millisecond) // a window after the first by the clock, less a little
		refused(t, s, l)
		clock.Move(s.Window/127 + 5*time.Millisecond)
		fill(t, s, 4, l)
	}
}
