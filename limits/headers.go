package limits

import (
	"net/http"
	"strconv"
	"time"
)

// Headers is how every answer tells where its caller stands, after a decision, a refusal or a peek:
//
//   - X-RateLimit-Limit, -Remaining and -Reset tell of the limit with the fewest units left; of several, the one with
//     the longest wait. Reset is the moment at which the remaining count next grows, in epoch seconds rounded up.
//   - RateLimit-Policy and RateLimit name every limit of the stack, as in draft-ietf-httpapi-ratelimit-headers-11:
//     q and w are figure and window in seconds, r is what remains and t the seconds until that next grows.
//   - A refusal's Retry-After is the longest wait. Then the t of a limit that refuses is its own wait, so that the
//     binding one's is Retry-After, and Reset lies Retry-After from now. Where waiting does not help it is left out.
//
// Without states there is nothing to tell, and no header.
func Headers(states []State, refused bool, now time.Time) http.Header {
	h := make(http.Header, 6)
	if len(states) == 0 {
		return h
	}
	tightest := &states[tightestOf(states)]
	reset := secondsUp(now.UnixNano() + int64(tightest.Next))
	if refused {
		if seconds := retryAfter(states); seconds > 0 {
			h.Set("Retry-After", strconv.FormatInt(seconds, 10))
			reset = secondsUp(now.UnixNano()) + seconds
		}
	}
	h.Set("X-RateLimit-Limit", strconv.FormatInt(tightest.Context.Limit, 10))
	h.Set("X-RateLimit-Remaining", strconv.FormatInt(tightest.Context.Remaining, 10))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(reset, 10))
	policies := make([]byte, 0, 48*len(states))
	limits := make([]byte, 0, 48*len(states))
	for i := range states {
		if i > 0 {
			policies, limits = append(policies, ", "...), append(limits, ", "...)
		}
		name := ShownName(states, i)
		policies = item(policies, name, 'q', states[i].Context.Limit, 'w', wholeSeconds(states[i].Rate.Period))
		limits = item(limits, name, 'r', states[i].Context.Remaining, 't', wholeSeconds(growsIn(&states[i])))
	}
	h.Set("RateLimit-Policy", string(policies))
	h.Set("RateLimit", string(limits))
	return h
}

// growsIn is the wait that a limit shows: the request's own where the limit refuses it and waiting helps.
func growsIn(state *State) time.Duration {
	if state.Wait > 0 {
		return state.Wait
	}
	return state.Next
}

// tightestOf is the index of the state that X-RateLimit-* tell of.
func tightestOf(states []State) int {
	tightest := 0
	for i := range states {
		if tighter(&states[i], &states[tightest]) {
			tightest = i
		}
	}
	return tightest
}

func tighter(a, b *State) bool {
	if a.Context.Remaining != b.Context.Remaining {
		return a.Context.Remaining < b.Context.Remaining
	}
	if a.Context.Reached != b.Context.Reached {
		return a.Context.Reached
	}
	if x, y := wholeSeconds(growsIn(a)), wholeSeconds(growsIn(b)); x != y {
		return x > y
	}
	return a.Plan.precedence() < b.Plan.precedence()
}

// item appends one member of a list of structured fields: a string with two integer parameters. Names of plans need
// no escape.
func item(b []byte, name string, first byte, x int64, second byte, y int64) []byte {
	b = append(b, '"')
	b = append(b, name...)
	b = append(b, '"', ';', first, '=')
	b = strconv.AppendInt(b, x, 10)
	b = append(b, ';', second, '=')
	return strconv.AppendInt(b, y, 10)
}
