package llm_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/tests/llmtest"
)

const schema = `{"type":"object","properties":{"query":{"type":"string"}}}`

// offering is a request with a tool.
func offering() llm.Request {
	asked := request(prompt)
	asked.Tools = []llm.Tool{{Name: "search", Description: "Searches.", Parameters: json.RawMessage(schema)}}
	return asked
}

// both asks in both ways and gives what came.
func (r *rig) both(asked llm.Request, each func(how string, answer llm.Answer, err error)) {
	r.t.Helper()
	answer, err := r.ask(asked)
	each("whole", answer, err)
	h := &heard{}
	answer, err = r.stream(r.t.Context(), asked, h)
	if err == nil && strings.Join(h.said, "") != answer.Text {
		r.t.Errorf("heard %q of %q", h.said, answer.Text)
	}
	each("stream", answer, err)
}

// Tools, calls and their results are sent as they are, and the calls that come are told; an answer may be nothing else.
func TestToolsGoBothWays(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.model.Always(func(llmtest.Call) llmtest.Reply {
		return llmtest.Asks("search", `{"query":"b"}`).And("search", `{"query":"c"}`)
	})
	asked := offering()
	asked.Messages = append(asked.Messages,
		llm.Message{Role: llm.Assistant, Calls: []llm.ToolCall{{ID: "call_7", Name: "search", Arguments: `{"query":"a"}`}}},
		llm.Message{Role: llm.ToolResult, CallID: "call_7", Text: "Nothing."})
	want := []llm.ToolCall{{ID: "call_1", Name: "search", Arguments: `{"query":"b"}`}, {ID: "call_2", Name: "search", Arguments: `{"query":"c"}`}}
	r.both(asked, func(how string, answer llm.Answer, err error) {
		if err != nil || answer.Text != "" || !reflect.DeepEqual(answer.Calls, want) || answer.Used.Input == 0 {
			t.Errorf("%s: %+v, %v", how, answer, err)
		}
	})
	for _, call := range r.model.Calls() {
		if len(call.Tools) != 1 || call.Tools[0].Function.Name != "search" || string(call.Tools[0].Function.Parameters) != schema || call.Cap() != 100 {
			t.Errorf("the provider received %s", call.Body)
		}
		was := call.Messages[1]
		if len(was.Calls) != 1 || was.Calls[0].ID != "call_7" || was.Calls[0].Function.Arguments != `{"query":"a"}` || was.Content != "" {
			t.Errorf("the model's call became %+v", was)
		}
		if got := call.Messages[2]; got.Role != "tool" || got.CallID != "call_7" || got.Content != "Nothing." {
			t.Errorf("its result became %+v", got)
		}
	}
}

// What was not offered cannot be asked for; and arguments hold no address that was not given, which a look-up that
// repeats them would make one that was.
func TestCallsAreFitToUse(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.model.Always(func(llmtest.Call) llmtest.Reply {
		return llmtest.Asks("search", `{"query":"see https://evil.example/?q=secret now"}`)
	})
	r.both(offering(), func(how string, answer llm.Answer, err error) {
		if err != nil || len(answer.Calls) != 1 || strings.Contains(answer.Calls[0].Arguments, "evil") || !json.Valid([]byte(answer.Calls[0].Arguments)) {
			t.Errorf("%s: %+v, %v", how, answer, err)
		}
	})
	r.both(request(prompt), func(how string, answer llm.Answer, err error) {
		if err == nil {
			t.Errorf("%s: %+v for a request without tools", how, answer)
		}
	})
}

// Tools are read by the model and paid for; so are the calls that it writes, where nobody tells a usage.
func TestToolsAndCallsAreCharged(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	if plain, more := r.adapter.Most(request(prompt)).Input, r.adapter.Most(offering()).Input; more < plain+int64(len(schema))/2 {
		t.Errorf("%d tokens at most, and %d with a tool", plain, more)
	}
	r.model.Script(llmtest.Asks("search", `{"query":"abc"}`).WithoutUsage()) // 21 bytes
	answer, err := r.ask(offering())
	if err != nil {
		t.Fatal(err)
	}
	line := r.line()
	if line.Source != "estimated" || line.OutputTokens != 7 || line.InputTokens <= 10 || answer.Used != (budgets.Measure{Input: line.InputTokens, Output: 7}) {
		t.Errorf("the ledger has %+v, told is %+v", line, answer.Used)
	}
}

// What clients bring goes along, but for what decides about the cost: that is ours.
func TestFurtherMembersGoAlong(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	asked := offering()
	asked.Verbatim = true
	asked.Further = map[string]json.RawMessage{
		"temperature": json.RawMessage(`0.25`), "stop": json.RawMessage(`["<&>"]`), "tool_choice": json.RawMessage(`{"type":"function","function":{"name":"search"}}`),
		"max_tokens": json.RawMessage(`100000`), "model": json.RawMessage(`"dear"`), "n": json.RawMessage(`5`), "stream": json.RawMessage(`true`), "tools": json.RawMessage(`[]`),
		"messages": json.RawMessage(`[]`), "max_completion_tokens": json.RawMessage(`9`),
	}
	r.both(asked, func(how string, _ llm.Answer, err error) {
		if err != nil {
			t.Errorf("%s: %v", how, err)
		}
	})
	for i, call := range r.model.Calls() {
		if call.Cap() != 100 || call.MaxCompletionTokens != nil || call.Model != "scripted" || call.Stream != (i == 1) || len(call.Tools) != 1 || len(call.Messages) != 1 || *call.Temperature != 0.25 {
			t.Errorf("the provider received %s", call.Body)
		}
		var body struct {
			N      *int
			Stop   []string
			Choice json.RawMessage `json:"tool_choice"`
		}
		if err := json.Unmarshal(call.Body, &body); err != nil || body.N != nil || len(body.Stop) != 1 || body.Stop[0] != "<&>" || len(body.Choice) == 0 {
			t.Errorf("the provider received %s", call.Body)
		}
	}
	before := r.adapter.Most(asked).Input
	asked.Further["response_format"] = json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)
	if more := r.adapter.Most(asked).Input - before; more < 500 {
		t.Errorf("a schema of 1,000 bytes is taken for %d tokens at most", more)
	}
}

// Verbatim is to the letter, white space and all, whole or in pieces; and still a reader's answer is not.
func TestVerbatimIsToTheLetter(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	text := " \n<think>hm</think>\n\n\n\nSee [x](https://else.example/) <b>\t "
	r.model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Chunks(text[:9], text[9:20], text[20:]) })
	asked := request(prompt)
	asked.Verbatim = true
	r.both(asked, func(how string, answer llm.Answer, err error) {
		if err != nil || answer.Text != text {
			t.Errorf("%s: %q, %v", how, answer.Text, err)
		}
	})
	asked.Verbatim = false
	r.both(asked, func(how string, answer llm.Answer, err error) {
		if err != nil || answer.Text != "See x <b>" {
			t.Errorf("%s: %q, %v", how, answer.Text, err)
		}
	})
	r.model.Always(func(llmtest.Call) llmtest.Reply {
		return llmtest.Chunks(strings.Repeat("long ", 150_000), strings.Repeat("long ", 150_000))
	})
	asked.Verbatim = true
	r.both(asked, func(how string, answer llm.Answer, err error) {
		if err != nil || len(answer.Text) != 1<<20 || !answer.Cut {
			t.Errorf("%s: %d bytes, %v", how, len(answer.Text), err)
		}
	})
}

// A server that refuses to tell the usage of a stream is asked without, once and beside the attempts, and not again in
// the same work; the usage is a guess then.
func TestServerWithoutStreamOptionsIsAskedPlainly(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.model.Always(func(call llmtest.Call) llmtest.Reply {
		if call.AsksUsage {
			return llmtest.Fails(422)
		}
		return llmtest.Chunks("Grace ", "sent it.")
	})
	asked := request(prompt)
	ctx, work, err := r.adapter.Open(t.Context(), r.purse, asked.Operation, r.adapter.Most(asked, asked))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		answer, err := work.Stream(ctx, asked, (&heard{}).listener())
		if err != nil || answer.Text != "Grace sent it." || answer.Used != (budgets.Measure{Input: 10, Output: 5}) {
			t.Errorf("%+v, %v", answer, err)
		}
	}
	work.Close()
	r.called(3)
	lines := r.ledger()
	if len(lines) != 3 {
		t.Fatalf("the ledger has %+v", lines)
	}
	r.charged(lines[0], models.LedgerEntry{Outcome: "failed", Source: "reported"})
	r.charged(lines[2], models.LedgerEntry{Outcome: "done", Source: "estimated", InputTokens: 10, OutputTokens: 5, ChargedMicros: 60})
	r.model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Fails(400) })
	if _, err := r.stream(t.Context(), asked, &heard{}); err == nil {
		t.Error("a request that is refused either way has an answer")
	}
	r.called(5)
	r = newRig(t, func(s *settings) { s.adapter.Attempts = 2 })
	r.model.Script(llmtest.Fails(400), llmtest.Fails(503), llmtest.Chunks("Grace."))
	if _, err := r.stream(t.Context(), asked, &heard{}); err != nil {
		t.Errorf("the request without counts as an attempt: %v", err)
	}
}

// Another model of the service is asked, and paid for, by its own name.
func TestAdapterForAnotherModel(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	other := r.adapter.For("second")
	if _, err := other.Ask(t.Context(), r.purse, request(prompt)); err != nil {
		t.Fatal(err)
	}
	if got, line := r.model.Calls()[0].Model, r.line(); got != "second" || line.Model != "second" || r.adapter.Describe().Model != "scripted" || other.Breaker != r.adapter.Breaker {
		t.Errorf("asked was %s, the ledger has %s", got, line.Model)
	}
	engine, err := llm.New(llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if embedded := llm.NewAdapter(engine, llm.AdapterOptions{}); embedded.For("second") != embedded {
		t.Error("the embedded engine is two")
	}
}
