package tests

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// opened is one streamed answer as its client sees it.
type opened struct {
	t        *testing.T
	response *http.Response
	lines    *bufio.Reader
	leave    context.CancelFunc
}

// asksForStream asks a question about a recording, by a client that is not held against the API's document: that reads
// an answer to its end.
func asksForStream(t *testing.T, client *servertest.Client, id int64, body map[string]any, header ...string) *opened {
	t.Helper()
	asked := map[string]any{"message": "What is it about?", "stream": true}
	for name, value := range body {
		asked[name] = value
	}
	return opensStream(t, &http.Transport{Proxy: nil, DisableKeepAlives: true}, client, at("/api/v1/recordings/%d/chat", id), asked, header...)
}

// opensStream sends a request whose answer is read piece by piece.
func opensStream(t *testing.T, over http.RoundTripper, client *servertest.Client, path string, body any, header ...string) *opened {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(leave)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, client.URL+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = client.Header.Clone()
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := (&http.Client{Transport: over}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return &opened{t: t, response: response, lines: bufio.NewReader(response.Body), leave: leave}
}

// begun fails unless it is a stream.
func (o *opened) begun() *opened {
	o.t.Helper()
	if o.response.StatusCode != http.StatusOK || o.response.Header.Get("Content-Type") != "text/event-stream" {
		rest, _ := io.ReadAll(o.response.Body)
		o.t.Fatalf("answered %d %.300s", o.response.StatusCode, rest)
	}
	return o
}

// refused fails unless the stream was refused, with an ordinary answer.
func (o *opened) refused(status int, code string) map[string]any {
	o.t.Helper()
	var body map[string]any
	err := json.NewDecoder(o.response.Body).Decode(&body)
	if err != nil || o.response.StatusCode != status || codeOf(body) != code {
		o.t.Errorf("answered %d %v, %v, want %d %s", o.response.StatusCode, body, err, status, code)
	}
	return body
}

// codeOf is the code of an error, in an answer and in a frame, by our wire and by OpenAI's.
func codeOf(said map[string]any) any {
	if inner, ok := said["error"].(map[string]any); ok {
		return inner["code"]
	}
	return said["code"]
}

// event is the next one; nil at the end.
func (o *opened) event() map[string]any {
	o.t.Helper()
	for {
		line, err := o.lines.ReadString('\n')
		if err != nil {
			return nil
		}
		data, found := strings.CutPrefix(line, "data: ")
		if !found {
			continue
		}
		if data == "[DONE]\n" {
			return map[string]any{"end_of_stream": true} // OpenAI's way of saying so
		}
		var event map[string]any
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			o.t.Fatalf("%q: %v", line, err)
		}
		return event
	}
}

// rest is all events that are left, and the text that is in them.
func (o *opened) rest() (events []map[string]any, text string) {
	o.t.Helper()
	for event := o.event(); event != nil; event = o.event() {
		events = append(events, event)
		delta, _ := event["delta"].(string)
		text += delta
	}
	return events, text
}

// endsWith fails unless the last event is an error of a code, and none says that the answer is whole.
func (o *opened) endsWith(code string) {
	o.t.Helper()
	events, _ := o.rest()
	if len(events) == 0 || codeOf(events[len(events)-1]) != code {
		o.t.Errorf("the last events are %v, want the code %s", events, code)
	}
	for _, event := range events {
		if event["end_of_stream"] != nil {
			o.t.Errorf("a stream that failed says that it is whole: %v", events)
		}
	}
}

// until is a reply that says so many words and then waits for leave to go on.
func until(words int, open func() bool) llmtest.Reply {
	reply := llmtest.Chunks(strings.SplitAfter(strings.Repeat("bees ", words+1), " ")[:words+1]...)
	reply.Gate = func(ctx context.Context, piece int) bool {
		for piece >= words && !open() {
			select {
			case <-ctx.Done():
				return false
			case <-time.After(10 * time.Millisecond):
			}
		}
		return ctx.Err() == nil
	}
	return reply
}

// gate is one that is shut until it is opened.
type gate struct{ opened atomic.Bool }

func (g *gate) open() bool { return g.opened.Load() }
