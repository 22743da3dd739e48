package limits

import (
	"net/http"
	"strconv"
	"time"
)

// The names of the headers, as net/http keys them.
const (
	headerLimit     = "X-Ratelimit-Limit"
	headerRemaining = "X-Ratelimit-Remaining"
	headerReset     = "X-Ratelimit-Reset"
	headerPolicy    = "Ratelimit-Policy"
	headerLimits    = "Ratelimit"
	headerRetry     = "Retry-After"
)

// WriteHeaders sets how an answer tells where its caller stands, after a decision, a refusal or a peek:
//
//   - X-RateLimit-Limit, -Remaining and -Reset tell of the limit with the fewest units left; of several, the one with
//     the longest wait. Reset is the moment at which the remaining count next grows, in epoch seconds rounded up.
//   - RateLimit-Policy and RateLimit name every limit of the stack, as in draft-ietf-httpapi-ratelimit-headers-11:
//     q and w are figure and window in seconds, r is what remains and t the seconds until that next grows.
//   - A refusal's Retry-After is the longest wait. Then the t of a limit that refuses is its own wait, so that the
//     binding one's is Retry-After, and Reset lies Retry-After from now. Where waiting does not help it is left out.
//
// Without states there is nothing to tell, and no header.
func WriteHeaders(h http.Header, states []State, refused bool, now time.Time) {
	if len(states) == 0 {
		return
	}
	tightest := &states[tightestOf(states)]
	reset := secondsUp(now.UnixNano() + int64(tightest.Next))
	var room [512]byte
	line := headerLine{text: room[:0]}
	if refused {
		if seconds := retryAfter(states); seconds > 0 {
			line.number(headerRetry, seconds)
			reset = secondsUp(now.UnixNano()) + seconds
		}
	}
	line.number(headerLimit, tightest.Context.Limit)
	line.number(headerRemaining, tightest.Context.Remaining)
	line.number(headerReset, reset)
	for i := range states {
		line.item(i, ShownName(states, i), 'q', states[i].Context.Limit, 'w', wholeSeconds(states[i].Rate.Period))
	}
	line.end(headerPolicy)
	for i := range states {
		line.item(i, ShownName(states, i), 'r', states[i].Context.Remaining, 't', wholeSeconds(growsIn(&states[i])))
	}
	line.end(headerLimits)
	line.write(h)
}

// headerLine writes the values of headers one behind the other into one text: they stand on every answer, and made
// one by one they would be most of what the guard allocates.
type headerLine struct {
	text  []byte
	names [6]string
	ends  [6]int
	count int
}

func (l *headerLine) number(name string, n int64) {
	l.text = strconv.AppendInt(l.text, n, 10)
	l.end(name)
}

// item appends one member of a list of structured fields: a string with two integer parameters. Names of plans need
// no escape.
func (l *headerLine) item(i int, name string, first byte, x int64, second byte, y int64) {
	b := l.text
	if i > 0 {
		b = append(b, ", "...)
	}
	b = append(b, '"')
	b = append(b, name...)
	b = append(b, '"', ';', first, '=')
	b = strconv.AppendInt(b, x, 10)
	b = append(b, ';', second, '=')
	l.text = strconv.AppendInt(b, y, 10)
}

// end makes what was written since the last end the value of a header.
func (l *headerLine) end(name string) {
	l.names[l.count], l.ends[l.count] = name, len(l.text)
	l.count++
}

// write sets the headers. The list of each is cut to its length, so that what a handler adds to one never runs into
// the next.
func (l *headerLine) write(h http.Header) {
	text, begun := string(l.text), 0
	values := make([]string, l.count)
	for i := range values {
		values[i] = text[begun:l.ends[i]]
		h[l.names[i]] = values[i : i+1 : i+1]
		begun = l.ends[i]
	}
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
