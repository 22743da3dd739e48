package tests

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/jobstest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// streamRig is one server whose answers cost 20 cents at most, or what a test says.
func streamRig(t *testing.T, database string, more servertest.Environment) *moneyRig {
	t.Helper()
	r := &moneyRig{speech: asrtest.New(t), model: llmtest.New(t)}
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	err := os.WriteFile(prices, []byte("currency: USD\naudio:\n  - {model: '*', per_minute: 0}\ntext:\n  - {model: scripted, input: 1, output: 1000}\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	r.environment = tenCents(t, quiet(t), r.model).With(servertest.Environment{
		"ASR_BASE_URL": r.speech.ASRBaseURL(), "PRICES_FILE": prices, "CHAT_MAX_TOKENS": "199", "SECRET_KEY": "0123456789abcdef0123456789abcdef",
	}).With(more)
	if database != "" {
		r.environment["DATABASE_URL"] = database
	}
	r.speech.Always(func(asrtest.Call) asrtest.Reply {
		return asrtest.Segments(asrtest.Segment{Start: 0, End: 0.4, Text: "My name is Ada and I keep bees.", Speaker: "SPEAKER_00"})
	})
	r.process = servertest.Start(t, r.environment)
	return r
}

// An answer that streams is heard while the model writes it, its sources come behind it, and it has its end; without
// stream the same question has its JSON. A key of idempotency is for the latter alone.
func TestAnAnswerStreams(t *testing.T) {
	t.Parallel()
	r := streamRig(t, "", nil)
	client, id := r.payer(t, "reader", "none")
	var later gate
	reply := llmtest.Chunks("Of ", "bees ", `[S0 "keep `, `bees"]`, ".")
	reply.Gate = until(2, later.open).Gate
	r.model.Script(reply)
	stream := asksForStream(t, client, id, map[string]any{"with_sources": true}).begun()
	if first := stream.event(); first["delta"] != "Of" {
		t.Errorf("the first event is %v", first)
	}
	later.opened.Store(true)
	events, text := stream.rest()
	if text != " bees [1]." || len(events) < 3 {
		t.Fatalf("then came %v", events)
	}
	sources, _ := events[len(events)-2]["sources"].([]any)
	if len(sources) != 1 || sources[0].(map[string]any)["verified"] != true || events[len(events)-1]["end_of_stream"] != true {
		t.Errorf("the last events are %v", events)
	}
	for name, want := range map[string]string{"Cache-Control": "no-transform", "X-Accel-Buffering": "no", "Vary": "Authorization"} {
		if got := stream.response.Header.Values(name); !strings.Contains(strings.Join(got, ","), want) {
			t.Errorf("%s is %v", name, got)
		}
	}
	r.model.Script(llmtest.Says("Of bees."))
	if answer := ask(client, id); answer.Status != http.StatusOK || answer.JSON(t)["response"] != "Of bees." {
		t.Errorf("without stream: %v", answer)
	}
	before := len(r.model.Calls())
	body := asksForStream(t, client, id, nil, "Idempotency-Key", "once").refused(http.StatusBadRequest, "invalid_parameter")
	if !strings.Contains(body["error"].(string), "Idempotency-Key") || len(r.model.Calls()) != before {
		t.Errorf("with a key: %v", body)
	}
}

// What fails before the model begins is an ordinary error; what fails later is the last event, and no end follows. The
// clocks end what is silent by their names, at the provider too; the times of ordinary answers and calls, which are
// shorter here than a stream, end none (H-017).
func TestAStreamThatFailsSaysSo(t *testing.T) {
	t.Parallel()
	r := streamRig(t, "", servertest.Environment{
		"AI_STREAM_FIRST_BYTE_TIMEOUT_SECONDS": "1", "AI_STREAM_IDLE_TIMEOUT_SECONDS": "1.5", "AI_STREAM_TOTAL_TIMEOUT_SECONDS": "4",
		"TEXT_MODEL_ATTEMPTS": "1", "AI_STREAM_MAX_CONCURRENT_PER_ORG": "1",
		"HTTP_HANDLER_TIMEOUT_SECONDS": "2.3", "TEXT_MODEL_TIMEOUT_SECONDS": "1.2", "UPLOAD_STALL_TIMEOUT_SECONDS": "2",
	})
	client, id := r.payer(t, "unlucky", "none")
	poor, his := r.payer(t, "poor", "0.1")
	asksForStream(t, poor, his, nil).refused(http.StatusPaymentRequired, "budget_exceeded")
	asksForStream(t, client, id, map[string]any{"message": " "}).refused(http.StatusBadRequest, "invalid_parameter")
	asksForStream(t, client, 999_999, nil).refused(http.StatusNotFound, "not_found")
	r.model.Script(llmtest.Fails(500), llmtest.Reply{Hold: true})
	asksForStream(t, client, id, nil).refused(http.StatusBadGateway, "provider_failed")
	asksForStream(t, client, id, nil).refused(http.StatusGatewayTimeout, "first_byte_timeout")
	broken, cut := llmtest.Chunks("bees ", "and "), llmtest.Chunks("bees ", "and ")
	broken.Breaks, cut.Drop = true, true
	slow := llmtest.Chunks(strings.SplitAfter(strings.Repeat("bees ", 30), " ")...).Each(500 * time.Millisecond)
	for _, c := range []struct {
		reply llmtest.Reply
		code  string
	}{
		{broken, "provider_failed"}, {cut, "provider_unavailable"}, {until(1, (&gate{}).open), "idle_timeout"}, {slow, "total_timeout"},
	} {
		aborted := r.model.Aborted()
		r.model.Script(c.reply)
		stream := asksForStream(t, client, id, nil).begun()
		if first := stream.event(); first["delta"] != "bees" {
			t.Errorf("%s: the first event is %v", c.code, first)
		}
		stream.endsWith(c.code)
		if strings.HasSuffix(c.code, "_timeout") {
			servertest.Eventually(t, 5*time.Second, "the provider is left", func() bool { return r.model.Aborted() > aborted })
		}
	}
	servertest.Eventually(t, 5*time.Second, "all is settled", func() bool { return chats(t, client).Held == 0 && chats(t, client).Calls == 6 })
	if logs := r.process.Logs(); strings.Contains(logs, "PROVIDER-SECRET") || !strings.Contains(logs, `"reason":"idle_timeout"`) {
		t.Errorf("the log is %.2000s", logs)
	}
}

// An organization has three streams at once, and a fourth is refused until one has ended; a refused one reaches no
// provider and leaves nothing held. Other requests, and answers that do not stream, take no slot.
func TestStreamsTakeSlots(t *testing.T) {
	t.Parallel()
	r := streamRig(t, "", nil)
	client, id := r.payer(t, "talker", "none")
	var later gate
	r.model.Always(func(call llmtest.Call) llmtest.Reply {
		if !call.Stream {
			return llmtest.Says("Of bees.")
		}
		return until(1, later.open)
	})
	var streams []*opened
	for range 3 {
		stream := asksForStream(t, client, id, nil).begun()
		stream.event()
		streams = append(streams, stream)
	}
	fourth := asksForStream(t, client, id, nil)
	body := fourth.refused(http.StatusTooManyRequests, "stream_limit_reached")
	if limit, _ := body["limit"].(map[string]any); limit["limit"] != 3.0 || fourth.response.Header.Get("Retry-After") == "" || len(r.model.Calls()) != 3 {
		t.Errorf("a fourth: %v after %d calls", body, len(r.model.Calls()))
	}
	if answer := ask(client, id); answer.Status != http.StatusOK {
		t.Errorf("without stream: %v", answer)
	}
	later.opened.Store(true)
	for _, stream := range streams {
		if events, _ := stream.rest(); len(events) == 0 || events[len(events)-1]["end_of_stream"] != true {
			t.Errorf("a stream ended with %v", events)
		}
	}
	if events, _ := asksForStream(t, client, id, nil).begun().rest(); events[len(events)-1]["end_of_stream"] != true {
		t.Errorf("a fifth: %v", events)
	}
}

// A credential that dies while its stream is open ends it within a second; so does a server that stops, and both say why.
func TestAStreamEndsWithItsCredentialAndItsServer(t *testing.T) {
	t.Parallel()
	r := streamRig(t, "", servertest.Environment{"SHUTDOWN_TIMEOUT_SECONDS": "10"})
	client, id := r.payer(t, "leaver", "none")
	other := servertest.ClientOf(t, r.process.URL)
	other.Header.Set("Authorization", "Bearer "+servertest.CreateToken(t, r.environment, "leaver@example.org"))
	r.model.Always(func(llmtest.Call) llmtest.Reply { return until(1, (&gate{}).open) })
	revoked, kept := asksForStream(t, other, id, nil).begun(), asksForStream(t, client, id, nil).begun()
	revoked.event()
	kept.event()
	if answer := other.Send("DELETE", "/api/v1/tokens/current", nil); answer.Status >= 300 {
		t.Fatalf("the token was not revoked: %v", answer)
	}
	began := time.Now()
	revoked.endsWith("invalid_token")
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	}
	began = time.Now()
	stopped := make(chan error, 1)
	go func() { stopped <- r.process.Stop() }()
	kept.endsWith("server_stopping")
	if err := <-stopped; err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("it stopped after %v with %v", time.Since(began), err)
	}
}

// The cases of streams that cost money, on both databases.
func TestTheCasesOfStreams(t *testing.T) {
	t.Parallel()
	for name, address := range jobstest.Migrated.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := streamRig(t, address(t), servertest.Environment{"AI_STREAM_MAX_CONCURRENT_PER_ORG": "6"})
			t.Run("holds fill a budget no longer than they last (H-003)", func(t *testing.T) { streamsHold(t, r) })
			t.Run("who leaves pays for what came (H-009)", func(t *testing.T) { leftStreamsPay(t, r) })
		})
	}
}

func streamsHold(t *testing.T, r *moneyRig) {
	client, id := r.payer(t, "holder", "1.01")
	var later gate
	r.model.Always(func(llmtest.Call) llmtest.Reply { return until(1, later.open).Using(1, 1) })
	var streams []*opened
	for range 5 {
		stream := asksForStream(t, client, id, nil).begun()
		stream.event()
		streams = append(streams, stream)
	}
	calls := len(r.model.Calls())
	sixth := asksForStream(t, client, id, nil)
	sixth.refused(http.StatusPaymentRequired, "budget_exceeded")
	if sixth.response.Header.Get("Retry-After") == "" || len(r.model.Calls()) != calls {
		t.Errorf("the sixth has the headers %v after %d calls", sixth.response.Header, len(r.model.Calls())-calls)
	}
	later.opened.Store(true)
	for _, stream := range streams {
		stream.rest()
	}
	if events, _ := asksForStream(t, client, id, nil).begun().rest(); events[len(events)-1]["end_of_stream"] != true {
		t.Errorf("the seventh: %v", events)
	}
	if stands := chats(t, client); stands.Held != 0 || stands.Calls != 6 || stands.Charged > 0.01 {
		t.Errorf("the ledger has %+v", stands)
	}
}

func leftStreamsPay(t *testing.T, r *moneyRig) {
	client, id := r.payer(t, "gone", "none")
	r.model.Always(func(llmtest.Call) llmtest.Reply { return until(6, (&gate{}).open) })
	charged, rounds := 0.0, 20
	if servertest.Soak() {
		rounds = 50
	}
	for round := range rounds {
		aborted := r.model.Aborted()
		stream := asksForStream(t, client, id, nil).begun()
		for range 5 {
			if stream.event()["delta"] == nil {
				t.Fatal("no five pieces came")
			}
		}
		left := time.Now()
		stream.leave()
		servertest.Eventually(t, 10*time.Second, "the provider is left", func() bool { return r.model.Aborted() > aborted })
		if took := time.Since(left); took > time.Second {
			t.Errorf("round %d: the provider was left after %v", round, took)
		}
		servertest.Eventually(t, 10*time.Second, "it is settled", func() bool {
			stands := chats(t, client)
			return stands.Calls == round+1 && stands.Held == 0
		})
		stands := chats(t, client)
		if stands.Charged <= charged || stands.Estimated != round+1 {
			t.Fatalf("after %d the ledger has %+v, before it %v", round+1, stands, charged)
		}
		charged = stands.Charged
	}
}

// The one slot of an organization is free within a second of its client's leaving: a hundred times (H-012).
func TestAClientThatLeavesGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	r := streamRig(t, "", servertest.Environment{"AI_STREAM_MAX_CONCURRENT_PER_ORG": "1"})
	client, id := r.payer(t, "fickle", "none")
	r.model.Always(func(llmtest.Call) llmtest.Reply { return until(1, (&gate{}).open) })
	for range 100 {
		began := time.Now()
		for {
			stream := asksForStream(t, client, id, nil)
			if stream.response.StatusCode == http.StatusOK {
				stream.event()
				stream.leave()
				break
			}
			stream.refused(http.StatusTooManyRequests, "stream_limit_reached")
			if time.Since(began) > time.Second {
				t.Fatal("the slot was not free within a second")
			}
			<-time.After(5 * time.Millisecond)
		}
	}
}
