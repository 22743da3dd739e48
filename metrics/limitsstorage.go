package metrics

import "github.com/prometheus/client_golang/prometheus"

// limitsStorage is what is known of the storage of the limits.
type limitsStorage struct {
	up, breaker      prometheus.Gauge
	outages, flushes prometheus.Counter
	without          *prometheus.CounterVec
}

func newLimitsStorage() limitsStorage {
	l := limitsStorage{
		up:      gauge("limits_storage_up", "1 while the storage of the limits answers; always 1 with memory://."),
		breaker: gauge("limits_breaker_open", "1 while the storage of the limits counts as away and requests do not wait for it."),
		outages: counter("limits_storage_outages_total", "Outages of the storage of the limits that began."),
		flushes: counter("limits_storage_flushes_total", "Times that the storage of the limits had forgotten what was counted."),
		without: counters("limits_decided_without_storage_total", "Decisions that RATELIMIT_ON_STORAGE_ERROR took, by class (read, write, process) and policy (local, deny).", "class", "policy"),
	}
	l.up.Set(1)
	for _, class := range []string{"read", "write", "process"} { // an alert on their growth sees the first decision
		l.without.WithLabelValues(class, "local")
		l.without.WithLabelValues(class, "deny")
	}
	return l
}

// LimitsOutage notes that the storage of the limits counts as away, or that it answers again.
func (m *Metrics) LimitsOutage(away bool) {
	m.LimitsStorageUp(!away)
	if away {
		m.limitsStorage.breaker.Set(1)
		m.limitsStorage.outages.Inc()
		return
	}
	m.limitsStorage.breaker.Set(0)
}

// LimitsStorageUp notes whether the storage of the limits answered when it was last looked at.
func (m *Metrics) LimitsStorageUp(up bool) {
	if up {
		m.limitsStorage.up.Set(1)
		return
	}
	m.limitsStorage.up.Set(0)
}

// LimitsStorageFlushed counts that the storage of the limits had forgotten what was counted.
func (m *Metrics) LimitsStorageFlushed() { m.limitsStorage.flushes.Inc() }

// DecidedWithoutStorage counts a decision of a class (read, write, process) that the storage of the limits did not take
// and a policy (local, deny) did.
func (m *Metrics) DecidedWithoutStorage(class, policy string) {
	m.limitsStorage.without.WithLabelValues(class, policy).Inc()
}
