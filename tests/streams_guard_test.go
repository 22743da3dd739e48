package tests

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/tests/servertest"
)

// streamers may write a stream to a client: nobody else says its media type or flushes an answer.
var streamers = []string{"streams", "routes"}

// Rule: no stream is written but by package streams, which takes a slot for it.
func TestOnlyStreamsWriteStreams(t *testing.T) {
	t.Parallel()
	found := 0
	walkRepository(t, func(name string) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || within(filepath.Dir(name), testPackages) {
			return
		}
		text := string(readFile(t, name))
		for _, word := range []string{`"Content-Type", "text/event-stream"`, "http.Flusher", ".Flush()", "http.NewResponseController"} {
			if !strings.Contains(text, word) || word == ".Flush()" && !strings.Contains(text, "net/http") {
				continue
			}
			if found++; !within(filepath.Dir(name), streamers) {
				t.Errorf("%s says %s: only %v write to a client piece by piece", name, word, streamers)
			}
		}
	})
	if found < 3 {
		t.Errorf("%d places found: the walk did not look", found)
	}
}

// Rule: every row that streams takes a slot before it asks a provider. The rows are those of the live table.
func TestEveryStreamingRowTakesASlot(t *testing.T) {
	t.Parallel()
	asked := map[string]map[string]any{
		"POST /api/v1/recordings/:recording/chat": {"message": "What is it about?", "stream": true},
	}
	r := streamRig(t, "", servertest.Environment{"AI_STREAM_MAX_CONCURRENT_PER_ORG": "0"})
	client, id := r.payer(t, "none", "none")
	before, seen := len(r.model.Calls()), []string{}
	for _, row := range liveTable(t).Rows() {
		if !row.Streams {
			continue
		}
		name := row.Method + " " + row.Path
		seen = append(seen, name)
		body, known := asked[name]
		if !known {
			t.Errorf("%s streams and is not tested here", name)
			continue
		}
		path := strings.ReplaceAll(row.Path, ":recording", at("%d", id))
		if answer := client.Send(row.Method, path, body); answer.Status != http.StatusTooManyRequests || answer.Code() != "stream_limit_reached" || answer.Header.Get("Retry-After") != "" {
			t.Errorf("%s without slots: %v", name, answer)
		}
	}
	if len(seen) != len(asked) || len(r.model.Calls()) != before || !slices.IsSorted(seen) {
		t.Errorf("rows %v, %d calls", seen, len(r.model.Calls())-before)
	}
}
