package tests

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Figures of the outage tests: the whole one, and its part in each of two processes.
const (
	wholeFigure = 20
	itsPart     = 10
)

// storageTimeout is long, so that a request that pays it is told from one that does not on any machine.
const storageTimeout = time.Second

// outage is two processes that share a storage of the limits, and what a test knows of them.
type outage struct {
	t         *testing.T
	processes []*servertest.Process
	clients   []*servertest.Client
	engine    *asrtest.Server
	asked     atomic.Int64 // calls of the paid engine

	environment servertest.Environment
}

// sharing starts two processes on a storage.
func sharing(t *testing.T, storage string, more servertest.Environment) *outage {
	t.Helper()
	o := &outage{t: t, engine: asrtest.New(t)}
	o.engine.Always(func(asrtest.Call) asrtest.Reply {
		o.asked.Add(1)
		return asrtest.Plain("Hello.")
	})
	o.environment = quiet(t).With(servertest.Environment{
		"RATELIMIT_STORAGE_URI": storage, "API_TOKEN_RATE_LIMIT_READ": strconv.Itoa(wholeFigure) + " per hour",
		"API_TOKEN_RATE_LIMIT_PROCESS":           "1000 per hour",
		"RATELIMIT_STORAGE_TIMEOUT_MILLISECONDS": strconv.Itoa(int(storageTimeout.Milliseconds())),
		"RATELIMIT_STORAGE_PROBE_MILLISECONDS":   "200", "METRICS_ADDR": "127.0.0.1:0",
		"TRANSCRIPTION_BASE_URL": o.engine.BaseURL(), "TRANSCRIPTION_API_KEY": "test",
	}).With(more)
	o.processes = start(t, o.environment, 2)
	o.clients = account(t, o.environment, o.processes, 1)
	for i := range o.processes {
		o.await(i, "stenometer_processes_alive 2")
	}
	return o
}

// metrics is what a process counts.
func (o *outage) metrics(process int) string {
	o.t.Helper()
	client := o.processes[process].Client("")
	client.URL = "http://" + o.processes[process].LogField("serving metrics", "address")
	return string(client.Get("/metrics").Body)
}

// await waits until a process's metrics have all of the lines.
func (o *outage) await(process int, lines ...string) {
	o.t.Helper()
	servertest.Eventually(o.t, 30*time.Second, strings.Join(lines, " and "), func() bool {
		text := o.metrics(process)
		for _, line := range lines {
			if !strings.Contains(text, "\n"+line+"\n") {
				return false
			}
		}
		return true
	})
}

func (o *outage) read(process int) servertest.Answer {
	o.t.Helper()
	return o.clients[process].Get("/api/v1/recordings")
}

// spend starts paid work on a recording that is not there: 404 says that the guard let it through.
func (o *outage) spend(process int) servertest.Answer {
	o.t.Helper()
	return o.clients[process].Send(http.MethodPost, "/api/v1/recordings/999/transcribe", map[string]any{})
}

// away wants an outage to be handled by the default policy in a process: reads are counted there, at its part of the
// figure, and paid work is refused. Once the storage counts as away no request waits for it.
func (o *outage) away(process int) {
	o.t.Helper()
	passed := 0
	for began := time.Now(); !strings.Contains(o.metrics(process), "\nstenometer_limits_breaker_open 1\n"); {
		if answer := o.read(process); answer.Status != http.StatusOK {
			o.t.Fatalf("a read while the outage is noticed: %v", answer)
		}
		if passed++; passed == itsPart || time.Since(began) > 30*time.Second {
			o.t.Fatalf("after %d reads the storage does not count as away", passed)
		}
	}
	answer := o.timed(process, o.read)
	for ; answer.Status == http.StatusOK; answer = o.timed(process, o.read) {
		if limit := answer.Header.Get("X-RateLimit-Limit"); limit != strconv.Itoa(itsPart) {
			o.t.Fatalf("a read shows the limit %s, want the process's part", limit)
		}
		if passed++; passed > itsPart {
			break
		}
	}
	if answer.Status != http.StatusTooManyRequests || passed != itsPart {
		o.t.Errorf("%d reads passed, then %v; want %d, then 429", passed, answer, itsPart)
	}
	for range 3 {
		refused := o.timed(process, o.spend)
		if refused.Status != http.StatusServiceUnavailable || refused.Code() != "limits_unavailable" || refused.Header.Get("Retry-After") != "1" {
			o.t.Errorf("paid work: %v with Retry-After %q, want 503 limits_unavailable with 1", refused, refused.Header.Get("Retry-After"))
		}
	}
	ready := o.processes[process].Client("").Get("/readyz")
	if ready.Status != http.StatusOK || !containsAll(string(ready.Body), "the storage of the limits does not answer", "reads and writes are counted by each process, paid work is refused") {
		o.t.Errorf("readyz: %v, want 200 that names the fault and what happens", ready)
	}
	o.await(process, "stenometer_limits_storage_up 0", "stenometer_limits_storage_outages_total 1")
}

// timed wants a request not to wait for the storage.
func (o *outage) timed(process int, request func(int) servertest.Answer) servertest.Answer {
	o.t.Helper()
	began := time.Now()
	answer := request(process)
	if took := time.Since(began); took > storageTimeout/2 {
		o.t.Errorf("a request took %v while the storage counts as away", took)
	}
	return answer
}

// back wants a process to have returned to the storage within seconds, and to have logged one outage.
func (o *outage) back(process int) {
	o.t.Helper()
	servertest.Eventually(o.t, 10*time.Second, "paid work is admitted again", func() bool {
		return o.spend(process).Status == http.StatusNotFound
	})
	if answer := o.read(process); answer.Header.Get("X-RateLimit-Limit") != strconv.Itoa(wholeFigure) {
		o.t.Errorf("a read after the outage: %v with the limit %s, want the whole figure", answer, answer.Header.Get("X-RateLimit-Limit"))
	}
	o.await(process, "stenometer_limits_storage_up 1", "stenometer_limits_breaker_open 0")
	for _, line := range []string{"the storage of the limits does not answer", "the storage of the limits answers again"} {
		if n := strings.Count(o.processes[process].Logs(), `"msg":"`+line+`"`); n != 1 {
			o.t.Errorf("process %d logged %d times %q, want once", process, n, line)
		}
	}
}
