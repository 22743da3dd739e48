package llm_test

import (
	"strings"
	"testing"

	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// Whatever a model writes, what is shown is text.
func TestAnswerIsCleaned(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for said, want := range map[string]string{
		" \n Yes.\t\n":                             "Yes.",
		"One.\r\n\r\n\r\n\r\nTwo.\rThree.":         "One.\n\nTwo.\nThree.",
		"a\x00b\x1b[31mc\u0085d":                   "ab[31mcd",
		"<think>hm\nhm</think>\n\nYes.":            "Yes.",
		"<THINKING>hm</Thinking>Yes.":              "Yes.",
		"No.<think>hm</think> Or yes.":             "No. Or yes.",
		"Yes.<think>and then it never ends":        "Yes.",
		"hm, its tag stood in the prompt</think>Y": "Y",
		"<think>a<think>b</think>c</think>Yes.":    "Yes.",
		"5 < 7, <b>thinks</b> <thinker> said":      "5 < 7, <b>thinks</b> <thinker> said",
		"<":                                        "<",
		"One.\u2028Two.\u2029Three.":               "One.\nTwo.\nThree.",
		"See www\u200e.evil.example, \ufeffok":     "See ‹link removed›, ok",
	} {
		r.model.Script(llmtest.Says(said))
		answer, err := r.ask(request(prompt))
		if err != nil || answer.Text != want {
			t.Errorf("%q became %q, %v; want %q", said, answer.Text, err, want)
		}
	}
}

// Servers write a text in more than one way.
func TestContentMayComeInParts(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.model.Script(llmtest.Sends(`{"model":"m","choices":[{"finish_reason":"length","message":{"content":[{"type":"text","text":"One, "},{"type":"text","text":"two."}]}}]}`))
	answer, err := r.ask(request(prompt))
	if err != nil || answer.Text != "One, two." || answer.Model != "m" || !answer.Cut {
		t.Errorf("got %+v, %v", answer, err)
	}
}

func TestAnswerThatIsOnlyThoughtIsNone(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	reply := llmtest.Says("<think>so many words")
	reply.Finish = "length"
	r.model.Script(llmtest.Says("<think>hm</think>"), reply)
	if failure := r.fails(providers.Unreadable); !strings.Contains(failure.Error(), "empty") {
		t.Errorf("got %v", failure)
	}
	if failure := r.fails(providers.Unreadable); !strings.Contains(failure.Error(), "used up") {
		t.Errorf("got %v", failure)
	}
}

func TestAnswerIsCutAtACharacter(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.model.Script(llmtest.Says("x" + strings.Repeat("ü", 1<<20)))
	answer, err := r.ask(request(prompt))
	if err != nil || len(answer.Text) > 1<<20 || !answer.Cut || strings.ContainsRune(answer.Text, '\uFFFD') {
		t.Errorf("%d bytes, cut is %t, %v", len(answer.Text), answer.Cut, err)
	}
}

// The name that a provider gives its model is shown, so it is a name or the configured one.
func TestModelNameIsAName(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, name := range []string{"a\nb", strings.Repeat("x", 201), "\x00"} {
		reply := llmtest.Says("Yes.")
		reply.Model = name
		r.model.Script(reply)
		if answer, err := r.ask(request(prompt)); err != nil || answer.Model != "scripted" {
			t.Errorf("%q became %q, %v", name, answer.Model, err)
		}
	}
}
