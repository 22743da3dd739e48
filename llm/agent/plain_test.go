package agent_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/llm/agent"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// In plain text tools are told in words and asked for by a JSON object; nothing of it reaches the reader.
func TestToolsInPlainText(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]string{
		"bare":               `{"tool": "search", "arguments": {"query": "budget"}}`,
		"announced":          `Let me look. {"tool": "search", "arguments": {"query": "budget"}}`,
		"in a block of code": "Let me look.\n```json\n{\"tool\": \"search\", \"arguments\": {\"query\": \"budget\"}}\n```",
		"behind an example":  `Let me look {here}. {"tool": "search", "arguments": {"query": "budget"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig) { r.options.Mode = agent.Prompt })
			r.model.Script(llmtest.Says(asks), llmtest.Says("It is 12,000 euros."))
			outcome := r.answers()
			if outcome.Answer.Text != "It is 12,000 euros." || !reflect.DeepEqual(r.ran, []string{`{"query":"budget"}`}) || outcome.Looked != 1 {
				t.Errorf("%+v, run was %q", outcome, r.ran)
			}
			if thought := strings.Join(r.thoughts, ""); strings.Contains(thought, "tool") || (name == "bare") != (thought == "") {
				t.Errorf("thought was %q", thought)
			}
			first, second := r.model.Calls()[0], r.model.Calls()[1]
			if len(first.Tools) > 0 || !strings.Contains(first.Messages[0].Content, `- search: Searches.`) {
				t.Errorf("asked was %s", first.Body)
			}
			if got := second.Messages[2:]; len(got) != 2 || got[0].Content != `{"tool":"search","arguments":{"query":"budget"}}` || got[1].Role != "user" || !strings.Contains(got[1].Content, "12,000 euros.") {
				t.Errorf("sent back was %+v", got)
			}
		})
	}
}

// A text that is no call is the answer, braces and all; one that begins like a call and cannot be read counts as one.
func TestPlainTextThatIsNoCall(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"total": 12000}`, `Use {braces} and {"tool" or not}.`, strings.Repeat("word ", 100) + "{x}", "{"} {
		r := newRig(t, func(r *rig) { r.options.Mode = agent.Prompt })
		r.model.Script(llmtest.Says(text))
		if outcome := r.answers(); outcome.Answer.Text != text || len(r.model.Calls()) != 1 {
			t.Errorf("%q became %q", text, outcome.Answer.Text)
		}
	}
	r := newRig(t, func(r *rig) { r.options.Mode, r.options.MaxToolCalls = agent.Prompt, 1 })
	r.model.Script(llmtest.Says(`{"tool": "search", "arguments": {"query": `), llmtest.Says("I do not know."))
	outcome := r.answers()
	if outcome.Ended != agent.ByToolCalls || outcome.Looked != 0 || !strings.Contains(last(r.model.Calls()[1]), "one JSON object") {
		t.Errorf("%+v, told is %q", outcome, last(r.model.Calls()[1]))
	}
}

// A service that refuses tools is asked in plain text, from the same turn on and within the same bounds; in native mode
// its refusal is the end.
func TestServiceWithoutTools(t *testing.T) {
	t.Parallel()
	for mode, calls := range map[agent.Mode]int{agent.Auto: 4, agent.Native: 1} {
		r := newRig(t, func(r *rig) { r.options.Mode, r.options.MaxSteps = mode, 3 })
		n := 0
		r.model.Always(func(call llmtest.Call) llmtest.Reply {
			switch n++; {
			case len(call.Tools) > 0:
				return llmtest.Fails(404)
			case strings.Contains(last(call), "Nothing more"):
				return llmtest.Says("Done.")
			}
			return llmtest.Says(`{"tool":"search","arguments":{"n":` + strings.Repeat("1", n) + `}}`)
		})
		outcome, err := r.run(t.Context())
		if (err == nil) != (mode == agent.Auto) {
			t.Fatalf("%s: %+v, %v", mode, outcome, err)
		}
		if mode == agent.Auto && (len(r.ran) != 2 || outcome.Ended != agent.BySteps || !strings.HasPrefix(outcome.Answer.Text, "Done.")) {
			t.Errorf("%+v, run was %q", outcome, r.ran)
		}
		if got := len(r.model.Calls()); got != calls {
			t.Errorf("%s: %d calls", mode, got)
		}
	}
}

// A service that takes no calls of the past without tools is told of them in plain text when the closing answer is asked
// for; also where they fill the context.
func TestServiceThatRefusesCallsWithoutTools(t *testing.T) {
	t.Parallel()
	for bound, found := range map[agent.Bound]string{agent.BySteps: "12,000 euros.", agent.ByContext: strings.Repeat("word ", 10_000)} {
		r := newRig(t, func(r *rig) {
			r.options.ResultTokens, r.options.MaxToolCalls = 100_000, 100
			r.task.Tools[0] = r.tool(func(string) (agent.Result, error) { return agent.Result{Text: found}, nil })
		})
		asks := asksForEver(12)
		r.model.Always(func(call llmtest.Call) llmtest.Reply {
			if len(call.Tools) == 0 && call.Messages[len(call.Messages)-2].Role == "tool" {
				return llmtest.Fails(400)
			}
			return asks(call)
		})
		outcome := r.answers()
		if outcome.Ended != bound || !strings.HasPrefix(outcome.Answer.Text, "It is 12,000 euros.\n\nStopped ") {
			t.Errorf("%s: %+v", bound, outcome)
		}
		calls := r.model.Calls()
		if closing := string(calls[len(calls)-1].Body); strings.Count(closing, found[:4]) < outcome.Looked {
			t.Errorf("%s: closed by %.3000s", bound, closing)
		}
	}
}

// A model that goes on asking where nothing can be asked for any more leaves the reader with a sentence, not with JSON
// or an error.
func TestClosingAnswerOfNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode  agent.Mode
		reply llmtest.Reply
	}{
		"native": {agent.Native, llmtest.Asks("search", `{}`)},
		"empty":  {agent.Native, llmtest.Says("")},
		"plain":  {agent.Prompt, llmtest.Says(`{"tool":"search","arguments":{}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig) { r.options.Mode, r.options.MaxSteps = c.mode, 2 })
			r.model.Always(func(call llmtest.Call) llmtest.Reply {
				if strings.Contains(last(call), "Nothing more") {
					return c.reply
				}
				if c.mode == agent.Prompt {
					return llmtest.Says(`{"tool":"search","arguments":{}}`)
				}
				return llmtest.Asks("search", `{}`)
			})
			outcome := r.answers()
			want := "The text model gave no answer.\n\nStopped after 2 calls to the text model, the most for one question."
			if outcome.Answer.Text != want || outcome.Looked != 1 || outcome.Answer.Model != "scripted" {
				t.Errorf("%+v", outcome)
			}
		})
	}
}
