package metrics

import "github.com/prometheus/client_golang/prometheus"

// webhooks are the metrics of deliveries.
type webhooks struct {
	attempts *prometheus.CounterVec
	waiting  prometheus.Gauge
	paused   prometheus.Gauge
}

func newWebhooks() *webhooks {
	return &webhooks{
		attempts: counters("webhook_attempts_total", "Attempts at deliveries to webhooks, by outcome and, of those that failed, reason.", "outcome", "reason"),
		waiting:  gauge("webhook_deliveries_waiting", "Deliveries that wait for their webhook or their next attempt."),
		paused:   gauge("webhooks_paused", "Webhooks that are paused after too many failures in a row."),
	}
}

// WebhookAttempted counts an attempt at a delivery; the reason comes from our table and is empty for one that succeeded.
func (m *Metrics) WebhookAttempted(reason string) {
	if reason == "" {
		m.webhooks.attempts.WithLabelValues("delivered", "none").Inc()
		return
	}
	m.webhooks.attempts.WithLabelValues("failed", reason).Inc()
}

// WebhooksStand notes how many deliveries wait and how many webhooks are paused.
func (m *Metrics) WebhooksStand(waiting, paused int64) {
	m.webhooks.waiting.Set(float64(waiting))
	m.webhooks.paused.Set(float64(paused))
}
