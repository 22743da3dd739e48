package tests

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: the pages of an allowed origin read every answer, those of limits included, by their token alone; preflights
// come before the guard and count nowhere; a cookie proves nothing across origins.
func TestPagesOfAllowedOrigins(t *testing.T) {
	t.Parallel()
	const ours, foreign = "https://app.example.org", "https://evil.example"
	environment := quiet(t)
	environment["CORS_ALLOWED_ORIGINS"] = ours
	environment["API_TOKEN_RATE_LIMIT_READ"] = "2 per hour"
	environment["API_USER_RATE_LIMIT_READ"] = "1000 per hour"
	process, client := signedUp(t, environment)
	from := func(origin string) http.Header { return http.Header{"Origin": {origin}} }
	asks := http.Header{"Origin": {ours}, "Access-Control-Request-Method": {"GET"}, "Access-Control-Request-Headers": {"authorization"}}
	for range 50 {
		answer := process.Client("").Call(http.MethodOptions, "/api/v1/recordings", nil, asks)
		if answer.Status != http.StatusNoContent || answer.Header.Get("Access-Control-Allow-Origin") != ours || answer.Header.Get("Ratelimit") != "" {
			t.Fatalf("a preflight: %v %v", answer, answer.Header)
		}
	}
	for _, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
		answer := client.Call(http.MethodGet, "/api/v1/recordings", nil, from(ours))
		exposed := answer.Header.Get("Access-Control-Expose-Headers")
		if answer.Status != want || answer.Header.Get("Access-Control-Allow-Origin") != ours || !strings.Contains(exposed, "RateLimit-Policy") || !strings.Contains(exposed, "Retry-After") {
			t.Errorf("want %d: %v, allowed %q, exposed %q", want, answer, answer.Header.Get("Access-Control-Allow-Origin"), exposed)
		}
		if vary := strings.Join(answer.Header.Values("Vary"), ", "); !containsAll(vary, "Origin", "Authorization", "Cookie") {
			t.Errorf("%d: Vary %q", want, vary)
		}
	}
	if answer := client.Call(http.MethodGet, "/api/v1/recordings", nil, from(foreign)); answer.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a foreign page may read %v", answer)
	}

	browser := process.Client("")
	browser.SignIn("ada@example.org", servertest.Password)
	for _, origin := range []string{ours, foreign} {
		header := http.Header{"Origin": {origin}, "Sec-Fetch-Site": {"cross-site"}, "Content-Type": {"application/json"}}
		answer := browser.Call(http.MethodPost, "/api/tokens", strings.NewReader(`{"name":"stolen"}`), header)
		if answer.Status != http.StatusForbidden || answer.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("a cookie of a page of %s: %v", origin, answer)
		}
	}
}
