package outbound_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stenometer/stenometer/outbound"
)

func TestRetryAfterForms(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for written, want := range map[string]time.Duration{
		"7": 7 * time.Second, "Fri, 02 Jan 2026 03:04:35 GMT": 30 * time.Second, "999999": time.Hour,
		"3000000000": time.Hour, "99999999999999999999": time.Hour,
		"": 0, "-5": 0, "-99999999999999999999": 0, "soon": 0, "1e9": 0, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := outbound.RetryAfter(http.Header{"Retry-After": {written}}, now); got != want {
			t.Errorf("%q: %s, want %s", written, got, want)
		}
	}
}
