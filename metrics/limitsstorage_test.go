package metrics_test

import (
	"testing"

	"github.com/stenometer/stenometer/metrics"
)

// An outage shows in the gauges while it lasts, and in the counters afterwards.
func TestAnOutageOfTheLimitsStorage(t *testing.T) {
	t.Parallel()
	m := metrics.New("1.2.3")
	wantLines(t, scrape(t, m),
		"stenometer_limits_storage_up 1", "stenometer_limits_breaker_open 0", "stenometer_limits_storage_outages_total 0",
		`stenometer_limits_decided_without_storage_total{class="process",policy="deny"} 0`, "stenometer_limits_storage_flushes_total 0")
	m.LimitsOutage(true)
	m.DecidedWithoutStorage("read", "local")
	m.DecidedWithoutStorage("process", "deny")
	m.DecidedWithoutStorage("process", "deny")
	wantLines(t, scrape(t, m),
		"stenometer_limits_storage_up 0", "stenometer_limits_breaker_open 1", "stenometer_limits_storage_outages_total 1",
		`stenometer_limits_decided_without_storage_total{class="read",policy="local"} 1`,
		`stenometer_limits_decided_without_storage_total{class="process",policy="deny"} 2`)
	m.LimitsOutage(false)
	m.LimitsStorageFlushed()
	wantLines(t, scrape(t, m),
		"stenometer_limits_storage_up 1", "stenometer_limits_breaker_open 0", "stenometer_limits_storage_outages_total 1",
		"stenometer_limits_storage_flushes_total 1")
	m.LimitsStorageUp(false)
	wantLines(t, scrape(t, m), "stenometer_limits_storage_up 0", "stenometer_limits_breaker_open 0")
}

// A look that began before the outage and ended in it does not hide it.
func TestALookDoesNotEndAnOutage(t *testing.T) {
	t.Parallel()
	m := metrics.New("1.2.3")
	m.LimitsOutage(true)
	m.LimitsStorageUp(true)
	wantLines(t, scrape(t, m), "stenometer_limits_storage_up 0", "stenometer_limits_breaker_open 1")
	m.LimitsStorageUp(false)
	m.LimitsOutage(false)
	wantLines(t, scrape(t, m), "stenometer_limits_storage_up 1", "stenometer_limits_breaker_open 0")
}
