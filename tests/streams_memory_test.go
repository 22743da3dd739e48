package tests

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: what is open costs little. A thousand streams, each waiting for a model after its first word, are less than
// 100 MiB of resident memory at their peak, opening included.
func TestSoakAThousandStreamsCostLittleMemory(t *testing.T) {
	if !servertest.Soak() {
		t.Skip("memory is measured where nothing else runs; make soak runs it")
	}
	const streams, most = 1000, 100 << 20
	model := llmtest.New(t)
	model.Always(func(llmtest.Call) llmtest.Reply { return until(1, (&gate{}).open) })
	environment := tenCents(t, quiet(t), model).With(servertest.Environment{
		"AI_STREAM_MAX_CONCURRENT_PER_ORG": "1000", "AI_STREAM_TOTAL_TIMEOUT_SECONDS": "600", "AI_STREAM_IDLE_TIMEOUT_SECONDS": "300",
	})
	process := servertest.Launch(t, servertest.PlainBinary(t), environment, "serve")
	process.AwaitReady()
	servertest.CreateUser(t, environment, "ada@example.org")
	client := process.Client(servertest.CreateToken(t, environment, "ada@example.org"))
	over := &http.Transport{Proxy: nil, DisableKeepAlives: true}
	opens := func() *opened {
		stream := opensStream(t, over, client, completionsPath, asks(map[string]any{"stream": true})).begun()
		stream.event()
		return stream
	}
	opens().leave() // what every stream needs is there from now on
	servertest.Eventually(t, 5*time.Second, "the first has left", func() bool { return model.Aborted() == 1 })
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", process.PID()), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	before := peakMemory(t, process)
	for range streams {
		opens()
	}
	if open := model.InFlight(); open != streams {
		t.Errorf("%d calls of the model are in flight, want %d", open, streams)
	}
	grown := peakMemory(t, process) - before
	t.Logf("%d streams: the memory grew by %.1f MiB", streams, float64(grown)/(1<<20))
	if grown >= most {
		t.Errorf("the memory grew by %d MiB, want less than %d", grown>>20, most>>20)
	}
}
