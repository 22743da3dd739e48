package openai

import (
	"crypto/rand"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/completions"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/streams"
)

type chatCompletion struct {
	ID      string          `json:"id"`
	Object  string          `json:"object"`
	Created int64           `json:"created"`
	Model   string          `json:"model" description:"As it was asked for."`
	Choices []choice        `json:"choices"`
	Usage   completionUsage `json:"usage"`
}

type choice struct {
	Index        int     `json:"index"`
	Message      message `json:"message"`
	Logprobs     *string `json:"logprobs"`
	FinishReason string  `json:"finish_reason" enum:"stop,length,tool_calls"`
}

type message struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

// completionUsage is what was charged for.
type completionUsage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
}

// chunk is one event of a streamed answer.
type chunk struct {
	ID      string           `json:"id"`
	Object  string           `json:"object"`
	Created int64            `json:"created"`
	Model   string           `json:"model"`
	Choices []chunkChoice    `json:"choices"`
	Usage   *completionUsage `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index        int     `json:"index"`
	Delta        delta   `json:"delta"`
	Logprobs     *string `json:"logprobs"`
	FinishReason *string `json:"finish_reason"`
}

type delta struct {
	Role      string          `json:"role,omitempty"`
	Content   *string         `json:"content,omitempty"`
	ToolCalls []chunkToolCall `json:"tool_calls,omitempty"`
}

// chunkToolCall is a call, or where nothing but more of its arguments is told, the rest of one.
type chunkToolCall struct {
	Index    int           `json:"index"`
	ID       string        `json:"id,omitempty"`
	Type     string        `json:"type,omitempty"`
	Function chunkFunction `json:"function"`
}

type chunkFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

func completeOperation() routes.Operation {
	return routes.Operation{
		Summary: "Complete a conversation", Group: routes.GroupOpenAI, Request: exampleCompletionRequest(),
		Notes: "OpenAI's `chat/completions`, bounded: `max_tokens` is lowered to `CHAT_MAX_TOKENS`, all text together has the bound " +
			"`AI_MAX_INPUT_CHARS`, beyond which the answer is 413, and what has no price here is 400. Members that are not named here are " +
			"ignored. With `stream` the answer is `text/event-stream`: chunks, and `data: [DONE]` when it is whole; a failure after the " +
			"first byte is the last event, an error object, and no `[DONE]` follows. Nothing is kept. The scope `read` is not needed: the " +
			"text is the caller's own.",
		Answers:  routes.Answers{http.StatusOK: exampleCompletion()},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.ModelNotFound},
	}
}

func (a *API) complete(c echo.Context, _ auth.Principal, purse budgets.Purse, opener streams.Opener) error {
	var body completionRequest
	if err := routes.DecodePassedJSON(c, &body); err != nil {
		return err
	}
	wish, err := body.wish()
	if err != nil {
		return err
	}
	id, created := "chatcmpl-"+rand.Text(), a.now().Unix()
	if body.Stream != nil && *body.Stream {
		options := body.StreamOptions
		told := options != nil && options.IncludeUsage != nil && *options.IncludeUsage
		return a.completions.Stream(purse, opener, wish, chunks{id: id, created: created, model: body.Model, usage: told}.frames())
	}
	answer, err := a.completions.Answer(c.Request().Context(), purse, wish)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, completionOf(id, created, body.Model, answer))
}

func completionOf(id string, created int64, model string, answer llm.Answer) chatCompletion {
	said := message{Role: "assistant", ToolCalls: toolCallsOf(answer.Calls)}
	if answer.Text != "" || len(answer.Calls) == 0 {
		said.Content = &answer.Text
	}
	return chatCompletion{
		ID: id, Object: "chat.completion", Created: created, Model: model, Usage: usageOf(answer.Used),
		Choices: []choice{{Message: said, FinishReason: finishOf(answer)}},
	}
}

func toolCallsOf(calls []llm.ToolCall) []toolCall {
	forms := make([]toolCall, len(calls))
	for i, call := range calls {
		forms[i] = toolCall{call.ID, "function", functionCall{call.Name, call.Arguments}}
	}
	return forms
}

func finishOf(answer llm.Answer) string {
	switch {
	case len(answer.Calls) > 0:
		return "tool_calls"
	case answer.Cut:
		return "length"
	}
	return "stop"
}

func usageOf(used budgets.Measure) completionUsage {
	return completionUsage{used.Input, used.Output, used.Input + used.Output}
}

// chunks makes the events of one answer.
type chunks struct {
	id, model string
	created   int64
	// usage asks for a last chunk that tells it.
	usage bool
}

func (k chunks) frames() completions.Frames {
	return completions.Frames{
		Begun: k.of(delta{Role: "assistant", Content: new("")}, nil),
		Delta: func(text string) any { return k.of(delta{Content: &text}, nil) },
		Ended: k.ended,
	}
}

func (k chunks) of(changed delta, finish *string) chunk {
	return chunk{k.id, "chat.completion.chunk", k.created, k.model, []chunkChoice{{Delta: changed, FinishReason: finish}}, nil}
}

// ended are the last chunks: what the model asks for, why it stopped, and what was used.
func (k chunks) ended(answer llm.Answer) []any {
	var last []any
	for i, call := range answer.Calls {
		told := chunkToolCall{i, call.ID, "function", chunkFunction{Name: call.Name}}
		for _, told.Function.Arguments = range streams.Pieces(call.Arguments) {
			last = append(last, k.of(delta{ToolCalls: []chunkToolCall{told}}, nil))
			told = chunkToolCall{Index: i} // clients put the pieces of an index together
		}
	}
	last = append(last, k.of(delta{}, new(finishOf(answer))))
	if k.usage {
		told := chunk{k.id, "chat.completion.chunk", k.created, k.model, []chunkChoice{}, new(usageOf(answer.Used))}
		last = append(last, told)
	}
	return last
}
