package limits

import "time"

// waitFor is how long a request must wait for room in one limit: 0 if there is room, negative if there can be none.
// It is the true wait: the moment at which enough of what is counted has left, if nothing else comes.
func waitFor(l *Limit, w *window, m *moment) time.Duration {
	if l.Cost > l.Rate.Limit {
		return -1
	}
	gone, used := w.look(m)
	if over := used + l.Cost - l.Rate.Limit; over > 0 {
		return w.until(m, gone, over)
	}
	return 0
}

// stand is how a counter looks in one limit.
type stand struct {
	used              int64
	wait, next, whole time.Duration
}

func standOf(l *Limit, w *window, m *moment, wait time.Duration) stand {
	gone, used := w.look(m)
	st := stand{used: used, wait: wait}
	if used > 0 {
		// Where the figure was lowered below what is counted, remaining grows only when that has sunk below it.
		st.next = w.until(m, gone, max(1, used+1-l.Rate.Limit))
		st.whole = w.whole(m)
	}
	return st
}

// state puts a stand into words. It writes in place: states are large, and a decision is counted in nanoseconds.
func (st stand) state(state *State, l *Limit, wall time.Time) {
	state.Limit = *l
	state.Context.Limit = l.Rate.Limit
	state.Context.Remaining = max(0, l.Rate.Limit-st.used)
	state.Context.Reset = secondsUp(wall.UnixNano() + int64(st.next))
	state.Context.Reached = st.wait != 0
	state.Wait, state.Next, state.Whole = st.wait, st.next, st.whole
}

// statesIn is so many states, in the caller's room where that suffices. All of their fields are written by the store.
func statesIn(room []State, n int) []State {
	if cap(room) < n {
		return make([]State, n)
	}
	return room[:n]
}

// bindingOf is the index of the state that a refusal names; -1 when none refuses.
func bindingOf(states []State) int {
	binding := -1
	for i := range states {
		if states[i].Context.Reached && (binding < 0 || stricter(&states[i], &states[binding])) {
			binding = i
		}
	}
	return binding
}

// stricter reports whether a refusal names a rather than b. Waits are compared as they are shown.
func stricter(a, b *State) bool {
	if (a.Wait < 0) != (b.Wait < 0) {
		return a.Wait < 0
	}
	if x, y := wholeSeconds(a.Wait), wholeSeconds(b.Wait); x != y {
		return x > y
	}
	return a.Plan.precedence() < b.Plan.precedence()
}

// wholeSeconds rounds up.
func wholeSeconds(d time.Duration) int64 { return secondsUp(int64(d)) }

func secondsUp(nanoseconds int64) int64 { return -floorDiv(-nanoseconds, int64(time.Second)) }
