package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/agent"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// paired fails unless every call stands right before its results, and every result behind its call.
func paired(t *testing.T, call llmtest.Call) {
	t.Helper()
	open := map[string]bool{}
	for _, message := range call.Messages {
		if message.Role != "tool" && len(open) > 0 {
			t.Errorf("calls without results %v in %s", open, call.Body)
		}
		if message.Role == "tool" && !open[message.CallID] {
			t.Errorf("a result of no call %q", message.CallID)
		}
		delete(open, message.CallID)
		for _, asked := range message.Calls {
			open[asked.ID] = true
		}
	}
}

// Older look-ups of a long conversation become a memory: which they were and how their results begin. The last eight
// messages stay, no call loses its result, and every request fits into the context.
func TestOldLookUpsAreFolded(t *testing.T) {
	t.Parallel()
	for _, mode := range []agent.Mode{agent.Native, agent.Prompt} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			found := 0
			r := newRig(t, func(r *rig) {
				r.options.Mode, r.options.MaxSteps, r.options.MaxToolCalls = mode, 12, 20
				r.task.Tools[0] = r.tool(func(string) (agent.Result, error) {
					found++
					return agent.Result{Text: fmt.Sprintf("Finding %d. ", found) + strings.Repeat("word ", 380)}, nil
				})
			})
			asks := asksForEver(1)
			if mode == agent.Prompt {
				n := 0
				asks = func(call llmtest.Call) llmtest.Reply {
					if strings.Contains(last(call), "Nothing more") {
						return llmtest.Says("It is 12,000 euros.")
					}
					n++
					return llmtest.Says(`{"tool":"search","arguments":{"query":"` + strings.Repeat("x", n) + `"}}`)
				}
			}
			r.model.Always(asks)
			outcome := r.answers()
			if len(r.folded) == 0 || outcome.Ended != agent.BySteps || !strings.Contains(outcome.Memory, `- search {"query":"x"}: Finding 1. word`) {
				t.Fatalf("folded %v, ended by %q, memory %q", r.folded, outcome.Ended, outcome.Memory)
			}
			for _, kept := range r.folded {
				if kept > 8 || kept < 7 {
					t.Errorf("%d messages are kept", kept)
				}
			}
			for _, call := range r.model.Calls() {
				paired(t, call)
				chars := 0
				for _, message := range call.Messages {
					chars += len(message.Content)
				}
				if chars > 4*4000 {
					t.Errorf("a request of %d characters", chars)
				}
			}
			if closing := r.model.Calls()[11]; !strings.Contains(closing.Messages[1].Content, "memory\n- search") {
				t.Errorf("the last request has no memory: %s", closing.Messages[1].Content)
			}
		})
	}
}

// What one turn asks for can be more than fits: the results are cut or left out, no call loses its result, and the
// closing answer is asked for with what did fit. Text of signs and digits, which can be a token each, fits less.
func TestContextIsNeverExceeded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		word  string
		calls int
		pad   string
	}{
		"words":              {"word ", 9, ""},
		"digits":             {"1234 ", 9, ""},
		"another script":     {"長い文章 ", 9, ""},
		"arguments too many": {"word ", 60, strings.Repeat("7", 500)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig) {
				r.options.MaxToolCalls, r.options.ResultTokens = 100, 4000
				r.task.Tools[0] = r.tool(func(string) (agent.Result, error) { return agent.Result{Text: strings.Repeat(c.word, 1000)}, nil })
			})
			r.model.Always(func(call llmtest.Call) llmtest.Reply {
				if len(call.Tools) == 0 {
					return llmtest.Says("It is 12,000 euros.")
				}
				reply := llmtest.Asks("search", `{"n":"0"}`)
				for i := range c.calls {
					reply = reply.And("search", fmt.Sprintf(`{"n":"%d","pad":"%s"}`, i, c.pad))
				}
				return reply
			})
			outcome := r.answers()
			if outcome.Ended != agent.ByContext || len(r.model.Calls()) != 2 || len(r.ran) > c.calls/2 || outcome.Looked != len(r.ran) {
				t.Errorf("%+v after %d calls and %d look-ups", outcome, len(r.model.Calls()), len(r.ran))
			}
			closing := r.model.Calls()[1]
			paired(t, closing)
			if shown := strings.Contains(string(closing.Body), "[cut: the context holds 4000 tokens]"); shown != (c.pad == "") {
				t.Errorf("told is %.3000s", closing.Body)
			}
		})
	}
}

// A result that does not fit makes the look-ups before it a memory, however few they are, before anything of it is cut.
func TestOldLookUpsGiveWayToANewOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		r.options.MaxSteps, r.options.ResultTokens = 3, 4000
		r.task.Tools[0] = r.tool(func(string) (agent.Result, error) { return agent.Result{Text: strings.Repeat("word ", 1800)}, nil })
	})
	r.model.Always(asksForEver(1))
	outcome := r.answers()
	if outcome.Ended != agent.BySteps || len(r.folded) != 1 || r.folded[0] != 2 || outcome.Memory == "" {
		t.Errorf("%+v, folded %v", outcome, r.folded)
	}
	if closing := string(r.model.Calls()[2].Body); strings.Contains(closing, "[cut:") || strings.Count(closing, "word") < 1800 {
		t.Errorf("the last request is %.2000s", closing)
	}
}

// What was said long ago gives way, oldest first, so that there is room for look-ups.
func TestLongHistoryGivesWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for i := range 40 {
		r.task.History = append(r.task.History, llm.Message{Role: llm.User, Text: fmt.Sprintf("Turn %d. ", i) + strings.Repeat("word ", 100)}, llm.Message{Role: llm.Assistant, Text: "Yes."})
	}
	r.answers()
	first := string(r.model.Calls()[0].Body)
	if strings.Contains(first, "Turn 0. ") || !strings.Contains(first, "Turn 39. ") || r.usage[0] > 60 || r.usage[0] < 40 {
		t.Errorf("%d %% are taken by %.300s", r.usage[0], first)
	}
}
