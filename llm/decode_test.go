package llm

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stenometer/stenometer/providers"
)

// Whatever a provider sends is valid, bounded text, or an error in our words; its usage is whole numbers or none.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","choices":[{"finish_reason":"stop","message":{"content":"Yes."}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
		`{"choices":[{"message":{"content":[{"text":"a"},{"text":null},3]}}],"usage":{"prompt_tokens":-1,"completion_tokens":1e99}}`,
		`{"choices":[{"message":{"content":"<think>\u0000\ud800</think>x\n\n\n\n<th"}}],"usage":"many"}`,
		`{"error":{"message":"no"}}`, `{"choices":{}}`, `{"choices":["x"]}`, `[]`, `null`, ``, `{"choices":[`, `<html>`,
	} {
		f.Add([]byte(body))
	}
	adapter := NewAdapter(newOpenAI(Options{BaseURL: "http://localhost", Model: "configured", Client: http.DefaultClient}), AdapterOptions{})
	f.Fuzz(func(t *testing.T, body []byte) {
		completion, err := decode(body)
		if err == nil {
			var answer Answer
			answer, err = adapter.answer(completion, Request{})
			check(t, answer, err)
		}
		var failure *providers.Error
		if err != nil && !errors.As(err, &failure) {
			t.Errorf("the error is not ours: %v", err)
		}
	})
}

func check(t *testing.T, answer Answer, err error) {
	t.Helper()
	if (err == nil) == (answer.Text == "") {
		t.Errorf("the text is %q and the error %v", answer.Text, err)
	}
	if len(answer.Text) > maxText || !utf8.ValidString(answer.Text+answer.Model) || strings.Contains(answer.Text, "\n\n\n") {
		t.Errorf("the answer is %q by %q", answer.Text, answer.Model)
	}
	if strings.ContainsFunc(answer.Text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		t.Errorf("control characters in %q", answer.Text)
	}
}

// Held is never less than what any tokenizer can make of a text, nor much more than plain words take.
func TestTokensAreHeldFromAbove(t *testing.T) {
	t.Parallel()
	for text, least := range map[string]int64{
		"":                               0,
		"1!2?3":                          5,
		"\xf0\x9f\x90\x88":               4, // a cat, whose bytes may all be tokens
		strings.Repeat("a b ", 100):      200,
		strings.Repeat("Über ", 10):      40,
		strings.Repeat("seven words", 9): 50,
	} {
		if got := tokensAtMost(Request{Messages: []Message{{Text: text}}}); got < least+messageTokens || got > int64(len(text))+messageTokens {
			t.Errorf("%q is held as %d tokens; at least %d are wanted", text, got, least)
		}
	}
}
