package tests

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
	"github.com/stenometer/stenometer/tests/testservices"
)

// replicas are three processes on one database and one storage of slots, all with one organization's three places.
type replicas struct {
	t         *testing.T
	r         *moneyRig
	processes []*servertest.Process
	client    *servertest.Client
	id        int64
}

// leaseOfReplicas is shorter than the streams of the tests: it has to be renewed.
const leaseOfReplicas = time.Second

func newReplicas(t *testing.T, settings servertest.Environment) *replicas {
	t.Helper()
	r := streamRig(t, "", settings.With(servertest.Environment{
		"AI_STREAM_LEASE_SECONDS": strconv.FormatFloat(leaseOfReplicas.Seconds(), 'g', -1, 64), "RATELIMIT_STORAGE_TIMEOUT_MILLISECONDS": "5000",
		"RATELIMIT_ON_STORAGE_ERROR": "deny,deny,deny",
	}))
	all := &replicas{t: t, r: r, processes: append(start(t, r.environment, 2), r.process)}
	all.client, all.id = r.payer(t, "crowd", "none")
	r.model.Always(func(llmtest.Call) llmtest.Reply { return until(1, (&gate{}).open) })
	return all
}

// asks opens a stream by one of the processes; nil when there was no slot.
func (a *replicas) asks(process int) *opened {
	a.t.Helper()
	client := servertest.ClientOf(a.t, a.processes[process].URL)
	client.Header = a.client.Header
	stream := asksForStream(a.t, client, a.id, nil)
	if stream.response.StatusCode != http.StatusOK {
		stream.refused(http.StatusTooManyRequests, "stream_limit_reached")
		return nil
	}
	stream.event()
	return stream
}

// begins opens a stream as soon as there is a slot.
func (a *replicas) begins(process int, within time.Duration) *opened {
	a.t.Helper()
	for began := time.Now(); ; <-time.After(5 * time.Millisecond) {
		if stream := a.asks(process); stream != nil {
			return stream
		}
		if time.Since(began) > within {
			a.t.Fatalf("no slot was free within %v", within)
		}
	}
}

// Rule: three slots are three over all processes, on Redis and on the database. A lease that is shorter than its stream
// is renewed (H-021); a process that was killed gives its slots back when its leases have ended, and a client that leaves
// within a second, each time (H-012).
func TestSlotsHoldOverProcesses(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]func(*testing.T) servertest.Environment{
		"Redis": func(t *testing.T) servertest.Environment {
			t.Helper()
			return servertest.Environment{"RATELIMIT_STORAGE_URI": testservices.OwnRedis(t)}
		},
		"PostgreSQL": func(t *testing.T) servertest.Environment {
			t.Helper()
			return servertest.Environment{"RATELIMIT_STORAGE_URI": "database://", "DATABASE_URL": modelstest.PostgresURL(t)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := newReplicas(t, settings(t))
			streams := make([]*opened, len(all.processes))
			for i := range streams {
				if streams[i] = all.asks(i); streams[i] == nil {
					t.Fatalf("stream %d of three was refused", i+1)
				}
			}
			for began := time.Now(); time.Since(began) < 3*leaseOfReplicas; <-time.After(leaseOfReplicas / 3) {
				for i := range all.processes {
					if all.asks(i) != nil {
						t.Fatalf("process %d opened a fourth stream after %v", i, time.Since(began))
					}
				}
			}
			if calls := len(all.r.model.Calls()); calls != 3 {
				t.Errorf("the provider had %d calls, want 3", calls)
			}
			all.processes[0].Kill()
			streams[0] = all.begins(1, 2*leaseOfReplicas)
			if all.asks(2) != nil {
				t.Error("one process died with one stream, and two slots were free")
			}
			for round := range 100 {
				i := round % 3
				streams[i].leave()
				streams[i] = all.begins(1+round%2, time.Second)
			}
			if all.asks(1) != nil || all.asks(2) != nil {
				t.Error("after 100 clients have left there is a slot too many")
			}
		})
	}
}
