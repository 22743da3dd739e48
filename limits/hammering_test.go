package limits

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHammeringChangesNothing is a client that sends ten requests a second against `5 per 10 seconds`, whatever it is
// told, beside one that waits as Retry-After says. The first is admitted whenever an exact log that never saw its
// refusals admits it, within the resolution and one interval of sending; and it is admitted no less often than the
// second.
func TestHammeringChangesNothing(t *testing.T) {
	t.Parallel()
	const period, interval, windows = 10 * time.Second, 100 * time.Millisecond, 60
	rapid.Check(t, func(t *rapid.T) {
		clock := newFakeTime()
		clock.at = clock.at.Add(time.Duration(rapid.Int64Range(0, int64(period)).Draw(t, "offset")))
		m, start := NewMemory(clock.now), clock.at
		hammering, waiting := tokenLimit(1, 5, period), tokenLimit(2, 5, period)
		send := func(stack []Limit) Decision {
			d, err := m.Take(t.Context(), stack, nil)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		var exact slowLog
		var comesBack time.Duration // when the one that waits sends again
		opened := time.Duration(-1) // when the exact log first had room since the last admission
		admitted, patient := 0, 0
		for now := time.Duration(0); now < windows*period; now += interval {
			clock.at = start.Add(now)
			for comesBack <= now {
				if d := send(waiting); d.Admitted {
					patient++
				} else {
					comesBack = now + time.Duration(wholeSeconds(d.States[0].Wait))*time.Second
				}
			}
			room := exact.within(now, period) < 5
			if room && opened < 0 {
				opened = now
			}
			switch d := send(hammering); {
			case d.Admitted && !room:
				t.Fatalf("admitted at %v, where the exact log has no room", now)
			case d.Admitted:
				admitted, exact, opened = admitted+1, append(exact, event{now, 1}), -1
			case room && now-opened > period/resolution+time.Millisecond+interval:
				t.Fatalf("refused at %v, where the exact log has had room since %v", now, opened)
			}
		}
		if admitted < patient {
			t.Fatalf("%d were admitted of the client that hammers, %d of the one that waits", admitted, patient)
		}
	})
}
