package tests

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: the clocks of streams at their real length, which the other tests scale down.
func TestSoakStreamsByTheClock(t *testing.T) {
	if !servertest.Soak() {
		t.Skip("takes a minute and a half; make soak runs it")
	}
	t.Parallel()
	for name, c := range map[string]struct {
		settings servertest.Environment
		test     func(*testing.T, *moneyRig, *servertest.Client, int64)
	}{
		"a silence of 40 s has two heartbeats (H-016)":             {nil, silenceHasHeartbeats},
		"60 chunks, one a second, outlive ordinary times (H-017)":  {nil, chunksOutliveTimes},
		"5 s of silence, and a chunk every 4 s until 60 s (H-018)": {servertest.Environment{"AI_STREAM_IDLE_TIMEOUT_SECONDS": "5", "AI_STREAM_TOTAL_TIMEOUT_SECONDS": "60"}, idleAndTotal},
		"two streams of 75 s keep leases of 30 s (H-021)":          {servertest.Environment{"AI_STREAM_MAX_CONCURRENT_PER_ORG": "2"}, leasesAreKept},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := streamRig(t, "", c.settings)
			client, id := r.payer(t, "patient", "none")
			c.test(t, r, client, id)
		})
	}
}

// bees is an answer of so many words with a pause before each.
func bees(words int, pause time.Duration) llmtest.Reply {
	return llmtest.Chunks(strings.SplitAfter(strings.Repeat("bees ", words-1)+"bees", " ")...).Each(pause)
}

// wholly fails unless all words of an answer came, and its end.
func wholly(t *testing.T, stream *opened, words int) {
	t.Helper()
	events, text := stream.rest()
	if len(strings.Fields(text)) != words || events[len(events)-1]["end_of_stream"] != true {
		t.Errorf("of %d words came %q, and at last %v", words, text, events[len(events)-1])
	}
}

func silenceHasHeartbeats(t *testing.T, r *moneyRig, client *servertest.Client, id int64) {
	r.model.Script(bees(2, 40*time.Second))
	stream := asksForStream(t, client, id, nil).begun()
	beats := 0
	for {
		line, err := stream.lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == ": heartbeat\n" {
			beats++
			continue
		}
		if strings.HasPrefix(line, "data: {\"end") {
			break
		}
	}
	if beats != 4 {
		t.Errorf("two silences of 40 s had %d heartbeats, want 4", beats)
	}
}

func chunksOutliveTimes(t *testing.T, r *moneyRig, client *servertest.Client, id int64) {
	r.model.Script(bees(60, time.Second))
	wholly(t, asksForStream(t, client, id, nil).begun(), 60)
}

func idleAndTotal(t *testing.T, r *moneyRig, client *servertest.Client, id int64) {
	for _, c := range []struct {
		reply       llmtest.Reply
		code        string
		least, most time.Duration
	}{
		{until(2, (&gate{}).open), "idle_timeout", 5 * time.Second, 7 * time.Second},
		{bees(30, 4*time.Second), "total_timeout", 59 * time.Second, 62 * time.Second},
	} {
		aborted, began := r.model.Aborted(), time.Now()
		r.model.Script(c.reply)
		asksForStream(t, client, id, nil).begun().endsWith(c.code)
		if took := time.Since(began); took < c.least || took > c.most {
			t.Errorf("%s came after %v", c.code, took)
		}
		servertest.Eventually(t, 2*time.Second, "the provider is left", func() bool { return r.model.Aborted() > aborted })
	}
}

func leasesAreKept(t *testing.T, r *moneyRig, client *servertest.Client, id int64) {
	r.model.Always(func(llmtest.Call) llmtest.Reply { return bees(15, 5*time.Second) })
	began := time.Now()
	streams := []*opened{asksForStream(t, client, id, nil).begun(), asksForStream(t, client, id, nil).begun()}
	for _, at := range []time.Duration{20 * time.Second, 45 * time.Second, 70 * time.Second} {
		<-time.After(time.Until(began.Add(at)))
		asksForStream(t, client, id, nil).refused(http.StatusTooManyRequests, "stream_limit_reached")
	}
	for _, stream := range streams {
		wholly(t, stream, 15)
	}
	asksForStream(t, client, id, nil).begun().leave()
}
