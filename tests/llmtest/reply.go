package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Reply is one answer. Its zero value is 200 with an empty JSON object.
type Reply struct {
	// Status is 200 when 0.
	Status int
	// Body is sent as it stands. Without it the body is a completion of Text.
	Body string
	// Text is what the model says, Finish why it stopped ("stop" when empty), Model who it says it is: who was asked,
	// when empty.
	Text, Finish, Model string
	// Calls are the tools that the model asks for.
	Calls []ToolCall
	// Usage is the JSON of the usage object; empty counts the bytes by four, "none" leaves it out.
	Usage string
	// Headers go with the answer, such as Retry-After.
	Headers map[string]string
	// Delay passes before the answer begins; a client that leaves meanwhile counts as aborted.
	Delay time.Duration
	// Hold never answers: the call ends when the client leaves.
	Hold bool
	// Drop sends the first half of the answer, or all pieces of a stream but not its end, and cuts the connection; Cut
	// cuts it before the first byte.
	Drop, Cut bool
	// Pieces are the text as a stream tells it; without them it is told word by word. Pause passes before each. Gate is
	// asked before each and before the end; it may wait, and is false when the client left.
	Pieces []string
	Pause  time.Duration
	Gate   func(ctx context.Context, piece int) bool
	// Breaks ends a stream with an error inside of it. Whole answers a request for a stream in one piece.
	Breaks, Whole bool

	completes bool
	later     func(Call) Reply
}

// Says answers with a text.
func Says(text string) Reply { return Reply{Text: text, completes: true} }

// Using sets the usage that the answer reports.
func (reply Reply) Using(prompt, completion int64) Reply {
	reply.Usage = fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, prompt, completion, prompt+completion)
	return reply
}

// WithoutUsage reports none.
func (reply Reply) WithoutUsage() Reply {
	reply.Usage = "none"
	return reply
}

// Sends answers 200 with a body as it stands.
func Sends(body string) Reply { return Reply{Body: body} }

// Fails answers with a status and an error that quotes what must never be shown.
func Fails(status int) Reply {
	return Reply{Status: status, Body: `{"error":{"message":"PROVIDER-SECRET said no to sk-key","type":"error","code":null}}`}
}

// Busy answers 429 with a wait in whole seconds.
func Busy(seconds int) Reply {
	reply := Fails(http.StatusTooManyRequests)
	reply.Headers = map[string]string{"Retry-After": fmt.Sprint(seconds)}
	return reply
}

// RefusesJSON answers 400 to a request for a JSON object, and else as other does.
func RefusesJSON(other Reply) func(Call) Reply {
	return func(call Call) Reply {
		if call.JSON {
			return Fails(http.StatusBadRequest)
		}
		return other
	}
}

// body is the completion as a server of this kind writes it.
func (reply Reply) body(call Call) []byte {
	if !reply.completes {
		if reply.Body == "" {
			return []byte("{}")
		}
		return []byte(reply.Body)
	}
	message := map[string]any{"role": "assistant", "content": reply.Text}
	if len(reply.Calls) > 0 {
		message["tool_calls"] = reply.Calls
	}
	answer := map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": or(reply.Model, call.Model),
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": or(reply.Finish, "stop"),
			"message": message,
		}},
	}
	switch reply.Usage {
	case "none":
	case "":
		answer["usage"] = map[string]int{"prompt_tokens": len(call.Body) / 8, "completion_tokens": len(reply.Text) / 4}
	default:
		answer["usage"] = json.RawMessage(reply.Usage)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		panic(err) // the test's own usage is no JSON
	}
	return body
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// write sends the reply and reports whether the client had left.
func (reply Reply) write(w http.ResponseWriter, r *http.Request, call Call) (left bool) {
	if reply.Hold {
		<-r.Context().Done()
		return true
	}
	if reply.Delay > 0 {
		timer := time.NewTimer(reply.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return true
		}
	}
	if reply.Cut {
		panic(http.ErrAbortHandler)
	}
	if reply.streams(call) {
		return reply.stream(w, r, call)
	}
	body := reply.body(call)
	w.Header().Set("Content-Type", "application/json")
	for name, value := range reply.Headers {
		w.Header().Set(name, value)
	}
	status := reply.Status
	if status == 0 {
		status = http.StatusOK
	}
	if reply.Drop {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.WriteHeader(status)
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return false
}
