package metrics_test

import (
	"testing"

	"github.com/stenometer/stenometer/metrics"
)

// Open streams are a gauge that comes back to nothing; refusals and bad ends are counted by their reason.
func TestStreamsAreCounted(t *testing.T) {
	t.Parallel()
	m := metrics.New("1.2.3")
	m.StreamsInFlight("chat", 1)
	m.StreamsInFlight("chat", 1)
	m.StreamsInFlight("chat", -1)
	m.StreamsInFlight("inquire", 1)
	m.StreamsInFlight("inquire", -1)
	m.StreamRejected("chat", "idle_timeout")
	m.StreamRejected("chat", "idle_timeout")
	wantLines(t, scrape(t, m),
		`stenometer_streams_in_flight{operation="chat"} 1`,
		`stenometer_streams_in_flight{operation="inquire"} 0`,
		`stenometer_stream_rejections_total{operation="chat",reason="idle_timeout"} 2`,
	)
}
