package llm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// heard is what a listener was told.
type heard struct {
	begun, heard int
	said         []string
	until        func(said []string) error // asked after each piece
}

func (h *heard) listener() llm.Listener {
	return llm.Listener{
		Begun: func() { h.begun++ },
		Heard: func() { h.heard++ },
		Said: func(text string) error {
			h.said = append(h.said, text)
			if h.until == nil {
				return nil
			}
			return h.until(h.said)
		},
	}
}

// stream asks for an answer that is heard while it comes.
func (r *rig) stream(ctx context.Context, asked llm.Request, h *heard) (llm.Answer, error) {
	r.t.Helper()
	ctx, work, err := r.adapter.Open(ctx, r.purse, asked.Operation, r.adapter.Most(asked))
	if err != nil {
		r.t.Fatal(err)
	}
	defer work.Close()
	return work.Stream(ctx, asked, h.listener())
}

// A stream is asked for with its usage, heard piece by piece before its end, and charged at what the last chunk reports.
func TestStreamIsHeardWhileItComes(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	first := make(chan struct{})
	reply := llmtest.Chunks("Grace ", "sent ", "it.").Using(7, 3)
	reply.Gate = func(ctx context.Context, piece int) bool {
		if piece < 2 {
			return true
		}
		select { // nothing more comes before the first was heard
		case <-first:
			return true
		case <-ctx.Done():
			return false
		}
	}
	r.model.Script(reply)
	h := &heard{until: func(said []string) error {
		if len(said) == 1 {
			close(first)
		}
		return nil
	}}
	answer, err := r.stream(t.Context(), request(prompt), h)
	if err != nil || answer.Text != "Grace sent it." || answer.Model != "scripted" || answer.Cut || strings.Join(h.said, "") != answer.Text || h.begun != 1 || h.heard < 3 {
		t.Errorf("heard %q, %+v, %v", h.said, answer, err)
	}
	if call := r.model.Calls()[0]; !call.Stream || !call.AsksUsage || call.Cap() != 100 {
		t.Errorf("asked by %s", call.Body)
	}
	r.charged(r.line(), models.LedgerEntry{Outcome: "done", Source: "reported", InputTokens: 7, OutputTokens: 3, ChargedMicros: 37})
}

// A usage of zero is one; without any the prompt and what came are charged, and marked.
func TestStreamWithoutUsageIsEstimated(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.model.Script(llmtest.Chunks("Grace ", "sent it.").Using(0, 0))
	if _, err := r.stream(t.Context(), request(prompt), &heard{}); err != nil {
		t.Fatal(err)
	}
	r.charged(r.line(), models.LedgerEntry{Outcome: "done", Source: "reported"})
	r = newRig(t, nil)
	r.model.Script(llmtest.Chunks("Grace ", "sent it.").WithoutUsage())
	if _, err := r.stream(t.Context(), request(prompt), &heard{}); err != nil {
		t.Fatal(err)
	}
	r.charged(r.line(), models.LedgerEntry{Outcome: "done", Source: "estimated", InputTokens: 10, OutputTokens: 5, ChargedMicros: 60})
}

// A stream that breaks off, or tells of an error inside of its success, has failed: what came is charged, the reader keeps
// what it has, and the question is not asked again.
func TestStreamThatBreaksOffIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*llmtest.Reply)
		kind   providers.Kind
	}{
		"cut off": {func(reply *llmtest.Reply) { reply.Drop = true }, providers.Unreachable},
		"ended without its end": {func(reply *llmtest.Reply) {
			chunk := func(text string) string { return `data: {"choices":[{"delta":{"content":"` + text + `"}}]}` + "\n\n" }
			*reply = llmtest.Sends(chunk("Grace ") + chunk("sent ") + chunk("it"))
			reply.Headers = map[string]string{"Content-Type": "text/event-stream"}
		}, providers.Unreachable},
		"an error inside": {func(reply *llmtest.Reply) { reply.Breaks = true }, providers.ServiceFault},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(s *settings) { s.adapter.Attempts = 3 })
			reply := llmtest.Chunks("Grace ", "sent ", "it")
			c.change(&reply)
			r.model.Script(reply)
			h := &heard{}
			_, err := r.stream(t.Context(), request(prompt), h)
			var failure *providers.Error
			if !errors.As(err, &failure) || failure.Kind != c.kind || strings.Join(h.said, "") != "Grace sent it" {
				t.Errorf("heard %q, %v", h.said, err)
			}
			r.discreet(err)
			r.called(1)
			if line := r.line(); line.Outcome != "failed" || line.Source != "estimated" || line.OutputTokens == 0 {
				t.Errorf("the ledger has %+v", line)
			}
		})
	}
}

// What fails before anything came is asked for again, and each attempt has its line.
func TestStreamThatHasNotBegunIsAskedForAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) { s.adapter.Attempts = 2 })
	r.model.Script(llmtest.Fails(503), llmtest.Chunks("Grace."))
	h := &heard{}
	if answer, err := r.stream(t.Context(), request(prompt), h); err != nil || answer.Text != "Grace." || h.begun != 1 {
		t.Errorf("%+v, %v", answer, err)
	}
	if lines := r.ledger(); len(lines) != 2 || lines[0].ChargedMicros != 0 || lines[1].ChargedMicros == 0 {
		t.Errorf("the ledger has %+v", lines)
	}
}

// A listener that fails, as one does whose client left, ends the provider's call at once and is charged for what came.
func TestStreamEndsWithItsListener(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	reply := llmtest.Chunks("one ", "two ", "three ", "four ", "five ")
	reply.Gate = func(ctx context.Context, piece int) bool {
		if piece == 4 {
			<-ctx.Done()
		}
		return piece < 4
	}
	r.model.Script(reply)
	ctx, leave := context.WithCancelCause(t.Context())
	gone := errors.New("the client has left")
	h := &heard{until: func(said []string) error {
		if len(said) == 3 {
			leave(gone)
			return gone
		}
		return nil
	}}
	began := time.Now()
	_, err := r.stream(ctx, request(prompt), h)
	if !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	r.await(patience, "the call is canceled", func(s *llmtest.Server) bool { return s.Aborted() == 1 })
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if line := r.line(); line.Outcome != string(budgets.Canceled) || line.Source != "estimated" || line.OutputTokens == 0 || line.ChargedMicros <= line.InputTokens {
		t.Errorf("the ledger has %+v", line)
	}
}

// A stream may take longer than a call that does not stream: as long as something comes. One whose caller waits for the
// whole of it may not.
func TestStreamIsNotCutByTheTimeOfACall(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) {
		s.options.Timeout = 400 * time.Millisecond
		client := *s.options.Client
		client.Timeout = s.options.Timeout
		s.options.Client = &client
	})
	r.model.Script(llmtest.Chunks("one ", "two ", "three ", "four ", "five ", "six.").Each(120 * time.Millisecond))
	if answer, err := r.stream(t.Context(), request(prompt), &heard{}); err != nil || answer.Text != "one two three four five six." {
		t.Errorf("%+v, %v", answer, err)
	}
	waited := request(prompt)
	waited.Timed = true
	r.model.Script(llmtest.Chunks("one ", "two ", "three ", "four ", "five ", "six.").Each(120 * time.Millisecond))
	var failure *providers.Error
	if _, err := r.stream(t.Context(), waited, &heard{}); !errors.As(err, &failure) || failure.Kind != providers.TimedOut {
		t.Errorf("a call of 0.4 s that is waited for took 0.7 s: %v", err)
	}
}

// A server that knows no streams is understood; an answer of nothing is none.
func TestStreamOfAnotherShape(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	whole := llmtest.Says("All at once.")
	whole.Whole = true
	r.model.Script(whole, llmtest.Chunks(" ", "\n"), llmtest.Chunks("<think>", "hm", "</think>"))
	h := &heard{}
	if answer, err := r.stream(t.Context(), request(prompt), h); err != nil || answer.Text != "All at once." || h.begun != 1 {
		t.Errorf("%+v, %v", answer, err)
	}
	for range 2 {
		h := &heard{}
		var failure *providers.Error
		if _, err := r.stream(t.Context(), request(prompt), h); !errors.As(err, &failure) || failure.Kind != providers.Unreadable || len(h.said) > 0 {
			t.Errorf("an empty answer: %v, %q", err, h.said)
		}
	}
	asked := request(prompt)
	asked.JSON = true
	if _, err := r.stream(t.Context(), asked, &heard{}); err == nil {
		t.Error("JSON was streamed")
	}
}

// The embedded engine tells its quotes line by line.
func TestEmbeddedEngineStreams(t *testing.T) {
	t.Parallel()
	engine, err := llm.New(llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(s *settings) { s.engine = engine })
	asked := request("Who?")
	asked.MaxTokens = 1000
	asked.Material = llm.Material{Question: "the budget", Passages: []llm.Passage{{Text: "We agreed on the budget."}, {Index: 1, Text: "The budget is done."}}}
	whole, err := r.ask(asked)
	if err != nil {
		t.Fatal(err)
	}
	h := &heard{}
	answer, err := r.stream(t.Context(), asked, h)
	if err != nil || answer.Text != whole.Text || len(h.said) < 3 || strings.Join(h.said, "") != whole.Text || h.begun != 1 {
		t.Errorf("heard %q, %v", h.said, err)
	}
}

// However an answer is cut into pieces, nothing is heard that may not be shown, and what was harmless arrives whole.
func TestPiecesAreFitToShow(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for text, want := range map[string]string{
		"Plain words, 1 < 2 and a[0] too.":                            "Plain words, 1 < 2 and a[0] too.",
		"See https://evil.example/x?q=secret now.":                    "See ‹link removed› now.",
		"See https://given.example/a now.":                            "See https://given.example/a now.",
		"[here](https://evil.example/x) it is":                        "here it is",
		"<think>secret thoughts</think>The answer.":                   "The answer.",
		"Be <thinking>secret\n\nthoughts</thinking>fore.":             "Be fore.",
		"Never ended: <think>secret":                                  "Never ended:",
		"An <img src=\"https://evil.example/x\"> image":               "An  image",
		"A [S12 \"quote of it\"] and [S3].":                           "A [S12 \"quote of it\"] and [S3].",
		"One\n\n\n\n\ntwo \r\n three  ":                               "One\n\ntwo \n three",
		"\n\n  Lead\u0007 and \u202etail":                             "Lead and tail",
		"長い文章です。次の文章、https://evil.example/x。終わり":                      "長い文章です。次の文章、‹link removed›。終わり",
		"[x]: https://evil.example/x\n\nand [y][x]":                   "x: ‹link removed›\n\nand [y][x]",
		"[" + strings.Repeat("a ", 3000) + "](https://evil.example/)": "",
		strings.Repeat("https://evil.example/", 400) + " done":        "",
	} {
		for size := 1; size <= 40; size += 13 {
			var pieces []string
			for piece := range slices.Chunk([]rune(text), size) {
				pieces = append(pieces, string(piece))
			}
			if len(text) > 4000 && size < 14 {
				continue
			}
			r.model.Script(llmtest.Chunks(pieces...))
			h := &heard{}
			answer, err := r.stream(t.Context(), request("Mind https://given.example/a please."), h)
			all := strings.Join(h.said, "")
			if err != nil || all != answer.Text || want != "" && all != want || strings.Contains(all, "evil") || strings.Contains(all, "secret") {
				t.Errorf("%.60q by %d is heard as %.200q, %v", text, size, all, err)
			}
		}
	}
}
