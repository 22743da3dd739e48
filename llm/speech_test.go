package llm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// Rule: what came is heard at once unless it may begin a link, also where nobody writes spaces (H-019).
func TestWordsAreHeardAsTheyCome(t *testing.T) {
	t.Parallel()
	for _, pieces := range [][]string{
		{"会議は", "金曜日に", "終わる"},
		{"การ", "ประชุม", "จบ"},
		{"tok0", "tok1", "-tok2", ",tok3"},
		{"Grace", " sen", "t it", " (al", "l)."},
	} {
		r := newRig(t, nil)
		heardOf := make(chan struct{}, len(pieces))
		reply := llmtest.Chunks(pieces...)
		reply.Gate = func(ctx context.Context, piece int) bool {
			if piece == 0 {
				return true
			}
			select { // nothing more comes before this was heard
			case <-heardOf:
				return true
			case <-ctx.Done():
				return false
			}
		}
		r.model.Script(reply)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		h := &heard{until: func([]string) error { heardOf <- struct{}{}; return nil }}
		answer, err := r.stream(ctx, request(prompt), h)
		cancel()
		if want := strings.Join(pieces, ""); err != nil || answer.Text != want || strings.Join(h.said, "") != want {
			t.Errorf("%q is heard as %q, %v", pieces, h.said, err)
		}
	}
}

// Rule: a word of which the beginning was said becomes no address by what follows.
func TestAWordThatWasBegunBecomesNoAddress(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, text := range []string{
		"see gopher://evil.example/x?q=secret now", "seehttps://evil.example/secret now", "漢字https://evil.example/secret",
		"WWW.evil.example/secret", "a javascript:evil('secret')", "xmpp:secret x+y://evil.example/secret",
		"mailto:secret@evil.example", "!" + "[secret](https://evil.example/x)", "//evil.example/secret", "https" + "://evil.example#" + "secret",
		strings.Repeat("a", 100) + "://evil.example/secret",
	} {
		for size := 1; size < 8; size += 3 {
			var pieces []string
			for piece := range slices.Chunk([]rune(text), size) {
				pieces = append(pieces, string(piece))
			}
			r.model.Script(llmtest.Chunks(pieces...))
			h := &heard{}
			answer, err := r.stream(t.Context(), request("Nothing is given."), h)
			all := strings.Join(h.said, "")
			if err != nil || all != answer.Text || strings.Contains(all, "://") || strings.Contains(strings.ToLower(all), "www.evil") || strings.Contains(all, "script:evil") || strings.Contains(all, "mailto:") {
				t.Errorf("%q by %d is heard as %q, %v", text, size, all, err)
			}
		}
	}
	r.model.Script(llmtest.Chunks("It is wss", "://given.example/a", " now"))
	if answer, err := r.stream(t.Context(), request("Mind wss://given.example/a please."), &heard{}); err != nil || answer.Text != "It is wss://given.example/a now" {
		t.Errorf("an address that was given is heard as %q, %v", answer.Text, err)
	}
}

// Rule: an answer that breaks off is heard up to where it broke off (H-014), what was held back included.
func TestWhatWasHeldBackIsHeardWhenTheAnswerBreaksOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for piece, want := range map[string]string{
		"and/or": "Grace and/or", "http": "Grace http", "[1": "Grace [1", "https://evil.example/x": "Grace ‹link removed›", "<think>hm": "Grace",
	} {
		reply := llmtest.Chunks("Grace ", piece)
		reply.Drop = true
		r.model.Script(reply)
		h := &heard{}
		if _, err := r.stream(t.Context(), request(prompt), h); err == nil || strings.Join(h.said, "") != want {
			t.Errorf("%q is heard as %q, %v", piece, h.said, err)
		}
	}
}

// Rule: an error inside of a success is one, however the service writes it (H-015).
func TestErrorsInsideOfASuccess(t *testing.T) {
	t.Parallel()
	const done = "data: [DONE]\n\n"
	for _, said := range []string{
		"event: error\ndata: {\"message\":\"queue full\"}\n\n",
		"event: error\ndata: queue full\n\n",
		`data: {"object":"error","message":"queue full","code":500}` + "\n\n",
		`data: {"type":"error","message":"queue full"}` + "\n\n",
		`data: {"error":"queue full"}` + "\n\n",
		`data: {"choices":[{"delta":{"content":""},"finish_reason":"error"}]}` + "\n\n",
		`data: {"choices":[{"delta":{},"error":{"message":"queue full"}}]}` + "\n\n",
	} {
		reply := llmtest.Sends(`data: {"choices":[{"delta":{"content":"Grace "}}]}` + "\n\n" + said + done)
		reply.Headers = map[string]string{"Content-Type": "text/event-stream"}
		r := newRig(t, nil) // its breaker has seen no failure yet
		r.model.Script(reply)
		_, err := r.stream(t.Context(), request(prompt), &heard{})
		serviceFault(t, said, err)
	}
	for _, said := range []string{
		`{"object":"error","message":"queue full"}`,
		`{"choices":[{"message":{"content":"Grace"},"finish_reason":"error"}]}`,
		`{"choices":[{"message":{"content":""},"error":{"code":502}}]}`,
	} {
		r := newRig(t, func(s *settings) { s.adapter.Attempts = 1 })
		r.model.Script(llmtest.Sends(said))
		_, err := r.ask(request(prompt))
		serviceFault(t, said, err)
	}
	// The name of an event holds for that event alone.
	fine := llmtest.Sends("event: error\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"Grace\"},\"finish_reason\":\"stop\"}]}\n\n" + done)
	fine.Headers = map[string]string{"Content-Type": "text/event-stream"}
	r := newRig(t, nil)
	r.model.Script(fine)
	if answer, err := r.stream(t.Context(), request(prompt), &heard{}); err != nil || answer.Text != "Grace" {
		t.Errorf("%+v, %v", answer, err)
	}
}

// Rule: half an answer is none: what a filter of the service cut off is told, and not kept as if it were whole (H-020).
func TestAnAnswerThatAFilterCutOffIsNone(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) { s.adapter.Attempts = 3 })
	reply := llmtest.Chunks("Grace ", "sent")
	reply.Finish = "content_filter"
	r.model.Script(reply, llmtest.Sends(`{"choices":[{"message":{"content":"Grace sent"},"finish_reason":"content_filter"}]}`))
	h := &heard{}
	_, streamed := r.stream(t.Context(), request(prompt), h)
	_, asked := r.ask(request(prompt))
	for _, err := range []error{streamed, asked} {
		var failure *providers.Error
		if !errors.As(err, &failure) || failure.Kind != providers.Refused {
			t.Errorf("it is %v", err)
		}
	}
	if strings.Join(h.said, "") != "Grace sent" {
		t.Errorf("heard %q", h.said)
	}
	r.called(2) // the filter would say the same again
	for _, line := range r.ledger() {
		if line.Outcome != "failed" || line.OutputTokens == 0 {
			t.Errorf("the ledger has %+v", line)
		}
	}
}

func serviceFault(t *testing.T, said string, err error) {
	t.Helper()
	var failure *providers.Error
	if !errors.As(err, &failure) || failure.Kind != providers.ServiceFault {
		t.Errorf("%q is %v", said, err)
	}
}
