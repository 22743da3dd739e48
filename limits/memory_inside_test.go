package limits

import (
	"encoding/binary"
	"net/netip"
	"runtime"
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
		if m.shards[shardOf(&l)].counters[keyOf(&l)] == nil {
			t.Errorf("%s has no counter of its own although there was room", l)
		}
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
	if m.shards[shardOf(&l)].counters[keyOf(&l)] == nil {
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

// TestMemoryForgetsTheIdle: a flood of addresses leaves nothing behind, neither while it goes on nor afterwards.
// It measures the heap, and so it runs alone.
func TestMemoryForgetsTheIdle(t *testing.T) {
	clock := newFakeTime()
	m := NewMemory(clock.now)
	empty := heap()
	const perWindow = 20_000
	for n := range 10 * perWindow {
		mustTake(t, m, fromAddress(n, 5, time.Second))
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

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestMemoryUnderEveryKindOfCall exists for the race detector: decisions at the bound, peeks, sweeps and leases.
func TestMemoryUnderEveryKindOfCall(t *testing.T) {
	t.Parallel()
	m := NewMemoryOf(time.Now, 40)
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for n := range 500 {
				stack := append(fromAddress((n*7+g)%100, 3, 20*time.Millisecond), benchStack(int64(n%20))...)
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

// benchStack is the stack of a read request: the account's limit and the token's, too high to bind.
func benchStack(token int64) []Limit {
	return []Limit{
		{Plan: AccountRead, Key: Key{Org: 1, ID: token / 4}, Rate: Rate{Limit: 1_000_000_000, Period: time.Minute}, Cost: 1},
		{Plan: TokenRead, Key: Key{Org: 1, ID: token}, Rate: Rate{Limit: 1_000_000_000, Period: time.Minute}, Cost: 1},
	}
}

func TestADecisionAllocatesItsAnswerOnly(t *testing.T) {
	m := NewMemory(time.Now)
	stack := benchStack(17)
	mustTake(t, m, stack)
	if n := testing.AllocsPerRun(1000, func() { mustTake(t, m, stack) }); n > 1 {
		t.Errorf("a decision makes %v allocations; its states are one", n)
	}
}

func BenchmarkMemoryTake(b *testing.B) {
	for _, keys := range []int64{1, 100_000} {
		name := map[int64]string{1: "one_key", 100_000: "100000_keys"}[keys]
		m := NewMemory(time.Now)
		for token := range keys {
			mustTake(b, m, benchStack(token))
		}
		b.Run(name+"/serial", func(b *testing.B) {
			b.ReportAllocs()
			ctx, stack, x := b.Context(), benchStack(17), uint64(88172645463325252)
			for b.Loop() {
				x = aim(stack, x, keys)
				_, _ = m.Take(ctx, stack, nil)
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				ctx, stack, x := b.Context(), benchStack(17), uint64(time.Now().UnixNano())|1
				for pb.Next() {
					x = aim(stack, x, keys)
					_, _ = m.Take(ctx, stack, nil)
				}
			})
		})
	}
}

// aim points the stack at the next of so many tokens, in no order.
func aim(stack []Limit, x uint64, keys int64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	token := int64(x % uint64(keys))
	stack[0].Key.ID, stack[1].Key.ID = token/4, token
	return x
}
