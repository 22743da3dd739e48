package recordings_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/llm/citations"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/streams"
	"github.com/stenometer/stenometer/tests/llmtest"
)

type uncounted struct{}

func (uncounted) StreamsInFlight(string, int)   {}
func (uncounted) StreamRejected(string, string) {}

// opened runs what answers with a stream, and gives its events and what the door would answer with.
func (r *rig) opened(run func(ctx context.Context, opener streams.Opener) error) (events []json.RawMessage, err error) {
	r.t.Helper()
	made, err := streams.New(streams.Options{
		Slots: limits.Slots{Leases: limits.NewMemory(time.Now)}, Places: 1, Lease: time.Minute, Heartbeat: time.Minute,
		Clocks:  streams.Clocks{FirstByte: patience, Idle: patience, Total: patience, ClientStall: patience},
		Metrics: uncounted{}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		ended <- run(request.Context(), made.Openers().Of(w, request, streams.Caller{OrganizationID: 1, Frames: streams.APIv1}))
	}))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, _ := io.ReadAll(response.Body)
	for line := range strings.Lines(string(raw)) {
		if data, found := strings.CutPrefix(line, "data: "); found {
			events = append(events, json.RawMessage(data))
		}
	}
	return events, <-ended
}

// streamed asks a question and gives the joined text, the sources as they came, and whether the end was told. err is what
// the door would answer with.
func (r *rig) streamed(p auth.Principal, id int64, q recordings.Question) (text string, sources []citations.Source, whole bool, err error) {
	r.t.Helper()
	events, err := r.opened(func(ctx context.Context, opener streams.Opener) error {
		return r.recordings.ChatStream(ctx, p, r.purse, opener, id, q, recordings.ChatFrames{
			Delta:   func(text string) any { return map[string]any{"delta": text} },
			Sources: func(sources []citations.Source) any { return map[string]any{"sources": sources} },
		})
	})
	for _, raw := range events {
		var event struct {
			Delta   string
			Sources []citations.Source
			End     bool `json:"end_of_stream"`
		}
		if json.Unmarshal(raw, &event) == nil {
			text, whole = text+event.Delta, event.End
			sources = append(sources, event.Sources...)
		}
	}
	return text, sources, whole, err
}

// A streamed answer is what the answer is without a stream, about a long recording too: its parts are gathered in silence
// and in one hold, and what no model has seen is told at the end.
func TestChatStreamIsTheAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newTextRig(t, url, "", func(s *settings) { s.recordings.TextBounds.PartChars, s.recordings.TextBounds.MaxParts = 1000, 2 })
		model.Always(func(call llmtest.Call) llmtest.Reply {
			if call.Cap() == chatCap {
				return llmtest.Says(`All of it [S0 "the garden"], again [S0 "the garden"] and [S0`)
			}
			return llmtest.Says("Found here.")
		})
		id := r.talk(60)
		q := recordings.Question{Message: "What of?", Sources: true}
		reply, err := r.ask(id, q)
		if err != nil || reply.LeftOut == nil {
			t.Fatalf("the reply is %+v, %v", reply, err)
		}
		text, sources, whole, err := r.streamed(r.owner, id, q)
		if err != nil || !whole || text != given(reply.Response) || len(sources) != 1 || !sources[0].Verified || strings.Contains(text, "Found") {
			t.Errorf("the stream is %q, %+v, %v, %v; the reply %q", text, sources, whole, err, given(reply.Response))
		}
		if calls := model.Calls(); len(calls) != 6 || calls[2].Stream || !calls[3].Stream || !calls[5].Stream {
			t.Errorf("%d calls", len(calls))
		}
		if entries := r.ledger(id); len(entries) != 6 || entries[5].ChargedMicros == 0 || r.month().Held != (models.Amount{}) {
			t.Errorf("the ledger tells %+v", entries)
		}
	})
}

// A service may say in one piece what fits into no event: the reader has all of it.
func TestChatStreamTellsMuchAtOnce(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", nil)
	id, long := r.talk(3), strings.TrimSpace(strings.Repeat("All of the garden. ", 16<<10))
	model.Script(llmtest.Chunks(long))
	if text, _, whole, err := r.streamed(r.owner, id, recordings.Question{Message: "What of?"}); err != nil || !whole || text != long {
		t.Errorf("of %d bytes %d came, whole: %v, %v", len(long), len(text), whole, err)
	}
}

// What a question may not be is refused before a stream is opened; a caller that may not read is told nothing, and no model
// is asked.
func TestChatStreamKeepsTheRulesOfChat(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", nil)
	id := r.talk(3)
	stranger := r.principal(r.account("stranger"), "full")
	_, _, whole, err := r.streamed(stranger, id, recordings.Question{Message: "x"})
	if expect(t, err, problems.NotFound); whole {
		t.Error("a stranger has a stream")
	}
	_, _, _, err = r.streamed(r.owner, id, recordings.Question{Message: " "})
	expect(t, err, problems.InvalidParameter)
	text, sources, whole, err := r.streamed(r.principal(r.user, "process"), id, recordings.Question{Message: "x", Sources: true})
	if err != nil || text != "" || len(sources) > 0 || !whole {
		t.Errorf("who may not read is told %q, %v, %v, %v", text, sources, whole, err)
	}
	r.grant(100)
	_, _, _, err = r.streamed(r.owner, id, recordings.Question{Message: "x"})
	expect(t, err, problems.BudgetExceeded)
	if len(model.Calls()) != 0 || r.month().Held != (models.Amount{}) {
		t.Errorf("%d calls, %+v", len(model.Calls()), r.month())
	}
}
