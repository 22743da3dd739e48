package llm

import (
	"encoding/json"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

// isOurs reports whether the adapter alone sets a member of a request: those decide who is asked, for how much, and how
// the answer comes.
func isOurs(member string) bool {
	switch member {
	case "model", "messages", "max_tokens", "max_completion_tokens", "n", "stream", "stream_options", "tools":
		return true
	}
	return false
}

func (e *openAI) params(request Request) openai.ChatCompletionNewParams {
	params := openai.ChatCompletionNewParams{Model: e.description.Model}
	for _, message := range request.Messages {
		params.Messages = append(params.Messages, turn(message))
	}
	further := map[string]any{}
	for name, value := range request.Further {
		if !isOurs(name) {
			further[name] = value
		}
	}
	if e.reasons {
		params.MaxCompletionTokens = openai.Int(int64(request.MaxTokens))
	} else { // the old name of the cap, and the only one that other servers know
		params.MaxTokens = openai.Int(int64(request.MaxTokens))
	}
	if !request.Verbatim { // whose sampling is its caller's
		delete(further, "temperature")
		if !e.reasons {
			params.Temperature = openai.Float(request.Temperature)
		}
	}
	if request.JSON {
		delete(further, "response_format")
		if !request.plainly {
			params.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		}
	}
	if len(request.Tools) > 0 {
		further["tools"] = functions(request.Tools)
	} else {
		delete(further, "tool_choice") // which is refused where there is nothing to choose
		delete(further, "parallel_tool_calls")
	}
	if len(further) > 0 {
		params.SetExtraFields(further)
	}
	return params
}

// turn is a message as it is sent.
func turn(message Message) openai.ChatCompletionMessageParamUnion {
	switch {
	case message.Role == System:
		return openai.SystemMessage(message.Text)
	case message.Role == ToolResult:
		return openai.ToolMessage(message.Text, message.CallID)
	case message.Role == Assistant && len(message.Calls) > 0:
		asked := openai.ChatCompletionAssistantMessageParam{}
		if message.Text != "" { // servers refuse an empty one beside calls
			asked.Content.OfString = openai.String(message.Text)
		}
		for _, call := range message.Calls {
			asked.ToolCalls = append(asked.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID:       call.ID,
					Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.Name, Arguments: call.Arguments},
				},
			})
		}
		return openai.ChatCompletionMessageParamUnion{OfAssistant: &asked}
	case message.Role == Assistant:
		return openai.AssistantMessage(message.Text)
	}
	return openai.UserMessage(message.Text)
}

// function is a tool as it is sent. The library's own type would take its schema apart.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      bool            `json:"strict,omitempty"`
}

func functions(tools []Tool) []any {
	all := make([]any, len(tools))
	for i, tool := range tools {
		all[i] = map[string]any{"type": "function", "function": function(tool)}
	}
	return all
}
