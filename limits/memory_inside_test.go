package limits

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fakeTime is a clock that a single goroutine moves.
type fakeTime struct{ at time.Time }

func newFakeTime() *fakeTime { return &fakeTime{at: time.Unix(1790000000, 0)} }

func (f *fakeTime) now() time.Time { return f.at }

// fromAddress is a request from the n-th address.
func fromAddress(n int, figure int64, period time.Duration) []Limit {
	var b [16]byte
	b[0] = 0x20
	binary.BigEndian.PutUint32(b[4:], uint32(n))
	return []Limit{{Plan: AuthFailures, Key: Key{Addr: netip.AddrFrom16(b)}, Rate: Rate{Limit: figure, Period: period}, Cost: 1}}
}

// hasOwn reports whether a limit's counter is kept, and not shared at the bound.
func hasOwn(m *Memory, l *Limit) bool {
	number, _ := m.kinds.of(l)
	s, key := &m.shards[m.shardOf(l)], keyOf(l, number)
	return s.find(&key, hashOf(m.seed, key)) >= 0
}

func mustTake(t testing.TB, m *Memory, stack []Limit) Decision {
	t.Helper()
	d, err := m.Take(t.Context(), stack, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// At the bound live counters are kept, and newcomers of a plan share one figure: they are counted, all of them.
func TestMemoryAtItsBound(t *testing.T) {
	t.Parallel()
	clock := newFakeTime()
	m := NewMemoryOf(clock.now, 3)
	for n := range 3 {
		mustTake(t, m, fromAddress(n, 2, time.Minute))
		mustTake(t, m, fromAddress(n, 2, time.Minute))
	}
	for n := 3; n < 5; n++ {
		if !mustTake(t, m, fromAddress(n, 2, time.Minute)).Admitted {
			t.Errorf("newcomer %d was refused although their common figure is not used up", n)
		}
	}
	for n := range 100 {
		if mustTake(t, m, fromAddress(n, 2, time.Minute)).Admitted {
			t.Errorf("address %d was admitted once too often", n)
		}
	}
	other := fromAddress(200, 2, time.Minute)
	other[0].Plan = Register
	if !mustTake(t, m, other).Admitted {
		t.Error("newcomers of one plan used up the figure of another's")
	}
	if kept := m.keys.Load(); kept != 3 {
		t.Errorf("%d counters are kept; the bound is 3", kept)
	}
}

// At the bound a newcomer takes the place of an idle counter, also when the idle one stands in its own stack.
func TestMemoryAtItsBoundMakesRoomFirst(t *testing.T) {
	t.Parallel()
	clock := newFakeTime()
	m := NewMemoryOf(clock.now, 2)
	token := func(id, figure int64) Limit {
		return Limit{Plan: TokenRead, Key: Key{Org: 1, ID: id}, Rate: Rate{Limit: figure, Period: time.Minute}, Cost: 1}
	}
	mustTake(t, m, []Limit{token(1, 2), token(2, 2)})
	clock.at = clock.at.Add(2 * time.Minute)
	newcomer := token(3, 9)
	newcomer.Plan = TokenWrite
	stack := []Limit{token(1, 2), newcomer}
	for i, want := range []bool{true, true, false} {
		if got := mustTake(t, m, stack).Admitted; got != want {
			t.Errorf("request %d of two: admitted is %v", i+1, got)
		}
	}
	for _, l := range stack {
		if !hasOwn(m, &l) {
			t.Errorf("%s has no counter of its own although there was room", l)
		}
	}
}

// An entry that names a shared counter again is judged at its own figure all the same.
func TestMemoryAtItsBoundJudgesEveryEntry(t *testing.T) {
	t.Parallel()
	m := NewMemoryOf(newFakeTime().now, 1)
	mustTake(t, m, fromAddress(0, 9, time.Minute))
	lax, strict := fromAddress(1, 9, time.Minute)[0], fromAddress(1, 2, time.Minute)[0]
	for i, want := range []bool{true, true, false} {
		if d := mustTake(t, m, []Limit{lax, strict}); d.Admitted != want || !want && d.Binding != 1 {
			t.Errorf("request %d of two: admitted is %v, binding %d", i+1, d.Admitted, d.Binding)
		}
	}
	states, err := m.Peek(t.Context(), []Limit{lax, strict})
	if err != nil || states[0].Context.Remaining != 7 || states[1].Context.Remaining != 0 {
		t.Errorf("after two of 9 and 2: %+v, %v", states, err)
	}
}

// A newcomer that was counted with the others goes on being counted for that when there is room again; and when what
// they did together has left, everyone has the whole figure.
func TestMemoryBelowItsBoundAgain(t *testing.T) {
	t.Parallel()
	clock := newFakeTime()
	m := NewMemoryOf(clock.now, 1)
	mustTake(t, m, fromAddress(0, 3, time.Minute))
	clock.at = clock.at.Add(30 * time.Second)
	mustTake(t, m, fromAddress(1, 3, time.Minute))
	mustTake(t, m, fromAddress(1, 3, time.Minute))
	clock.at = clock.at.Add(31 * time.Second)
	m.Sweep()
	if d := mustTake(t, m, fromAddress(1, 3, time.Minute)); !d.Admitted || d.States[0].Context.Remaining != 0 {
		t.Errorf("two were counted in common, one alone: admitted %v, %+v", d.Admitted, d.States[0].Context)
	}
	l := fromAddress(1, 3, time.Minute)[0]
	if !hasOwn(m, &l) {
		t.Error("the newcomer has no counter of its own")
	}
	if mustTake(t, m, fromAddress(1, 3, time.Minute)).Admitted {
		t.Error("the fourth of three was admitted")
	}
	clock.at = clock.at.Add(2 * time.Minute)
	m.Sweep()
	if d := mustTake(t, m, fromAddress(2, 3, time.Minute)); d.States[0].Context.Remaining != 2 {
		t.Errorf("after two windows a newcomer has %d left, want 2", d.States[0].Context.Remaining)
	}
	if m.overflow.live.Load() {
		t.Error("the common counter outlives what it counted")
	}
}

// TestMemoryNeverPassesUncounted: with room for two counters, whatever is kept in common or alone, no key passes more
// than its figure in any window.
func TestMemoryNeverPassesUncounted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const figure, period = 3, time.Minute
		clock := newFakeTime()
		start := clock.at
		m := NewMemoryOf(clock.now, 2)
		passed := map[int]slowLog{}
		for range rapid.IntRange(1, 200).Draw(t, "arrivals") {
			clock.at = clock.at.Add(drawPause(period/2).Draw(t, "pause"))
			n := rapid.IntRange(0, 5).Draw(t, "address")
			d, err := m.Take(t.Context(), fromAddress(n, figure, period), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !d.Admitted {
				continue
			}
			now := clock.at.Sub(start)
			passed[n] = append(passed[n], event{now, 1})
			if sum := passed[n].within(now, period); sum > figure {
				t.Fatalf("address %d passed %d times within a window", n, sum)
			}
			if kept := m.keys.Load(); kept > 2 {
				t.Fatalf("%d counters are kept", kept)
			}
		}
	})
}

// TestMemorySweepsNothingThatCounts: forgetting idle counters while newcomers come is never seen in a decision. The
// other memory is given only what was admitted, and never has to sweep; the two must tell the same.
func TestMemorySweepsNothingThatCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := newFakeTime()
		all := NewMemoryOf(clock.now, rapid.SampledFrom([]int{12, DefaultMaxKeys}).Draw(t, "bound"))
		windows, start := map[string]*window{}, clock.at
		for range rapid.IntRange(1, 200).Draw(t, "arrivals") {
			clock.at = clock.at.Add(drawPause(time.Minute/2).Draw(t, "pause").Truncate(time.Microsecond))
			stack := drawStack(t, time.Minute)
			d, err := all.Take(t.Context(), stack, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := expectedIn(stack, windows, clock.at.Sub(start), d.Admitted)
			for i := range stack {
				got := d.States[i]
				if got.Context.Remaining != max(0, got.Rate.Limit-want[i].used) || got.Next != want[i].next || got.Whole != want[i].whole {
					t.Fatalf("%v: memory tells %d left, next %v, whole %v; without sweeping: %+v", stack[i], got.Context.Remaining, got.Next, got.Whole, want[i])
				}
			}
		}
	})
}

// expectedIn charges what was admitted to logs of their own, and tells how they stand.
func expectedIn(stack []Limit, windows map[string]*window, now time.Duration, admitted bool) []stand {
	m := momentOf(int64(now), spanOf(time.Minute))
	charged := map[string]bool{}
	for i := range stack {
		key := stack[i].String()
		if windows[key] == nil {
			windows[key] = &window{}
		}
		if admitted && !charged[key] {
			windows[key].charge(&m, stack[i].Cost)
			charged[key] = true
		}
	}
	stands := make([]stand, len(stack))
	for i := range stack {
		stands[i] = standOf(&stack[i], windows[stack[i].String()], &m, 0)
	}
	return stands
}

// TestMemoryUnderEveryKindOfCall exists for the race detector: decisions at the bound, peeks, sweeps and leases.
func TestMemoryUnderEveryKindOfCall(t *testing.T) {
	t.Parallel()
	m := NewMemoryOf(time.Now, 40)
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for n := range 500 {
				stack := append(fromAddress((n*7+g)%100, 3, 20*time.Millisecond), benchLimits(int64(n%20), 2)...)
				mustTake(t, m, stack)
				if _, err := m.Peek(t.Context(), stack); err != nil {
					t.Error(err)
				}
				if n%50 == 0 {
					m.Sweep()
				}
				lease, _, _ := m.Acquire(t.Context(), "jobs", 3, time.Millisecond)
				_ = m.Release(t.Context(), lease)
			}
		})
	}
	group.Wait()
	if kept := m.keys.Load(); kept > 40 {
		t.Errorf("%d counters are kept; the bound is 40", kept)
	}
}
