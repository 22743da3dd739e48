package limitstest

import (
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
)

// moment bounds when a store looked at its clock: between the two readings.
type moment struct{ from, to time.Time }

func at(s Subject, do func()) moment {
	m := moment{from: s.Now()}
	do()
	m.to = s.Now()
	return m
}

// neverMore sends twice the figure in each third of a window, over three windows. Between the first and the last of
// any figure+1 admitted requests there must lie a whole window, wherever windows are thought to begin.
func neverMore(t *testing.T, s Subject) {
	const figure = 6
	l := one(limits.AccountRead, account5, per(figure, s.Window))
	var admitted []moment
	for end := s.Now().Add(3 * s.Window); s.Now().Before(end); s.Wait(s.Window / 17) {
		for range 2 {
			var d limits.Decision
			m := at(s, func() { d = take(t, s, l) })
			if d.Admitted {
				admitted = append(admitted, m)
			}
		}
	}
	for i := figure; i < len(admitted); i++ {
		if apart := admitted[i].to.Sub(admitted[i-figure].from); apart < s.Window {
			t.Errorf("requests %d to %d were admitted within %v; a window is %v", i-figure, i, apart, s.Window)
		}
	}
	if len(admitted) < 2*figure {
		t.Errorf("only %d requests were admitted in three windows of %d", len(admitted), figure)
	}
}

func refusalsChangeNothing(t *testing.T, s Subject) {
	account := one(limits.AccountRead, account5, per(3, time.Minute))
	token := one(limits.TokenRead, token17, per(9, time.Minute))
	fill(t, s, 3, account, token)
	before := refused(t, s, account, token)
	for range 50 {
		refused(t, s, account, token)
	}
	after := refused(t, s, account, token)
	for i := range before.States {
		if before.States[i].Context.Remaining != after.States[i].Context.Remaining {
			t.Errorf("%s: remaining went from %d to %d by refusals", before.States[i].Limit,
				before.States[i].Context.Remaining, after.States[i].Context.Remaining)
		}
	}
	if b, a := before.States[0].Wait, after.States[0].Wait; a > b {
		t.Errorf("the wait grew from %v to %v by refusals", b, a)
	}
}

func hammering(t *testing.T, s Subject) {
	patient := one(limits.AccountRead, account5, per(2, s.Window))
	hasty := one(limits.AccountRead, limits.Key{Org: 3, ID: 6}, per(2, s.Window))
	fill(t, s, 2, patient, hasty)
	opens := refused(t, s, patient).States[0].Wait
	for start := s.Now(); s.Now().Sub(start) < opens; s.Wait(s.Window / 40) {
		take(t, s, hasty)
	}
	if d := take(t, s, hasty); !d.Admitted {
		t.Errorf("the client that hammered must wait %v longer than the one that waited", d.States[0].Wait)
	}
	fill(t, s, 1, patient)
}

// waitIsKept fills a window at different moments within it, is refused, and waits as told. The moment told must not
// come before the first request has left, nor later than the resolution allows, and then the request must pass.
func waitIsKept(t *testing.T, s Subject) {
	l := one(limits.AccountRead, account5, per(4, s.Window))
	lateAtMost := s.Window/127 + time.Millisecond
	for round := range 3 {
		var filled [4]moment
		for i := range filled {
			filled[i] = at(s, func() { fill(t, s, 1, l) })
			s.Wait(s.Window / time.Duration(9+5*round))
		}
		var d limits.Decision
		looked := at(s, func() { d = refused(t, s, weighing(3, l)) })
		// Three more units fit when the third request has left.
		wait, third := d.States[0].Wait, filled[2]
		if opens := looked.to.Add(wait); opens.Before(third.from.Add(s.Window)) {
			t.Errorf("told to come back %v too early", third.from.Add(s.Window).Sub(opens))
		}
		if opens := looked.from.Add(wait); opens.After(third.to.Add(s.Window + lateAtMost)) {
			t.Errorf("told to come back %v later than the resolution allows", opens.Sub(third.to.Add(s.Window+lateAtMost)))
		}
		s.Wait(wait)
		fill(t, s, 1, weighing(3, l))
		s.Wait(s.Window + lateAtMost)
	}
}

func changedFigure(t *testing.T, s Subject) {
	with := func(figure int64) limits.Limit { return one(limits.UserAI, account5, per(figure, time.Minute)) }
	fill(t, s, 4, with(4))
	refused(t, s, with(4))
	fill(t, s, 3, with(7))
	refused(t, s, with(7))
	if d := refused(t, s, with(2)); d.States[0].Context.Remaining != 0 || d.States[0].Context.Limit != 2 {
		t.Errorf("after lowering: %+v", d.States[0].Context)
	}
	if d := take(t, s, with(100)); !d.Admitted || d.States[0].Context.Remaining != 92 {
		t.Errorf("after raising: admitted %v, %+v", d.Admitted, d.States[0].Context)
	}
}

// states spreads three requests and compares what is told with what was done.
func states(t *testing.T, s Subject) {
	l := one(limits.AccountRead, account5, per(10, time.Minute))
	if left := remaining(t, s, l); left[0] != 10 {
		t.Errorf("before anything: %d left of 10", left[0])
	}
	first := at(s, func() { fill(t, s, 1, l) })
	s.Wait(20 * time.Millisecond)
	var d limits.Decision
	last := at(s, func() { d = take(t, s, weighing(2, l)) })
	state := d.States[0]
	if state.Context.Limit != 10 || state.Context.Remaining != 7 || state.Context.Reached || state.Wait != 0 {
		t.Errorf("after 1 and 2 of 10: %+v, wait %v", state.Context, state.Wait)
	}
	// A quantum of a minute is 473 ms: the second request may share the first one's.
	quantum := time.Minute/127 + 2*time.Millisecond
	within(t, "next", last, state.Next, first.from.Add(time.Minute), first.to.Add(time.Minute+quantum))
	within(t, "whole", last, state.Whole, last.from.Add(time.Minute), last.to.Add(time.Minute+quantum))
	if reset := state.Context.Reset; reset <= 0 {
		t.Errorf("reset is %d", reset)
	}
}

// within checks that a wait told at some moment ends between two others.
func within(t *testing.T, what string, told moment, wait time.Duration, from, to time.Time) {
	t.Helper()
	if told.to.Add(wait).Before(from) || told.from.Add(wait).After(to) {
		t.Errorf("%s is %v, which ends outside %v to %v", what, wait, from.Sub(told.from), to.Sub(told.from))
	}
}

func peek(t *testing.T, s Subject) {
	l := weighing(4, one(limits.AccountRead, account5, per(4, time.Minute)))
	for range 20 {
		if left := remaining(t, s, l); left[0] != 4 {
			t.Fatalf("%d left of 4 after peeks alone", left[0])
		}
	}
	fill(t, s, 1, l)
	for range 20 {
		if left := remaining(t, s, l); left[0] != 0 {
			t.Fatalf("%d left of 4 after 4", left[0])
		}
	}
	states, err := s.Store.Peek(t.Context(), []limits.Limit{l})
	if err != nil || states[0].Wait != 0 || states[0].Context.Reached || states[0].Next <= 0 || states[0].Whole < states[0].Next {
		t.Errorf("a peek at an exhausted limit refuses nothing and tells when it grows: %+v, %v", states, err)
	}
}
