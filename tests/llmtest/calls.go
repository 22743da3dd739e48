package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Tool is a function that a request offers.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// ToolCall is a function that the model asks for.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Asks answers with a call for a tool, beside whatever text the reply gets; further calls are added with And.
func Asks(name, arguments string) Reply {
	return Reply{Finish: "tool_calls", completes: true}.And(name, arguments)
}

// And asks for a further tool.
func (reply Reply) And(name, arguments string) Reply {
	call := ToolCall{ID: fmt.Sprintf("call_%d", len(reply.Calls)+1), Type: "function"}
	call.Function.Name, call.Function.Arguments = name, arguments
	reply.Calls = append(reply.Calls[:len(reply.Calls):len(reply.Calls)], call)
	return reply
}

// RefusesTools answers 400 to a request that offers tools, and else as other does.
func RefusesTools(other func(Call) Reply) func(Call) Reply {
	return func(call Call) Reply {
		if len(call.Tools) > 0 {
			return Fails(http.StatusBadRequest)
		}
		return other(call)
	}
}

// pieces are the chunks in which a stream tells the calls: what each is first, then its arguments in halves.
func (reply Reply) pieces() []map[string]any {
	var all []map[string]any
	for i, call := range reply.Calls {
		written := call.Function.Arguments
		all = append(all, map[string]any{
			"index": i, "id": call.ID, "type": call.Type, "function": map[string]any{"name": call.Function.Name, "arguments": ""},
		})
		for _, half := range []string{written[:len(written)/2], written[len(written)/2:]} {
			all = append(all, map[string]any{"index": i, "function": map[string]any{"arguments": half}})
		}
	}
	return all
}
