package tests

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/llmtest"
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

// streamingRows are requests for a stream on each row that has them; without "stream" they are answered at once.
var streamingRows = map[string]map[string]any{
	"POST /api/v1/inquire":                    {"question": "Who keeps bees?"},
	"POST /api/v1/recordings/:recording/chat": {"message": "What is it about?"},
	"POST /v1/chat/completions":               {"model": "scripted", "messages": []any{map[string]any{"role": "user", "content": "What of bees?"}}},
}

// streamed is one streaming row, its request, and who asks.
type streamed struct {
	t      *testing.T
	r      *moneyRig
	client *servertest.Client
	path   string
	body   map[string]any
}

// asks sends the request, for a stream or not.
func (s streamed) asks(client *servertest.Client, stream bool, header ...string) *opened {
	s.t.Helper()
	body := map[string]any{"stream": stream}
	for name, value := range s.body {
		body[name] = value
	}
	return opensStream(s.t, &http.Transport{Proxy: nil, DisableKeepAlives: true}, client, s.path, body, header...)
}

// begins opens a stream and reads its first event.
func (s streamed) begins() *opened {
	s.t.Helper()
	stream := s.asks(s.client, true).begun()
	if stream.event() == nil {
		s.t.Fatal("a stream without an event")
	}
	return stream
}

// Rule: every row that streams has all that bounds a stream, in both forms of its answer. The rows are those of the live
// table: a row that is not known here fails.
func TestEveryStreamingRowIsGuarded(t *testing.T) {
	t.Parallel()
	r := streamRig(t, "", servertest.Environment{"AI_STREAM_MAX_CONCURRENT_PER_ORG": "1", "ENABLE_INQUIRE_MODE": "true"})
	client, id := r.payer(t, "rich", "none")
	poor, his := r.payer(t, "poor", "0.1")
	r.model.Always(func(call llmtest.Call) llmtest.Reply {
		if !call.Stream {
			return llmtest.Says("Of bees.")
		}
		return until(1, (&gate{}).open)
	})
	var seen []string
	for _, row := range liveTable(t).Rows() {
		if !row.Streams {
			continue
		}
		name := row.Method + " " + row.Path
		seen = append(seen, name)
		t.Run(name, func(t *testing.T) {
			body, known := streamingRows[name]
			if !known {
				t.Fatal("it streams and is not tested here")
			}
			path := func(id int64) string { return strings.ReplaceAll(row.Path, ":recording", at("%d", id)) }
			s := streamed{t, r, client, path(id), body}
			s.takesASlot()
			s.endsWithItsCredential()
			s.isRefusedWithAKey()
			s.reachesNobodyWhenRefused()
			streamed{t, r, poor, path(his), body}.isRefusedWithoutMoney()
		})
	}
	if len(seen) != len(streamingRows) {
		t.Errorf("the streaming rows are %v", seen)
	}
}

// takesASlot: while the only slot is held a stream is refused with a hint, reaches no provider and holds no money, and an
// answer that does not stream needs none; the slot and the provider are free within a second of the client's leaving.
func (s streamed) takesASlot() {
	s.t.Helper()
	first := s.begins()
	before, held := len(s.r.model.Calls()), used(s.t, s.client).Account.Held
	second := s.asks(s.client, true)
	second.refused(http.StatusTooManyRequests, "stream_limit_reached")
	if second.response.Header.Get("Retry-After") == "" || len(s.r.model.Calls()) != before || used(s.t, s.client).Account.Held != held {
		s.t.Errorf("a second stream has the headers %v and %d calls", second.response.Header, len(s.r.model.Calls())-before)
	}
	if answer := s.asks(s.client, false); answer.response.StatusCode != http.StatusOK || !strings.HasPrefix(answer.response.Header.Get("Content-Type"), "application/json") {
		s.t.Errorf("without stream it is answered %d", answer.response.StatusCode)
	}
	aborted, left := s.r.model.Aborted(), time.Now()
	first.leave()
	servertest.Eventually(s.t, 10*time.Second, "the provider is left", func() bool { return s.r.model.Aborted() > aborted })
	if took := time.Since(left); took > time.Second {
		s.t.Errorf("the provider was left after %v", took)
	}
	for {
		next := s.asks(s.client, true)
		if next.response.StatusCode == http.StatusOK {
			next.leave()
			break
		}
		if time.Since(left) > time.Second {
			s.t.Fatal("the slot was not free within a second")
		}
		<-time.After(20 * time.Millisecond)
	}
	servertest.Eventually(s.t, 10*time.Second, "all is settled", func() bool { return used(s.t, s.client).Account.Held == 0 })
}

// endsWithItsCredential: within a second of its token's end.
func (s streamed) endsWithItsCredential() {
	s.t.Helper()
	other := servertest.ClientOf(s.t, s.client.URL)
	other.Header.Set("Authorization", "Bearer "+servertest.CreateToken(s.t, s.r.environment, "rich@example.org"))
	stream := streamed{s.t, s.r, other, s.path, s.body}.begins()
	if answer := other.Send("DELETE", "/api/v1/tokens/current", nil); answer.Status >= 300 {
		s.t.Fatalf("the token was not revoked: %v", answer)
	}
	revoked := time.Now()
	stream.endsWith("invalid_token")
	if took := time.Since(revoked); took > time.Second {
		s.t.Errorf("it ended %v after its token", took)
	}
}

// isRefusedWithAKey: a stream cannot be kept and sent again.
func (s streamed) isRefusedWithAKey() {
	s.t.Helper()
	before := len(s.r.model.Calls())
	s.asks(s.client, true, "Idempotency-Key", strings.ReplaceAll(s.path, "/", "-")).refused(http.StatusBadRequest, "invalid_parameter")
	if calls := len(s.r.model.Calls()); calls != before {
		s.t.Errorf("with a key of idempotency it made %d calls", calls-before)
	}
}

// isRefusedWithoutMoney: in both forms, before any provider is asked.
func (s streamed) isRefusedWithoutMoney() {
	s.t.Helper()
	before := len(s.r.model.Calls())
	for _, stream := range []bool{true, false} {
		s.asks(s.client, stream).refused(http.StatusPaymentRequired, "budget_exceeded")
	}
	if calls := len(s.r.model.Calls()); calls != before {
		s.t.Errorf("without money it made %d calls", calls-before)
	}
}

// reachesNobodyWhenRefused: in both forms, without a credential or its scope, and beyond what a request may send.
func (s streamed) reachesNobodyWhenRefused() {
	s.t.Helper()
	nobody, reader := servertest.ClientOf(s.t, s.client.URL), servertest.ClientOf(s.t, s.client.URL)
	reader.Header.Set("Authorization", "Bearer "+servertest.CreateToken(s.t, s.r.environment, "rich@example.org", "read"))
	long := strings.Repeat("long ", 50_000)
	oversized := streamed{s.t, s.r, s.client, s.path, map[string]any{
		"model": "scripted", "question": long, "message": long, "messages": []any{map[string]any{"role": "user", "content": long}},
	}}
	before := len(s.r.model.Calls())
	for _, stream := range []bool{true, false} {
		s.asks(nobody, stream).refused(http.StatusUnauthorized, "authentication_required")
		s.asks(reader, stream).refused(http.StatusForbidden, "insufficient_scope")
		oversized.asks(s.client, stream).refused(http.StatusRequestEntityTooLarge, "payload_too_large")
	}
	if calls := len(s.r.model.Calls()); calls != before || used(s.t, s.client).Account.Held != 0 {
		s.t.Errorf("what is refused made %d calls", calls-before)
	}
}
