package handlers_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stenometer/stenometer/problems"
)

// The owner of a token reads and writes its limits as they are written everywhere, and null takes them away.
func TestRateLimitsOfATokenOnTheWire(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{})
	_, browser := s.signIn("ann")
	made := s.ask("POST", "/api/tokens", browser, `{"name":"n8n","rate_limits":{"read":"60/minute","process":"5-H"}}`).expect(http.StatusCreated)
	path := fmt.Sprintf("/api/tokens/%.0f", made.body["id"])
	expectLimits := func(about string, got any, want string) {
		t.Helper()
		if fmt.Sprint(got) != want {
			t.Errorf("%s shows %v, want %s", about, got, want)
		}
	}
	expectLimits("the create", made.body["rate_limits"], "map[process:5 per hour read:60 per minute]")
	list := s.ask("GET", "/api/tokens", browser, "").expect(http.StatusOK).body["tokens"].([]any)
	expectLimits("the list", list[0].(map[string]any)["rate_limits"], "map[process:5 per hour read:60 per minute]")
	current := s.ask("GET", "/api/v1/tokens/current", made.body["token"].(string), "").expect(http.StatusOK)
	expectLimits("the token itself", current.body["rate_limits"], "map[process:5 per hour read:60 per minute]")

	for _, row := range []struct{ body, want string }{
		{`{"name":"zapier"}`, "map[process:5 per hour read:60 per minute]"},
		{`{"rate_limits":{"write":"1/second"}}`, "map[write:1 per second]"},
		{`{"rate_limits":null}`, "<nil>"},
	} {
		expectLimits(row.body, s.ask("PATCH", path, browser, row.body).expect(http.StatusOK).body["rate_limits"], row.want)
	}
	for _, body := range []string{
		`{"rate_limits":7}`, `{"rate_limits":"60/minute"}`, `{"rate_limits":[]}`, `{"rate_limits":{"read":60}}`,
		`{"rate_limits":{"read":"0"}}`, `{"rate_limits":{"admin":"1/minute"}}`, `{"rate_limits":{"read":"lots"}}`,
	} {
		s.ask("PATCH", path, browser, body).expectProblem(problems.InvalidParameter)
		s.ask("POST", "/api/tokens", browser, body).expectProblem(problems.InvalidParameter)
	}
}
