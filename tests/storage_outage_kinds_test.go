package tests

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/tests/servertest"
	"github.com/stenometer/stenometer/tests/testservices"
)

// Rule: a failover of the storage of the limits is survived without a restart and without an answer 5xx to what the
// policy counts locally.
func TestAFailoverOfTheStorageOfTheLimits(t *testing.T) {
	t.Parallel()
	storage := testservices.Sentinel(t)
	o := sharing(t, storage.URL, servertest.Environment{
		"API_TOKEN_RATE_LIMIT_READ": "100000 per hour", "API_USER_RATE_LIMIT_READ": "0",
	})
	over := make(chan struct{})
	go func() {
		defer close(over)
		storage.FailOver()
	}()
	for failing := true; failing; {
		select {
		case <-over:
			failing = false
		default:
		}
		for i := range o.processes {
			if answer := o.read(i); answer.Status != http.StatusOK {
				t.Fatalf("a read during the failover: %v", answer)
			}
		}
	}
	for i := range o.processes {
		servertest.Eventually(t, 15*time.Second, "paid work is admitted by the new master", func() bool {
			return o.spend(i).Status == http.StatusNotFound
		})
		o.await(i, "stenometer_limits_storage_up 1", "stenometer_limits_breaker_open 0")
	}
	if keys := storage.Replica.Client().Keys(t.Context(), "stn:rl:*process*").Val(); len(keys) == 0 {
		t.Error("the new master counts nothing")
	}
}

// Rule: database:// counts in PostgreSQL. While that is away nobody can be told apart either, so that every credential
// is answered 503, and the server recovers by itself.
func TestLimitsInADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	address, err := url.Parse(modelstest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := testservices.NewProxy(t, address.Host)
	address.Host = proxy.Address
	o := sharing(t, "database://", servertest.Environment{
		"DATABASE_URL": address.String(), "SECRET_KEY": "0123456789abcdef0123456789abcdef",
	})
	if answer := o.read(0); answer.Header.Get("X-RateLimit-Remaining") != "19" {
		t.Fatalf("a read: %v, %s left", answer, answer.Header.Get("X-RateLimit-Remaining"))
	}
	if answer := o.read(1); answer.Header.Get("X-RateLimit-Remaining") != "18" {
		t.Errorf("a read by the other process: %v, %s left", answer, answer.Header.Get("X-RateLimit-Remaining"))
	}
	proxy.Cut()
	servertest.Eventually(t, 30*time.Second, "credentials cannot be checked", func() bool {
		answer := o.read(0)
		return answer.Status == http.StatusServiceUnavailable && answer.Code() == "database_unavailable" && answer.Header.Get("Retry-After") != ""
	})
	if ready := o.processes[0].Client("").Get("/readyz"); ready.Status != http.StatusServiceUnavailable {
		t.Errorf("readyz: %v, want 503", ready)
	}
	proxy.Mend()
	for i := range o.processes {
		servertest.Eventually(t, 30*time.Second, "reads are counted in the database again", func() bool {
			answer := o.read(i)
			return answer.Status == http.StatusOK && answer.Header.Get("X-RateLimit-Limit") == "20"
		})
	}
}

// Rule: with a SQLite database, database:// counts in a file of its own beside it, over all processes and restarts.
func TestLimitsInAFileBesideTheDatabase(t *testing.T) {
	t.Parallel()
	o := sharing(t, "database://", nil)
	for n := range wholeFigure {
		if answer := o.read(n % 2); answer.Status != http.StatusOK {
			t.Fatalf("read %d: %v", n+1, answer)
		}
	}
	for i := range o.processes {
		if answer := o.read(i); answer.Status != http.StatusTooManyRequests {
			t.Errorf("one read more by process %d: %v, want 429", i, answer)
		}
	}
	again := servertest.Start(t, o.environment)
	if answer := again.Client(strings.TrimPrefix(o.clients[0].Header.Get("Authorization"), "Bearer ")).Get("/api/v1/recordings"); answer.Status != http.StatusTooManyRequests {
		t.Errorf("by a process that started later: %v, want 429", answer)
	}
	if _, err := os.Stat(filepath.Join(o.environment["DATA_DIR"], "stenometer-limits.db")); err != nil {
		t.Error(err)
	}
}
