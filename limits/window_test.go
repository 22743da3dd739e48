package limits

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// event is an admitted request of the slow model: when it came in true time, and what it weighed.
type event struct {
	at   time.Duration
	cost int64
}

// slowLog is the exact log: it forgets nothing and adds up at every question.
type slowLog []event

func (s slowLog) within(now, period time.Duration) (sum int64) {
	for _, e := range s {
		if e.at > now-period {
			sum += e.cost
		}
	}
	return sum
}

// wait is how long until cost fits under the figure, if nothing else comes.
func (s slowLog) wait(now, period time.Duration, cost, figure int64) time.Duration {
	if s.within(now, period)+cost <= figure {
		return 0
	}
	for _, e := range s {
		if opens := e.at + period; opens > now && s.within(opens, period)+cost <= figure {
			return opens - now
		}
	}
	return -1
}

func drawPeriod() *rapid.Generator[time.Duration] {
	return rapid.SampledFrom([]time.Duration{
		time.Millisecond, 5 * time.Millisecond, 126 * time.Millisecond, 128 * time.Millisecond, time.Second,
		time.Minute, 7 * time.Minute, time.Hour, 24 * time.Hour, coarseFrom, coarseFrom + time.Second, MaxWindow,
	})
}

// drawPause is now and then longer than a window, often a tiny part of one, and seldom a round number.
func drawPause(period time.Duration) *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.Just(time.Duration(0)),
		rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(period/300)).Draw(t, "ns"))
		}),
		rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(period/5)).Draw(t, "ns"))
		}),
		rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(3*period)).Draw(t, "ns"))
		}),
	)
}

// TestWindowAgainstTheExactLog: whatever comes at whatever moments, with whatever weights, while the figure changes
// and the clock steps back and forward, never more than the figure is admitted in any window of true time; where the
// clock runs ahead of that, in any window of the latest reading. A refusal changes nothing. The wait is the first moment
// at which the request fits. Where the clock never steps back it is at most a quantum and a tick longer than
// that of the exact log, which forgets nothing.
func TestWindowAgainstTheExactLog(t *testing.T) {
	t.Parallel()
	rapid.Check(t, windowAgainstTheExactLog)
}

func FuzzWindowAgainstTheExactLog(f *testing.F) {
	addSeeds(f)
	f.Fuzz(rapid.MakeFuzz(windowAgainstTheExactLog))
}

// addSeeds begins with bytes of no meaning, enough of them for whole sequences.
func addSeeds(f *testing.F) {
	for seed := range byte(4) {
		bytes := make([]byte, 1<<16)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(bytes)
		f.Add(bytes)
	}
}

func windowAgainstTheExactLog(t *rapid.T) {
	period := drawPeriod().Draw(t, "period")
	s := spanOf(period)
	back, forward := rapid.Bool().Draw(t, "the clock steps back"), rapid.Bool().Draw(t, "the clock steps forward")
	// The reading of the clock at true time 0; readings below 0 are readings too.
	offset := time.Duration(rapid.Int64Range(-int64(period), int64(2*period)).Draw(t, "offset"))
	figure := rapid.Int64Range(1, 400).Draw(t, "figure")
	var now time.Duration
	latest := time.Duration(math.MinInt64) // reading at which something was admitted
	var byClock, byTime slowLog
	var w window
	for range rapid.IntRange(1, 300).Draw(t, "arrivals") {
		now += drawPause(period).Draw(t, "pause")
		if back && rapid.IntRange(0, 20).Draw(t, "step") == 0 {
			offset -= time.Duration(rapid.Int64Range(0, int64(2*period)).Draw(t, "back"))
		}
		if forward && rapid.IntRange(0, 20).Draw(t, "step") == 0 {
			offset += time.Duration(rapid.Int64Range(0, int64(2*period)).Draw(t, "forward"))
		}
		if rapid.IntRange(0, 30).Draw(t, "change") == 0 {
			figure = rapid.Int64Range(1, 400).Draw(t, "figure")
		}
		cost := rapid.Int64Range(1, min(figure, 9)).Draw(t, "cost")
		l := &Limit{Plan: AccountRead, Rate: Rate{Limit: figure, Period: period}, Cost: cost}
		m := momentOf(int64(now+offset), s)
		before := w.clone()
		wait := waitFor(l, &w, &m)
		if wait == 0 {
			w.charge(&m, cost)
			latest = max(latest, now+offset)
			byClock, byTime = append(byClock, event{latest, cost}), append(byTime, event{now, cost})
			if sum := byClock.within(latest, period); sum > figure {
				t.Fatalf("%d units were admitted within %v of readings; the figure is %d", sum, period, figure)
			}
			if sum := byTime.within(now, period); sum > figure && !forward {
				t.Fatalf("%d units were admitted within %v; the figure is %d", sum, period, figure)
			}
		} else {
			checkWait(t, l, &w, m, wait)
			if late := wait - byClock.wait(now+offset, period, cost, figure); !back && late > period/resolution+time.Duration(s.tick) {
				t.Fatalf("told to wait %v longer than the exact log would", late)
			}
		}
		checkStand(t, &w, standOf(l, &w, &m, wait), m, figure)
		if wait != 0 && !reflect.DeepEqual(before, w) {
			t.Fatalf("a refusal made %+v of %+v", w, before)
		}
		if int(w.size) > resolution+1 || len(w.ring) > resolution+1 {
			t.Fatalf("%d quanta, ring of %d", w.size, len(w.ring))
		}
	}
}

// checkWait: at the moment told there is room, and a nanosecond earlier there is none.
func checkWait(t *rapid.T, l *Limit, w *window, m moment, wait time.Duration) {
	if waitFor(l, w, later(m, wait)) != 0 {
		t.Fatalf("told to wait %v, and then refused", wait)
	}
	if waitFor(l, w, later(m, wait-1)) == 0 {
		t.Fatalf("told to wait %v, although less would do", wait)
	}
}

// later is the reading of the same clock after a while.
func later(m moment, by time.Duration) *moment {
	m = momentOf(m.now+int64(by), m.span)
	return &m
}

// checkStand asks the log itself at the moments that a state tells.
func checkStand(t *rapid.T, w *window, st stand, m moment, figure int64) {
	if st.used == 0 {
		if st.next != 0 || st.whole != 0 {
			t.Fatalf("nothing is counted, yet next %v, whole %v", st.next, st.whole)
		}
		return
	}
	used := func(in time.Duration) int64 { _, used := w.look(later(m, in)); return used }
	remaining := func(in time.Duration) int64 { return max(0, figure-used(in)) }
	if grown, before := remaining(st.next), remaining(st.next-1); grown <= before || before != remaining(0) {
		t.Fatalf("remaining is %d just before the moment told and %d at it", before, grown)
	}
	if left := used(st.whole); left != 0 {
		t.Fatalf("%d units are counted when nothing should be", left)
	}
	if used(st.whole-1) == 0 {
		t.Fatal("nothing is counted earlier than told")
	}
}

// TestWindowOfALongLife: stamps are 32 bits wide, and a counter may live for years.
func TestWindowOfALongLife(t *testing.T) {
	t.Parallel()
	for _, period := range []time.Duration{24 * time.Hour, coarseFrom, MaxWindow} {
		s := spanOf(period)
		l := &Limit{Plan: AccountRead, Rate: Rate{Limit: 100, Period: period}, Cost: 1}
		var w window
		var exact slowLog
		// Never idle: a request at every hundredth of a window, and a burst now and then, for 20 years or more.
		for now := time.Duration(0); now < max(20*366*24*time.Hour, 10*period); now += period/100 + time.Hour {
			m := momentOf(int64(now), s)
			if waitFor(l, &w, &m) != 0 {
				continue
			}
			w.charge(&m, 1)
			exact = append(exact, event{now, 1})
			exact = exact[max(0, len(exact)-200):]
			if sum := exact.within(now, period); sum > 100 {
				t.Fatalf("%v: %d units within a window after %v", period, sum, now)
			}
			if _, used := w.look(&m); used < exact.within(now, period) {
				t.Fatalf("%v: the log counts %d after %v, the exact one %d", period, used, now, exact.within(now, period))
			}
		}
		if w.base == 0 {
			t.Errorf("%v: the log was never rebased", period)
		}
	}
}

// A log that was written down and is read again is the same log.
func TestWindowOfItsQuanta(t *testing.T) {
	t.Parallel()
	var w window
	l := &Limit{Plan: AccountRead, Rate: Rate{Limit: 1000, Period: time.Minute}, Cost: 1}
	for now := time.Duration(0); now < 3*time.Minute; now += 700 * time.Millisecond {
		m := momentOf(int64(now), spanOf(time.Minute))
		var quanta []quantum
		for i := range int(w.size) {
			quanta = append(quanta, *w.at(i))
		}
		read := windowOf(w.base, quanta)
		if got, want := standOf(l, &read, &m, 0), standOf(l, &w, &m, 0); got != want {
			t.Fatalf("%d quanta read again tell %+v, want %+v", len(quanta), got, want)
		}
		w.charge(&m, 1)
	}
}

func TestFloorDivRoundsDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want int64 }{{7, 3, 2}, {6, 3, 2}, {0, 3, 0}, {-1, 3, -1}, {-3, 3, -1}, {-4, 3, -2}} {
		if got := floorDiv(c.a, c.b); got != c.want {
			t.Errorf("floorDiv(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
