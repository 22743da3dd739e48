package agent

import (
	"encoding/json"
	"strings"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/prompts"
	"github.com/stenometer/stenometer/problems"
)

const (
	// charsPerToken is what a token is taken for.
	charsPerToken = 4
	// worst is how many tokens the adapter counts for one of ours: for four letters it counts two, and never less. So plain
	// text fills the context as it says, and of digits, signs and other scripts, which can be a token each, less fits.
	worst = 2
)

// talk is the conversation with the model about one question, kept so that it can be sent with the tools of the model's
// interface or in plain text.
type talk struct {
	*Agent

	words   prompts.Agent
	task    Task
	history []llm.Message
	turns   []exchange
	memory  []string // a line for each look-up that was folded up
	plain   bool
	full    bool // whether the context is used up
	percent int  // of the context, that the first call takes
}

// exchange is a turn in which the model asked for tools, and what came of it. They are sent, and folded up, together: a
// service refuses a call without its result.
type exchange struct {
	said    string
	calls   []llm.ToolCall
	results []string // as the model is told them
	heads   []string // the first words of what was found
}

func newTalk(a *Agent, task Task) (*talk, error) {
	texts := []string{task.Question}
	for _, turn := range task.History {
		texts = append(texts, turn.Text)
	}
	t := &talk{Agent: a, words: prompts.NewAgent(task.Instructions, texts...), task: task, plain: a.Mode == Prompt}
	for _, turn := range task.History {
		if turn.Role == llm.User || turn.Role == llm.Assistant {
			t.history = append(t.history, llm.Message{Role: turn.Role, Text: turn.Text})
		}
	}
	// What was said long ago gives way to what is to be looked up.
	for len(t.history) > 0 && t.share() > foldAbove {
		t.history = t.history[1:]
	}
	if t.share() > 1 {
		return nil, problems.New(problems.PayloadTooLarge, "The question does not fit into the %d tokens of context that one may have.", a.ContextTokens)
	}
	t.percent = int(100 * t.shareOf(t.request(false)))
	return t, nil
}

// inputAtMost bounds what one call may send, as the adapter counts it.
func (a *Agent) inputAtMost() int64 { return worst * int64(a.ContextTokens) }

// request is the next call. The last one offers no tools.
func (t *talk) request(closing bool) llm.Request {
	offered := tools(t.task.Tools)
	if t.MaxToolCalls < 1 {
		offered = nil
	}
	system := t.words.System(prompts.AgentInput{Instructions: t.task.Instructions, Tools: offered, Plain: t.plain && !closing && len(offered) > 0})
	messages := append([]llm.Message{{Role: llm.System, Text: system}}, t.history...)
	messages = said(messages, llm.User, t.task.Question)
	if len(t.memory) > 0 {
		messages = said(messages, llm.User, t.words.Memory(strings.Join(t.memory, "\n")))
	}
	for _, turn := range t.turns {
		messages = t.exchanged(messages, turn)
	}
	request := llm.Request{Operation: budgets.Inquiring, MaxTokens: t.AnswerTokens, Temperature: t.Temperature, Timed: t.task.Timed}
	if closing {
		messages = said(messages, llm.User, t.words.Closing())
	} else if !t.plain {
		request.Tools = offered
	}
	request.Messages = messages
	return request
}

func tools(offered []Tool) []llm.Tool {
	all := make([]llm.Tool, len(offered))
	for i, tool := range offered {
		all[i] = tool.Tool
	}
	return all
}

// said adds a turn.
func said(messages []llm.Message, role llm.Role, text string) []llm.Message {
	return prompts.Said(messages, llm.Message{Role: role, Text: strings.TrimSpace(text)})
}

// exchanged adds calls and their results.
func (t *talk) exchanged(messages []llm.Message, turn exchange) []llm.Message {
	if !t.plain {
		messages = append(messages, llm.Message{Role: llm.Assistant, Text: turn.said, Calls: turn.calls})
		for i, call := range turn.calls {
			messages = append(messages, llm.Message{Role: llm.ToolResult, CallID: call.ID, Text: turn.results[i]})
		}
		return messages
	}
	for i, call := range turn.calls {
		form, _ := json.Marshal(struct {
			Tool      string          `json:"tool"`
			Arguments json.RawMessage `json:"arguments"`
		}{call.Name, json.RawMessage(call.Arguments)})
		messages = said(messages, llm.Assistant, string(form))
		messages = said(messages, llm.User, turn.results[i])
	}
	return messages
}

// share is how much of what a call may send is taken, with what the closing answer needs.
func (t *talk) share() float64 {
	most := t.shareOf(t.request(false))
	return max(most, t.shareOf(t.request(true)))
}

// shareOf is how much of what a call may send a request takes, counted as the money for it is.
func (t *talk) shareOf(request llm.Request) float64 {
	return float64(t.text.Most(request).Input) / float64(max(t.inputAtMost(), 1))
}

func (t *talk) fits(request llm.Request) bool { return t.shareOf(request) <= 1 }
