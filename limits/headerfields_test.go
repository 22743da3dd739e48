package limits

import (
	"net/http"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"pgregory.net/rapid"
)

// member is one limit as a client reads it from a structured field.
type member struct {
	name          string
	first, second int64
}

// fields reads a header as a client with a library for structured fields (RFC 9651) does.
func fields(t *rapid.T, h http.Header, name, first, second string) []member {
	list, err := httpsfv.UnmarshalList(h.Values(name))
	if err != nil {
		t.Fatalf("%s is no list of structured fields: %v: %q", name, err, h.Values(name))
	}
	members := make([]member, len(list))
	for i := range list {
		item, is := list[i].(httpsfv.Item)
		if !is {
			t.Fatalf("%s: member %d is no item", name, i)
		}
		parameter := func(key string) int64 {
			value, found := item.Params.Get(key)
			number, whole := value.(int64)
			if !found || !whole {
				t.Fatalf("%s: member %d has no whole number %s: %v", name, i, key, value)
			}
			return number
		}
		text, is := item.Value.(string)
		if !is || len(item.Params.Names()) != 2 {
			t.Fatalf("%s: member %d is %v with %v", name, i, item.Value, item.Params.Names())
		}
		members[i] = member{text, parameter(first), parameter(second)}
	}
	return members
}

// Whatever the limits, the IETF fields are lists that a library for structured fields reads back: every limit of the
// stack in its order, with figure and window, with what is left and the seconds until that grows.
func TestTheFieldsAreReadBackByALibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var states []State
		for range rapid.IntRange(1, 9).Draw(t, "limits") {
			plan := rapid.SampledFrom(Plans()).Draw(t, "plan")
			figure := rapid.Int64Range(1, MaxFigure).Draw(t, "figure")
			window := time.Duration(rapid.Int64Range(1, 366*24*3600).Draw(t, "window")) * time.Second
			left := rapid.Int64Range(0, figure).Draw(t, "left")
			next := time.Duration(rapid.Int64Range(0, int64(window)).Draw(t, "next"))
			states = append(states, standing(plan, figure, window, left, 0, next))
		}
		h := headersOf(states, false, wall)
		policies, limits := fields(t, h, "RateLimit-Policy", "q", "w"), fields(t, h, "RateLimit", "r", "t")
		if len(policies) != len(states) || len(limits) != len(states) {
			t.Fatalf("%d policies and %d limits of %d", len(policies), len(limits), len(states))
		}
		for i, state := range states {
			name := ShownName(states, i)
			if want := (member{name, state.Context.Limit, int64(state.Rate.Period / time.Second)}); policies[i] != want {
				t.Errorf("policy %d is %v, want %v", i, policies[i], want)
			}
			if want := (member{name, state.Context.Remaining, wholeSeconds(state.Next)}); limits[i] != want {
				t.Errorf("limit %d is %v, want %v", i, limits[i], want)
			}
		}
	})
}
