package limits

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestMemoryAgainstExactLogs gives a Memory stacks of many keys, with peeks, sweeps, resets and clock steps between
// them and mostly too little room, and keeps an exact log of every key. No key passes more than its figure in any
// window; refusals and peeks change nothing; the wait is true, and where there is room and the clock never stepped
// back, at most a quantum and a tick too long.
func TestMemoryAgainstExactLogs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, memoryAgainstExactLogs)
}

func FuzzMemoryAgainstExactLogs(f *testing.F) {
	addSeeds(f)
	f.Fuzz(rapid.MakeFuzz(memoryAgainstExactLogs))
}

// exactMemory is a Memory and what an exact one would remember.
type exactMemory struct {
	*rapid.T
	memory *Memory
	clock  *fakeTime
	start  time.Time
	bound  int
	steps  int                // of the clock: -1 back, 1 forward, 0 none
	back   time.Duration      // by how much the clock is behind true time
	logs   map[string]slowLog // by counter
}

func memoryAgainstExactLogs(t *rapid.T) {
	clock := newFakeTime()
	e := &exactMemory{T: t, clock: clock, start: clock.at, logs: map[string]slowLog{}}
	e.bound = rapid.SampledFrom([]int{1, 3, 12, DefaultMaxKeys}).Draw(t, "bound")
	e.steps = rapid.IntRange(-1, 1).Draw(t, "steps")
	e.memory = NewMemoryOf(clock.now, e.bound)
	for range rapid.IntRange(1, 150).Draw(t, "arrivals") {
		e.pass()
		switch rapid.IntRange(0, 12).Draw(t, "what") {
		case 0:
			e.memory.Sweep()
		case 1:
			e.forget()
		default:
			e.take(e.stack())
		}
		if kept := e.memory.keys.Load(); kept > int64(e.bound) {
			t.Fatalf("%d counters are kept; the bound is %d", kept, e.bound)
		}
	}
	clock.at = clock.at.Add(e.back + 2*time.Hour)
	e.memory.Sweep()
	if kept := e.memory.keys.Load(); kept != 0 {
		t.Fatalf("%d counters are kept when nothing is counted", kept)
	}
}

// now is true time. A clock that steps forward is taken to be true: nothing that goes by it could know better.
func (e *exactMemory) now() time.Duration { return e.clock.at.Sub(e.start) + e.back }

// pass lets time go by; the clock may step.
func (e *exactMemory) pass() {
	period := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(e.T, "scale")
	e.clock.at = e.clock.at.Add(drawPause(period).Draw(e.T, "pause"))
	if e.steps == 0 || rapid.IntRange(0, 20).Draw(e.T, "clock") > 0 {
		return
	}
	step := time.Duration(rapid.Int64Range(0, int64(2*period)).Draw(e.T, "step"))
	e.clock.at = e.clock.at.Add(time.Duration(e.steps) * step)
	if e.steps < 0 {
		e.back += step
	}
}

func (e *exactMemory) stack() []Limit {
	stack := make([]Limit, rapid.IntRange(1, 4).Draw(e.T, "limits"))
	for i := range stack {
		l := fromAddress(rapid.IntRange(0, 5).Draw(e.T, "address"), 0, time.Minute)[0]
		if rapid.Bool().Draw(e.T, "of a token") {
			l = tokenLimit(rapid.IntRange(0, 5).Draw(e.T, "token"), 0, time.Minute)[0]
		}
		l.Rate.Limit = rapid.Int64Range(1, 12).Draw(e.T, "figure")
		l.Rate.Period = rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(e.T, "period")
		l.Cost = rapid.Int64Range(1, min(4, l.Rate.Limit)).Draw(e.T, "cost")
		stack[i] = l
	}
	return stack
}

func nameOf(l *Limit) string { return l.String() + " " + l.Rate.Period.String() }

func (e *exactMemory) forget() {
	l := e.stack()[0]
	if err := e.memory.Forget(e.Context(), l); err != nil {
		e.Fatal(err)
	}
	delete(e.logs, nameOf(&l))
}

// peek tells how much remains, and until when.
func (e *exactMemory) peek(stack []Limit) []stand {
	states, err := e.memory.Peek(e.Context(), stack)
	if err != nil {
		e.Fatal(err)
	}
	stands := make([]stand, len(states))
	for i, s := range states {
		stands[i] = stand{used: s.Context.Limit - s.Context.Remaining, next: s.Next, whole: s.Whole}
	}
	return stands
}

// common tells that newcomers are counted in common. Then a key whose counter was idle may have become one of them,
// and be refused early.
func (e *exactMemory) common() bool { return e.memory.overflow.live.Load() }

func (e *exactMemory) take(stack []Limit) {
	before := e.peek(stack)
	d, err := e.memory.Take(e.Context(), stack, nil)
	if err != nil {
		e.Fatal(err)
	}
	if d.Admitted {
		e.admitted(stack)
		return
	}
	if after := e.peek(stack); !slices.Equal(before, after) && !e.common() {
		e.Fatalf("a refusal made %+v of %+v", after, before)
	}
	e.refused(stack, d)
}

func (e *exactMemory) admitted(stack []Limit) {
	charged := map[string]bool{}
	for i := range stack {
		l, name := &stack[i], nameOf(&stack[i])
		if charged[name] {
			continue // judged by what it weighs itself, charged with what the first weighs
		}
		charged[name] = true
		e.logs[name] = append(e.logs[name], event{e.now(), l.Cost})
		if sum := e.logs[name].within(e.now(), l.Rate.Period); sum > l.Rate.Limit {
			e.Fatalf("%s passed %d units within a window; the figure is %d", name, sum, l.Rate.Limit)
		}
	}
}

// refused looks how late the waits are, and at times comes back as told.
func (e *exactMemory) refused(stack []Limit, d Decision) {
	var longest time.Duration
	for i := range stack {
		l, wait := &stack[i], d.States[i].Wait
		longest = max(longest, wait)
		exact := e.logs[nameOf(l)].wait(e.now(), l.Rate.Period, l.Cost, l.Rate.Limit)
		if late := wait - exact; wait > 0 && e.steps >= 0 && e.bound == DefaultMaxKeys && late > l.Rate.Period/resolution+time.Millisecond {
			e.Fatalf("%s is told to wait %v, %v longer than an exact log would", nameOf(l), wait, late)
		}
	}
	if rapid.Bool().Draw(e.T, "comes back as told") {
		e.clock.at = e.clock.at.Add(longest)
		again, err := e.memory.Take(e.Context(), stack, nil)
		switch {
		case err != nil:
			e.Fatal(err)
		case again.Admitted:
			e.admitted(stack)
		case !e.common():
			e.Fatalf("told to wait %v, and then refused", longest)
		}
	}
}
