package tests

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: a stream that waits holds no connection, transaction or lock of the database. With all slots full and two
// connections in the pool, routes that read and write answer as they did before.
func TestFullSlotsLeaveTheDatabaseFree(t *testing.T) {
	t.Parallel()
	for name, address := range modelstest.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const places = 20
			r := streamRig(t, address(t), servertest.Environment{
				"DATABASE_MAX_CONNECTIONS": "2", "AI_STREAM_MAX_CONCURRENT_PER_ORG": "20",
			})
			client, id := r.payer(t, "waiter", "none")
			usual := unrelated(t, client, id)
			var later gate
			r.model.Always(func(llmtest.Call) llmtest.Reply { return until(1, later.open) })
			var streams []*opened
			for range places {
				stream := asksForStream(t, client, id, nil).begun()
				stream.event()
				streams = append(streams, stream)
			}
			asksForStream(t, client, id, nil).refused(http.StatusTooManyRequests, "stream_limit_reached")
			// A connection that one stream held would be waited for until that stream ends, which is never.
			if full := unrelated(t, client, id); full > 3*usual+500*time.Millisecond {
				t.Errorf("with %d streams open the slowest request took %v, without them %v", places, full, usual)
			}
			later.opened.Store(true)
			for _, stream := range streams {
				if events, _ := stream.rest(); len(events) == 0 || events[len(events)-1]["end_of_stream"] != true {
					t.Errorf("a stream ended with %v", events)
				}
			}
			if strings.Contains(r.process.Logs(), "database is locked") {
				t.Error("the database was locked")
			}
		})
	}
}

// unrelated is how long the slowest of some requests takes that read and write.
func unrelated(t *testing.T, client *servertest.Client, id int64) (slowest time.Duration) {
	t.Helper()
	for range 10 {
		for _, ask := range []func() servertest.Answer{
			func() servertest.Answer { return client.Get("/api/v1/recordings") },
			func() servertest.Answer { return client.Get(at("/api/v1/recordings/%d", id)) },
			func() servertest.Answer {
				return client.Send(http.MethodPatch, at("/api/v1/recordings/%d", id), map[string]any{"title": "Bees again"})
			},
		} {
			began := time.Now()
			if answer := ask(); answer.Status != http.StatusOK {
				t.Fatalf("it is answered %v", answer)
			}
			slowest = max(slowest, time.Since(began))
		}
	}
	return slowest
}
