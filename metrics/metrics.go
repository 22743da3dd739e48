// Package metrics counts what the server does, for Prometheus. It is the only package that knows Prometheus: others
// call methods with plain arguments. Label values come from tables of ours (route patterns, names of limits, kinds of
// jobs), never from what a client sent, so that the number of series is bounded and no secret can be one.
package metrics

import (
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the counters of one server, in a registry of their own. They are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	requests         *prometheus.CounterVec
	durations        *prometheus.HistogramVec
	limitRefusals    *prometheus.CounterVec
	unauthorized     prometheus.Counter
	guardFailures    *prometheus.CounterVec
	forwardedIgnored prometheus.Counter
	limitsOff        *prometheus.GaugeVec
	jobs             *prometheus.CounterVec
	transcribed      *prometheus.CounterVec
	processes        prometheus.Gauge
	countedApart     prometheus.Gauge
	limitsStorage    *limitsStorage
	streams          *streams
	roles            *roles
	webhooks         *webhooks
	auditFailures    prometheus.Counter
}

// Reasons of guard failures.
const (
	limitsUnavailable      = "limits_unavailable"
	credentialsUnavailable = "credentials_unavailable"
)

// New makes the metrics of a server of this version.
func New(version string) *Metrics {
	m := &Metrics{
		registry:         prometheus.NewRegistry(),
		requests:         counters("http_requests_total", "Requests answered, by method, route pattern and class of status.", "method", "route", "status"),
		durations:        durations(),
		limitRefusals:    counters("limit_refusals_total", "Requests refused, by the limit that refused them.", "limit"),
		unauthorized:     counter("unauthorized_total", "Requests refused for want of a valid credential."),
		guardFailures:    counters("guard_failures_total", "Requests refused because the guard could not decide, by reason.", "reason"),
		forwardedIgnored: counter("forwarded_headers_ignored_total", "Warnings, at most one a minute, that a forwarding header was not believed."),
		limitsOff:        gauges("limit_switched_off", "1 for each limit that a setting switches off, by its variable.", "variable"),
		jobs:             counters("jobs_finished_total", "Attempts at jobs that ended, by kind and outcome.", "kind", "outcome"),
		transcribed:      counters("transcribed_audio_seconds_total", "Length of the audio transcribed, by engine.", "engine"),
		processes:        gauge("processes_alive", "Processes of this installation with a recent heartbeat."),
		countedApart:     gauge("limits_counted_apart", "1 while several processes are alive and each counts limits for itself (memory://)."),
		limitsStorage:    newLimitsStorage(),
		streams:          newStreams(),
		roles:            newRoles(),
		webhooks:         newWebhooks(),
		auditFailures:    counter("audit_failures_total", "Entries of the audit log, or outcomes of them, that could not be written."),
	}
	build := gauges("build_info", "Always 1; the labels say what is running.", "version", "go")
	build.WithLabelValues(version, runtime.Version()).Set(1)
	// Both exist from the start, so that an alert on their growth sees the first failure.
	m.guardFailures.WithLabelValues(limitsUnavailable)
	m.guardFailures.WithLabelValues(credentialsUnavailable)
	m.registry.MustRegister(
		m.requests, m.durations, m.limitRefusals, m.unauthorized, m.guardFailures, m.forwardedIgnored, m.limitsOff,
		m.jobs, m.transcribed, m.processes, m.countedApart, build,
		m.limitsStorage.up, m.limitsStorage.breaker, m.limitsStorage.outages, m.limitsStorage.without, m.limitsStorage.flushes,
		m.streams.inFlight, m.streams.rejections, m.roles.unknown, m.roles.missing, m.auditFailures,
		m.webhooks.attempts, m.webhooks.waiting, m.webhooks.paused,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Handler answers with all metrics. It asks for no credential: serve it where only the operator reaches it.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// Request counts one answer. route is the row's pattern, never the path that was sent; "" is a request that no row
// took.
func (m *Metrics) Request(method, route string, status int, took time.Duration) {
	if route == "" {
		route = "none"
	}
	m.requests.WithLabelValues(method, route, statusClass(status)).Inc()
	m.durations.WithLabelValues(method, route).Observe(took.Seconds())
}

func statusClass(status int) string {
	if status < 100 || status > 599 {
		return "other"
	}
	return strconv.Itoa(status/100) + "xx"
}

// LimitRefused counts a request refused by the limit of this name.
func (m *Metrics) LimitRefused(limit string) { m.limitRefusals.WithLabelValues(limit).Inc() }

// LimitsUnavailable counts a request refused because the storage of the limits did not decide.
func (m *Metrics) LimitsUnavailable() { m.guardFailures.WithLabelValues(limitsUnavailable).Inc() }

// CredentialsUnavailable counts a request refused because its credential could not be looked up.
func (m *Metrics) CredentialsUnavailable() {
	m.guardFailures.WithLabelValues(credentialsUnavailable).Inc()
}

// Unauthorized counts an answer 401.
func (m *Metrics) Unauthorized() { m.unauthorized.Inc() }

// AuditFailed counts an entry of the audit log, or an outcome, that could not be written.
func (m *Metrics) AuditFailed() { m.auditFailures.Inc() }

// ForwardedIgnored counts a warning that a forwarding header was not believed.
func (m *Metrics) ForwardedIgnored() { m.forwardedIgnored.Inc() }

// LimitSwitchedOff notes that the variable switches a limit off.
func (m *Metrics) LimitSwitchedOff(variable string) { m.limitsOff.WithLabelValues(variable).Set(1) }

// JobFinished counts an attempt at a job of this kind that ended: "completed", "failed" (it will be tried again),
// "given_up" or "canceled".
func (m *Metrics) JobFinished(kind, outcome string) { m.jobs.WithLabelValues(kind, outcome).Inc() }

// Transcribed counts the length of audio that an engine has transcribed.
func (m *Metrics) Transcribed(engine string, audio time.Duration) {
	m.transcribed.WithLabelValues(engine).Add(max(audio.Seconds(), 0))
}

// ProcessesAlive notes how many processes have a recent heartbeat, and whether each counts limits for itself.
func (m *Metrics) ProcessesAlive(processes int, countedInMemory bool) {
	m.processes.Set(float64(processes))
	m.countedApart.Set(oneIf(countedInMemory && processes > 1))
}
