package metrics

import "github.com/prometheus/client_golang/prometheus"

// streams is what is known of streams.
type streams struct {
	inFlight   *prometheus.GaugeVec
	rejections *prometheus.CounterVec
}

func newStreams() *streams {
	return &streams{
		inFlight:   gauges("streams_in_flight", "Streams that are open, by operation.", "operation"),
		rejections: counters("stream_rejections_total", "Streams that were refused or ended other than well, by operation and reason.", "operation", "reason"),
	}
}

// StreamsInFlight changes the number of open streams of an operation.
func (m *Metrics) StreamsInFlight(operation string, change int) {
	m.streams.inFlight.WithLabelValues(operation).Add(float64(change))
}

// StreamRejected counts a stream that was refused, or ended other than well. The reason is the code of a problem,
// "client_gone" or "client_stall_timeout".
func (m *Metrics) StreamRejected(operation, reason string) {
	m.streams.rejections.WithLabelValues(operation, reason).Inc()
}
