package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/metrics"
)

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("status %d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
}

// Each thing that happens is counted once, under the labels that the operator's guide names.
func TestWhatHappensIsCounted(t *testing.T) {
	t.Parallel()
	m := metrics.New("1.2.3")
	m.Request("GET", "/api/v1/recordings/:recording", 200, 30*time.Millisecond)
	m.Request("GET", "/api/v1/recordings/:recording", 204, 70*time.Millisecond)
	m.Request("GET", "/api/v1/recordings/:recording", 429, time.Millisecond)
	m.Request("other", "", 404, time.Millisecond)
	m.Request("POST", "/x", 0, time.Hour)
	m.LimitRefused("account_read")
	m.LimitsUnavailable()
	m.Unauthorized()
	m.ForwardedIgnored()
	m.LimitSwitchedOff("LOGIN_RATE_LIMIT")
	m.JobFinished("transcribe", "completed")
	m.Transcribed("embedded", 90*time.Second)
	m.Transcribed("embedded", 500*time.Millisecond)
	wantLines(t, scrape(t, m),
		`stenometer_http_requests_total{method="GET",route="/api/v1/recordings/:recording",status="2xx"} 2`,
		`stenometer_http_requests_total{method="GET",route="/api/v1/recordings/:recording",status="4xx"} 1`,
		`stenometer_http_requests_total{method="other",route="none",status="4xx"} 1`,
		`stenometer_http_requests_total{method="POST",route="/x",status="other"} 1`,
		`stenometer_http_request_duration_seconds_bucket{method="GET",route="/api/v1/recordings/:recording",le="0.05"} 2`,
		`stenometer_http_request_duration_seconds_count{method="GET",route="/api/v1/recordings/:recording"} 3`,
		`stenometer_limit_refusals_total{limit="account_read"} 1`,
		`stenometer_guard_failures_total{reason="limits_unavailable"} 1`,
		`stenometer_guard_failures_total{reason="credentials_unavailable"} 0`,
		`stenometer_unauthorized_total 1`,
		`stenometer_forwarded_headers_ignored_total 1`,
		`stenometer_limit_switched_off{variable="LOGIN_RATE_LIMIT"} 1`,
		`stenometer_jobs_finished_total{kind="transcribe",outcome="completed"} 1`,
		`stenometer_transcribed_audio_seconds_total{engine="embedded"} 90.5`,
	)
}

// The gauge of limits counted apart is raised by several processes with memory:// alone, and falls again.
func TestLimitsCountedApart(t *testing.T) {
	t.Parallel()
	m := metrics.New("1.2.3")
	for _, test := range []struct {
		processes int
		inMemory  bool
		want      string
	}{{1, true, "0"}, {3, true, "1"}, {3, false, "0"}, {2, true, "1"}, {1, true, "0"}} {
		m.ProcessesAlive(test.processes, test.inMemory)
		wantLines(t, scrape(t, m), "stenometer_limits_counted_apart "+test.want)
	}
	wantLines(t, scrape(t, m), "stenometer_processes_alive 1")
}

// Two servers in one program count apart, and say what they are.
func TestEachServerHasItsOwn(t *testing.T) {
	t.Parallel()
	one, two := metrics.New("1"), metrics.New("2")
	one.Unauthorized()
	if text := scrape(t, two); !strings.Contains(text, "stenometer_unauthorized_total 0") || !strings.Contains(text, `version="2"`) {
		t.Error("the second server shows the first one's")
	}
	for _, name := range []string{"go_goroutines", "process_open_fds", "stenometer_build_info"} {
		if !strings.Contains(scrape(t, one), "\n"+name) {
			t.Errorf("no %s", name)
		}
	}
}
