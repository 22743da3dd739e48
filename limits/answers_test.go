package limits

import (
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// wall is a moment that is no whole second, so that rounding shows.
var wall = time.Unix(1790000000, 250_000_000)

// standing is a state as a store tells it.
func standing(plan *Plan, figure int64, period time.Duration, remaining int64, wait, next time.Duration) State {
	l := Limit{Plan: plan, Key: Key{Org: 3, ID: 17}, Rate: Rate{Limit: figure, Period: period}, Cost: 1}
	var state State
	stand{used: figure - remaining, wait: wait, next: next, whole: next}.state(&state, &l, wall)
	return state
}

// headersOf is what an answer tells.
func headersOf(states []State, refused bool, now time.Time) http.Header {
	h := make(http.Header)
	WriteHeaders(h, states, refused, now)
	return h
}

func expectHeaders(t *testing.T, got http.Header, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, got.Get(name), value)
		}
	}
	for name := range got {
		if _, ok := want[headerName(name)]; !ok {
			t.Errorf("%s: %q is one header too many", name, got.Get(name))
		}
	}
}

// headerName undoes what net/http does to names.
func headerName(name string) string {
	return strings.NewReplacer("Ratelimit", "RateLimit").Replace(name)
}

func TestHeadersOfAnAdmittedRequest(t *testing.T) {
	t.Parallel()
	expectHeaders(t, headersOf([]State{
		standing(TokenProcess, 50, time.Minute, 45, 0, 48*time.Second),
		standing(AccountProcess, 20, time.Minute, 15, 0, 47*time.Second+time.Millisecond),
		standing(OrganizationAI, 200, time.Hour, 195, 0, 59*time.Minute),
	}, false, wall), map[string]string{
		"X-RateLimit-Limit":     "20",
		"X-RateLimit-Remaining": "15",
		"X-RateLimit-Reset":     "1790000048", // .25 + 47.001, rounded up
		"RateLimit-Policy":      `"token_process";q=50;w=60, "account_process";q=20;w=60, "organization_ai";q=200;w=3600`,
		"RateLimit":             `"token_process";r=45;t=48, "account_process";r=15;t=48, "organization_ai";r=195;t=3540`,
	})
}

// On a refusal Retry-After is the longest wait, the binding limit's t equals it, and Reset lies that long from now.
func TestHeadersOfARefusal(t *testing.T) {
	t.Parallel()
	expectHeaders(t, headersOf([]State{
		standing(TokenRead, 120, time.Minute, 0, 11*time.Second+time.Nanosecond, 11*time.Second+time.Nanosecond),
		standing(AccountRead, 240, time.Minute, 0, 3*time.Second, 3*time.Second),
	}, true, wall), map[string]string{
		"Retry-After":           "12",
		"X-RateLimit-Limit":     "120",
		"X-RateLimit-Remaining": "0",
		"X-RateLimit-Reset":     "1790000013",
		"RateLimit-Policy":      `"token_read";q=120;w=60, "account_read";q=240;w=60`,
		"RateLimit":             `"token_read";r=0;t=12, "account_read";r=0;t=3`,
	})
}

func TestHeadersOfARefusalByWeight(t *testing.T) {
	t.Parallel()
	expectHeaders(t, headersOf([]State{
		standing(TokenWrite, 30, time.Minute, 7, 31*time.Second, 2*time.Second),
		standing(AccountWrite, 60, time.Minute, 5, 0, time.Second),
	}, true, wall), map[string]string{
		"Retry-After":           "31",
		"X-RateLimit-Limit":     "60",
		"X-RateLimit-Remaining": "5",
		"X-RateLimit-Reset":     "1790000032",
		"RateLimit-Policy":      `"token_write";q=30;w=60, "account_write";q=60;w=60`,
		"RateLimit":             `"token_write";r=7;t=31, "account_write";r=5;t=1`,
	})
}

func TestHeadersWhereWaitingDoesNotHelp(t *testing.T) {
	t.Parallel()
	h := headersOf([]State{standing(TokenWrite, 30, time.Minute, 30, -1, 0)}, true, wall)
	if h.Get("Retry-After") != "" || h.Get("RateLimit") != `"token_write";r=30;t=0` || h.Get("X-RateLimit-Reset") != "1790000001" {
		t.Errorf("headers of a request that can never pass: %v", h)
	}
}

func TestHeadersNameTheWindowsOfOnePlan(t *testing.T) {
	t.Parallel()
	h := headersOf([]State{
		standing(SessionAddress, 1000, time.Hour, 999, 0, time.Hour),
		standing(SessionAddress, 5000, 24*time.Hour, 4999, 0, 24*time.Hour),
		standing(UserAI, 20, time.Minute, 19, 0, time.Minute),
	}, false, wall)
	want := `"session_address_3600";q=1000;w=3600, "session_address_86400";q=5000;w=86400, "user_ai";q=20;w=60`
	if got := h.Get("RateLimit-Policy"); got != want {
		t.Errorf("RateLimit-Policy: %s, want %s", got, want)
	}
}

func TestHeadersTellOfTheTightestLimit(t *testing.T) {
	t.Parallel()
	long, short := 40*time.Second, 20*time.Second
	for name, c := range map[string]struct {
		states  []State
		refused bool
		want    int64
	}{
		"fewest left":                      {[]State{standing(TokenRead, 100, time.Minute, 4, 0, long), standing(AccountRead, 200, time.Minute, 3, 0, short)}, false, 200},
		"as few left, longer wait":         {[]State{standing(TokenRead, 100, time.Minute, 3, 0, long), standing(AccountRead, 200, time.Minute, 3, 0, short)}, false, 100},
		"as few left, waits of one second": {[]State{standing(TokenRead, 100, time.Minute, 3, 0, short+2), standing(AccountRead, 200, time.Minute, 3, 0, short+1)}, false, 200},
		"none left, one refuses":           {[]State{standing(TokenRead, 100, time.Minute, 0, short, short), standing(AccountRead, 200, time.Minute, 0, 0, long)}, true, 100},
	} {
		if got := headersOf(c.states, c.refused, wall).Get("X-RateLimit-Limit"); got != strconv.FormatInt(c.want, 10) {
			t.Errorf("%s: X-RateLimit-Limit is %s, want %d", name, got, c.want)
		}
	}
}

func TestNoHeadersWithoutLimits(t *testing.T) {
	t.Parallel()
	if h := headersOf(nil, false, wall); len(h) != 0 {
		t.Errorf("headers without a limit: %v", h)
	}
}

func refusalOf(states ...State) *Refusal {
	return &Refusal{Decision{States: states, Binding: bindingOf(states)}}
}

func TestRefusalNamesTheBindingLimit(t *testing.T) {
	t.Parallel()
	r := refusalOf(
		standing(TokenRead, 120, time.Minute, 0, 11500*time.Millisecond, 11500*time.Millisecond),
		standing(AccountRead, 240, time.Minute, 0, 11001*time.Millisecond, 11001*time.Millisecond),
	)
	p := r.Problem()
	if p.Kind != problems.AccountRateLimited || p.RetryAfter != 12*time.Second {
		t.Errorf("waits that round to the same second are the account's: %v after %v", p.Kind.Code(), p.RetryAfter)
	}
	if want := "The limit account_read of 240 per minute is used up; try again in 12 seconds."; p.Message != want {
		t.Errorf("message %q, want %q", p.Message, want)
	}
	limit, ok := p.Fields["limit"].(map[string]any)
	if !ok {
		t.Fatalf("limit is %v", p.Fields["limit"])
	}
	for field, want := range map[string]any{"name": "account_read", "scope": "account", "limit": int64(240), "window_seconds": int64(60)} {
		if limit[field] != want {
			t.Errorf("limit.%s is %v, want %v", field, limit[field], want)
		}
	}
	if p.Fields["retry_after"] != int64(12) {
		t.Errorf("retry_after is %v, want 12", p.Fields["retry_after"])
	}
}

func TestRefusalSentences(t *testing.T) {
	t.Parallel()
	weighing := func(cost int64, s State) State { s.Cost = cost; return s }
	for want, states := range map[string][]State{
		"The limit login of 10 per 90 seconds is used up; try again in 1 second.":                              {standing(Login, 10, 90*time.Second, 0, time.Millisecond, time.Millisecond)},
		"The limit token_create of 10 per 2 hours is used up; try again in 7200 seconds.":                      {standing(TokenCreate, 10, 2*time.Hour, 0, 2*time.Hour, time.Second)},
		"The limit account_write of 60 per day has 7 left and this request weighs 9; try again in 5 seconds.":  {weighing(9, standing(AccountWrite, 60, 24*time.Hour, 7, 5*time.Second, time.Second))},
		"The limit token_write of 30 per minute never admits a request that weighs 31; waiting does not help.": {weighing(31, standing(TokenWrite, 30, time.Minute, 30, -1, 0)), standing(AccountWrite, 60, time.Minute, 0, time.Second, time.Second)},
		"The limit session_address_86400 of 5000 per day is used up; try again in 4000 seconds.":               {standing(SessionAddress, 1000, time.Hour, 0, time.Second, time.Second), standing(SessionAddress, 5000, 24*time.Hour, 0, 4000*time.Second, time.Second)},
		"The limit status of 3 per 1500 milliseconds is used up; try again in 2 seconds.":                      {standing(Status, 3, 1500*time.Millisecond, 0, 1400*time.Millisecond, time.Second)},
	} {
		if got := refusalOf(states...).Problem().Message; got != want {
			t.Errorf("message %q, want %q", got, want)
		}
	}
}

func TestRefusalWithoutHopeHasNoRetryAfter(t *testing.T) {
	t.Parallel()
	p := refusalOf(standing(TokenWrite, 30, time.Minute, 30, -1, 0)).Problem()
	if _, ok := p.Fields["retry_after"]; ok || p.RetryAfter != 0 {
		t.Errorf("a request that can never pass is told to come back: %v, %v", p.Fields, p.RetryAfter)
	}
}

func TestRefusalIsAnErrorForTheLog(t *testing.T) {
	t.Parallel()
	state := standing(LoginFailures, 5, time.Minute, 0, time.Second, time.Second)
	state.Key = Key{Addr: netip.MustParseAddr("2001:db8::"), Part: 35}
	var err error = refusalOf(state)
	var refusal *Refusal
	if !errors.As(err, &refusal) || err.Error() != "refused by login_failures, 5 per minute, of ip:2001:db8:::login_failures:z" {
		t.Errorf("error %q", err)
	}
}
