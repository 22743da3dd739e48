package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Chunks answers a request for a stream piece by piece; the text is all of them. A request for no stream has it at once.
func Chunks(pieces ...string) Reply {
	return Reply{Text: strings.Join(pieces, ""), Pieces: pieces, completes: true}
}

// Each pauses before every piece of the answer.
func (reply Reply) Each(pause time.Duration) Reply {
	reply.Pause = pause
	return reply
}

// streams reports whether the reply is written in chunks.
func (reply Reply) streams(call Call) bool {
	return call.Stream && reply.completes && !reply.Whole && reply.Status == 0
}

// stream writes the reply in chunks and reports whether the client had left.
func (reply Reply) stream(w http.ResponseWriter, r *http.Request, call Call) (left bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	_ = control.Flush()
	pieces := reply.Pieces
	if pieces == nil && reply.Text != "" {
		pieces = strings.SplitAfter(reply.Text, " ")
	}
	for i, piece := range pieces {
		if reply.Gate != nil && !reply.Gate(r.Context(), i) || !passed(r, reply.Pause) {
			return true
		}
		say(w, map[string]any{"index": 0, "delta": map[string]any{"content": piece}}, or(reply.Model, call.Model), nil)
		if control.Flush() != nil || r.Context().Err() != nil {
			return true
		}
	}
	for _, piece := range reply.pieces() {
		say(w, map[string]any{"index": 0, "delta": map[string]any{"tool_calls": []any{piece}}}, or(reply.Model, call.Model), nil)
		_ = control.Flush()
	}
	switch {
	case reply.Drop:
		panic(http.ErrAbortHandler)
	case reply.Breaks:
		_, _ = fmt.Fprint(w, `data: {"error":{"message":"PROVIDER-SECRET broke at sk-key","code":500}}`+"\n\n")
		return false
	case reply.Gate != nil && !reply.Gate(r.Context(), len(pieces)):
		return true
	}
	say(w, map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": or(reply.Finish, "stop")}, call.Model, nil)
	if reply.Usage != "none" && call.AsksUsage {
		var whole struct {
			Usage json.RawMessage `json:"usage"`
		}
		_ = json.Unmarshal(reply.body(call), &whole)
		say(w, nil, call.Model, whole.Usage)
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
	return false
}

func passed(r *http.Request, pause time.Duration) bool {
	if pause == 0 {
		return r.Context().Err() == nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// say writes one chunk. Members that are null stand in it, as some servers have them.
func say(w http.ResponseWriter, choice map[string]any, model string, usage json.RawMessage) {
	choices := []any{}
	if choice != nil {
		choices = append(choices, choice)
	}
	chunk := map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices, "usage": usage, "error": nil,
	}
	body, err := json.Marshal(chunk)
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(w, "data: %s\n\n", body)
}
