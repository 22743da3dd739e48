package limits

import (
	"fmt"
	"strconv"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// unavailableRetry is the hint in an answer about a storage that is away.
const unavailableRetry = time.Second

// Unavailable is the answer where the storage of the limits could not decide, so that nothing is let in. The cause is
// for the log.
func Unavailable(cause error) *problems.Error {
	return problems.New(problems.LimitsUnavailable, "The limits could not be checked; try again.").
		After(unavailableRetry).Because(cause)
}

// Refusal is the error of a request that a limit did not admit. Its decision is never an admitted one.
type Refusal struct{ Decision Decision }

// Error names the binding limit and its key, for the log.
func (r *Refusal) Error() string {
	binding := &r.Decision.States[r.Decision.Binding]
	return fmt.Sprintf("refused by %s, %d per %s, of %s", r.name(), binding.Rate.Limit, perWindow(binding.Rate.Period), binding.Limit)
}

// Problem is the refusal as an answer: the binding limit's code, a sentence that names the limit, its figure and the
// wait, the members "limit" and, where waiting helps, "retry_after" in whole seconds.
func (r *Refusal) Problem() *problems.Error {
	binding := &r.Decision.States[r.Decision.Binding]
	problem := problems.New(binding.Plan.Kind, "%s", r.sentence()).With("limit", map[string]any{
		"name":           r.name(),
		"scope":          binding.Plan.Subject.String(),
		"limit":          binding.Rate.Limit,
		"window_seconds": wholeSeconds(binding.Rate.Period),
	})
	if seconds := retryAfter(r.Decision.States); seconds > 0 {
		problem.With("retry_after", seconds).After(time.Duration(seconds) * time.Second)
	}
	return problem
}

func (r *Refusal) name() string { return ShownName(r.Decision.States, r.Decision.Binding) }

func (r *Refusal) sentence() string {
	binding := &r.Decision.States[r.Decision.Binding]
	limit := fmt.Sprintf("The limit %s of %d per %s", r.name(), binding.Rate.Limit, perWindow(binding.Rate.Period))
	seconds := retryAfter(r.Decision.States)
	if seconds == 0 {
		return fmt.Sprintf("%s never admits a request that weighs %d; waiting does not help.", limit, binding.Cost)
	}
	in := "1 second"
	if seconds != 1 {
		in = strconv.FormatInt(seconds, 10) + " seconds"
	}
	if binding.Cost > 1 {
		return fmt.Sprintf("%s has %d left and this request weighs %d; try again in %s.", limit, binding.Context.Remaining, binding.Cost, in)
	}
	return fmt.Sprintf("%s is used up; try again in %s.", limit, in)
}

// retryAfter is the longest wait over the states that refuse, in whole seconds rounded up and so at least 1; 0 when
// none refuses, and when waiting does not help because one of them never admits the request.
func retryAfter(states []State) int64 {
	var longest time.Duration
	for i := range states {
		if states[i].Wait < 0 {
			return 0
		}
		longest = max(longest, states[i].Wait)
	}
	return wholeSeconds(longest)
}

// ShownName is what answers and headers call the i-th state: its plan's name, and the window's seconds behind it
// where the plan stands in the stack with several windows ("session_address_3600").
func ShownName(states []State, i int) string {
	state := &states[i]
	for j := range states {
		if states[j].Plan == state.Plan && states[j].Rate.Period != state.Rate.Period {
			return state.Plan.Name + "_" + strconv.FormatInt(wholeSeconds(state.Rate.Period), 10)
		}
	}
	return state.Plan.Name
}

// perWindow writes a window's length in the largest unit that divides it: "minute", "10 seconds".
func perWindow(period time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		switch {
		case period == unit.length:
			return unit.name
		case period%unit.length == 0:
			return strconv.FormatInt(int64(period/unit.length), 10) + " " + unit.name + "s"
		}
	}
	return strconv.FormatInt(period.Milliseconds(), 10) + " milliseconds"
}
