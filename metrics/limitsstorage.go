package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// limitsStorage is what is known of the storage of the limits.
type limitsStorage struct {
	up, breaker      prometheus.Gauge
	outages, flushes prometheus.Counter
	without          *prometheus.CounterVec

	mu           sync.Mutex // protects what follows, and up and breaker, which show it
	away, silent bool       // counts as away; did not answer the last look
}

func newLimitsStorage() *limitsStorage {
	l := &limitsStorage{
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
	m.limitsStorage.note(func(l *limitsStorage) { l.away, l.silent = away, away })
	if away {
		m.limitsStorage.outages.Inc()
	}
}

// LimitsStorageUp notes whether the storage of the limits answered when it was last looked at. One that counts as away
// is not up, whatever a look that began before says.
func (m *Metrics) LimitsStorageUp(up bool) {
	m.limitsStorage.note(func(l *limitsStorage) { l.silent = !up })
}

// note changes what is known and shows it.
func (l *limitsStorage) note(change func(l *limitsStorage)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
	l.up.Set(oneIf(!l.away && !l.silent))
	l.breaker.Set(oneIf(l.away))
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// LimitsStorageFlushed counts that the storage of the limits had forgotten what was counted.
func (m *Metrics) LimitsStorageFlushed() { m.limitsStorage.flushes.Inc() }

// DecidedWithoutStorage counts a decision of a class (read, write, process) that the storage of the limits did not take
// and a policy (local, deny) did.
func (m *Metrics) DecidedWithoutStorage(class, policy string) {
	m.limitsStorage.without.WithLabelValues(class, policy).Inc()
}
