package tests

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
	"github.com/stenometer/stenometer/tests/testservices"
)

// Rule: when the storage of the limits fails, each decision follows its policy: lists are counted by each process at
// its part of the figure, paid work is 503 with Retry-After, nothing is a bare 500, and no request waits for the
// storage once it counts as away. The guard returns by itself within seconds, and the log tells the outage once (H-031).
func TestAStorageOfTheLimitsThatFailsIsHandledByPolicy(t *testing.T) {
	t.Parallel()
	type fault struct{ begin, end func() }
	for name, prepare := range map[string]func(*testing.T) (storage string, f fault){
		"stopped": func(t *testing.T) (string, fault) {
			r := testservices.StoppableRedis(t)
			return r.URL, fault{r.Stop, r.Start}
		},
		"frozen": func(t *testing.T) (string, fault) {
			r := testservices.StoppableRedis(t)
			return r.URL, fault{r.Freeze, r.Thaw}
		},
		"slow": func(t *testing.T) (string, fault) {
			proxy := testservices.NewProxy(t, testservices.StoppableRedis(t).Address)
			return "redis://" + proxy.Address, fault{
				func() { proxy.Delay(2 * storageTimeout) }, func() { proxy.Delay(0) },
			}
		},
		"cut off": func(t *testing.T) (string, fault) {
			proxy := testservices.NewProxy(t, testservices.StoppableRedis(t).Address)
			return "redis://" + proxy.Address, fault{proxy.Cut, proxy.Mend}
		},
		"full": func(t *testing.T) (string, fault) {
			r := testservices.StoppableRedis(t)
			return r.URL, fault{
				func() { r.Configure("maxmemory", "1") }, func() { r.Configure("maxmemory", "0") },
			}
		},
		"refusing the password": func(t *testing.T) (string, fault) {
			r := testservices.StoppableRedis(t)
			return r.URL, fault{
				func() { r.Configure("requirepass", "another"); dropClients(t, r) },
				func() { r.Configure("requirepass", "") },
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storage, f := prepare(t)
			o := sharing(t, storage, nil)
			for i := range o.processes {
				if answer := o.read(i); answer.Status != http.StatusOK || answer.Header.Get("X-RateLimit-Limit") != "20" {
					t.Fatalf("before the outage: %v", answer)
				}
			}
			f.begin()
			for i := range o.processes {
				o.away(i)
			}
			f.end()
			for i := range o.processes {
				o.back(i)
			}
			if calls := o.asked.Load(); calls != 0 {
				t.Errorf("the paid engine was called %d times", calls)
			}
		})
	}
}

// dropClients ends every connection but the test's own.
func dropClients(t *testing.T, r *testservices.PrivateRedis) {
	t.Helper()
	if err := r.Client().ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
		t.Fatal(err)
	}
}

// Rule: a job never fails by an outage of the storage of the limits: it waits while paid work is refused, and is done
// when the storage is back. Nothing is paid for meanwhile.
func TestAJobWaitsForTheStorageOfTheLimits(t *testing.T) {
	t.Parallel()
	storage := testservices.StoppableRedis(t)
	o := sharing(t, storage.URL, servertest.Environment{"API_TOKEN_RATE_LIMIT_READ": "0"})
	storage.Stop()
	answer := o.clients[0].Upload("tone.wav", tone(t), nil)
	if answer.Status != http.StatusAccepted {
		t.Fatalf("an upload, which is no paid work: %v, want 202", answer)
	}
	id := recordingID(t, answer.JSON(t))
	servertest.Eventually(t, 30*time.Second, "a worker has tried to begin", func() bool {
		return strings.Contains(o.processes[0].Logs()+o.processes[1].Logs(), "it waits")
	})
	if status := o.clients[0].Get(at("/api/v1/recordings/%d/status", id)).JSON(t)["status"]; status == "COMPLETED" || status == "FAILED" {
		t.Errorf("the recording is %v while the storage is away", status)
	}
	if calls := o.asked.Load(); calls != 0 {
		t.Errorf("the paid engine was called %d times", calls)
	}
	storage.Start()
	o.clients[0].AwaitStatus(id, time.Minute, "COMPLETED")
	if calls := o.asked.Load(); calls != 1 {
		t.Errorf("the paid engine was called %d times, want once", calls)
	}
}

// Rule: where the operator says so, paid work goes on in an outage, and everything else stops.
func TestTheOtherPolicies(t *testing.T) {
	t.Parallel()
	storage := testservices.StoppableRedis(t)
	o := sharing(t, storage.URL, servertest.Environment{
		"RATELIMIT_ON_STORAGE_ERROR": "deny,deny,local", "API_TOKEN_RATE_LIMIT_PROCESS": "4 per hour", "API_TOKEN_RATE_LIMIT_WRITE": "1000 per hour",
	})
	storage.Stop()
	for range 5 {
		for _, answer := range []servertest.Answer{
			o.read(0),
			o.clients[0].Send(http.MethodDelete, "/api/v1/recordings/999", nil),
			o.processes[0].Client("").SignIn("ada@example.org", servertest.Password),
		} {
			if answer.Status != http.StatusServiceUnavailable || answer.Code() != "limits_unavailable" {
				t.Errorf("what is to be refused: %v, want 503 limits_unavailable", answer)
			}
		}
	}
	for n, want := range []int{404, 404, 429} {
		if answer := o.spend(0); answer.Status != want {
			t.Errorf("paid work %d: %v, want half of the 4 to pass", n+1, answer)
		}
	}
	if ready := o.processes[0].Client("").Get("/readyz"); !strings.Contains(string(ready.Body), "paid work is counted by each process, reads and writes are refused") {
		t.Errorf("readyz: %v", ready)
	}
}

// Rule: a server that starts before the storage of its limits is not ready until it has reached it, and then is.
func TestAServerThatStartsBeforeItsStorageIsNotReadyUntilItComes(t *testing.T) {
	t.Parallel()
	storage := testservices.StoppableRedis(t)
	storage.Stop()
	process := servertest.Launch(t, servertest.Binary(t), servertest.Fresh(t).With(servertest.Environment{
		"RATELIMIT_STORAGE_URI": storage.URL, "RATELIMIT_STORAGE_TIMEOUT_MILLISECONDS": "1000",
	}), "serve")
	var ready servertest.Answer
	servertest.Eventually(t, time.Minute, "readyz names the storage", func() bool {
		ready = process.Client("").Get("/readyz")
		return strings.Contains(string(ready.Body), "the storage of the limits has not answered yet")
	})
	if ready.Status != http.StatusServiceUnavailable {
		t.Errorf("readyz before the first contact: %v, want 503", ready)
	}
	storage.Start()
	process.AwaitReady()
}

// Rule: a storage that refuses our password stops the start, with a message that names the variable and no secret.
func TestAStorageThatRefusesThePasswordStopsTheStart(t *testing.T) {
	t.Parallel()
	storage := testservices.StoppableRedis(t)
	storage.Configure("requirepass", "another")
	for _, user := range []string{"", ":hunter2@", "ada:hunter2@"} {
		result := servertest.Command(t, servertest.Fresh(t).With(servertest.Environment{
			"RATELIMIT_STORAGE_URI": strings.Replace(storage.URL, "://", "://"+user, 1),
		}), "", "serve")
		if result.Code == 0 || !strings.Contains(result.Errors, "RATELIMIT_STORAGE_URI") || strings.Contains(result.Errors, "hunter2") {
			t.Errorf("with %q the server ended with %d: %s", user, result.Code, result.Errors)
		}
	}
}

// Rule: a storage that was emptied is noticed, counted and logged once by each process.
func TestAnEmptiedStorageIsNoticed(t *testing.T) {
	t.Parallel()
	storage := testservices.StoppableRedis(t)
	o := sharing(t, storage.URL, nil)
	o.read(0)
	if err := storage.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for i, process := range o.processes {
		o.await(i, "stenometer_limits_storage_flushes_total 1")
		if n := strings.Count(process.Logs(), "has forgotten what was counted"); n != 1 {
			t.Errorf("process %d logged it %d times", i, n)
		}
	}
	if err := storage.Client().ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if answer := o.read(0); answer.Status != http.StatusOK {
		t.Errorf("a read after the scripts were forgotten: %v", answer)
	}
}
