package llm

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/providers"
)

// decode reads an answer. Members of another type than expected are taken as absent; an answer without a
// choice is an error, with the usage that it tells all the same.
func decode(body []byte) (Completion, error) {
	var form answerForm
	if err := json.Unmarshal(body, &form); err != nil {
		return Completion{Text: string(body)}, unreadable("is not the JSON that was expected")
	}
	completion := Completion{Model: form.Model.text, Reported: usage(form.Usage)}
	if form.failed() {
		return completion, faulty()
	}
	choice, found := first(form.Choices)
	if !found {
		return completion, unreadable("has no text")
	}
	if choice.failed() {
		completion.Text = choice.Message.Content.text
		return completion, faulty()
	}
	completion.Text = choice.Message.Content.text
	completion.Cut = choice.FinishReason.text == "length"
	var asked calling
	if err := asked.take(choice.Message.ToolCalls, true); err != nil {
		return completion, err
	}
	asked.tell(&completion)
	switch {
	case choice.filtered():
		return completion, withheld()
	case len(completion.Calls) == 0 && strings.TrimSpace(completion.Text) == "" && choice.Message.Refusal.text != "":
		return completion, declined()
	}
	return completion, nil
}

// answerForm is an answer, or a chunk of one.
type answerForm struct {
	Object  loose           `json:"object"`
	Type    loose           `json:"type"`
	Model   loose           `json:"model"`
	Choices json.RawMessage `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

// failed reports whether an error stands where the answer should, in one of the ways in which services write it.
func (f answerForm) failed() bool {
	return present(f.Error) || f.Object.text == "error" || f.Type.text == "error"
}

func faulty() *providers.Error {
	return providers.Retryable(providers.ServiceFault, 0, "The text model's service answered with an error")
}

func declined() *providers.Error {
	return providers.Permanent(providers.Refused, 0, "The text model declined to answer")
}

// withheld is an answer of which the service's filter left a part or nothing: half a summary must not pass for one.
func withheld() *providers.Error {
	return providers.Permanent(providers.Refused, 0, "The text model's service withheld the answer or its end")
}

func unreadable(why string) *providers.Error {
	return providers.Permanent(providers.Unreadable, 0, "The text model's answer "+why)
}

type choice struct {
	FinishReason loose           `json:"finish_reason"`
	Message      said            `json:"message"`
	Delta        said            `json:"delta"` // of a stream
	Error        json.RawMessage `json:"error"`
}

// filtered reports whether a filter of the service took away the answer's end.
func (c choice) filtered() bool { return c.FinishReason.text == "content_filter" }

// failed reports whether the service says that the answer ended by a failure of its own.
func (c choice) failed() bool { return c.FinishReason.text == "error" || present(c.Error) }

type said struct {
	Content loose `json:"content"`
	Refusal loose `json:"refusal"`
	// ToolCalls are read on their own: what is wrong with them must not take the text along.
	ToolCalls json.RawMessage `json:"tool_calls"`
}

// first is the first choice, the only one that was asked for.
func first(raw json.RawMessage) (read choice, found bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('[') || !decoder.More() {
		return choice{}, false
	}
	return read, decoder.Decode(&read) == nil
}

// usage is nil unless both counts are whole numbers: an explicit 0 is one, a missing count is not.
func usage(raw json.RawMessage) *budgets.Measure {
	var counts struct {
		Prompt     count `json:"prompt_tokens"`
		Completion count `json:"completion_tokens"`
	}
	if json.Unmarshal(raw, &counts) != nil || counts.Prompt.value == nil || counts.Completion.value == nil {
		return nil
	}
	return &budgets.Measure{Input: *counts.Prompt.value, Output: *counts.Completion.value}
}

// present reports whether a member is there and says anything.
func present(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}":
		return false
	}
	return true
}

// loose is a string, or the joined texts of a list of parts, where servers also send null and other things.
type loose struct{ text string }

func (l *loose) UnmarshalJSON(raw []byte) error {
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &l.text) != nil && json.Unmarshal(raw, &parts) == nil {
		for _, part := range parts {
			l.text += part.Text
		}
	}
	return nil // what is neither is absent
}

// count is a whole number where servers also send null, fractions, strings or nonsense.
type count struct{ value *int64 }

func (c *count) UnmarshalJSON(raw []byte) error {
	if value, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		c.value = &value
	}
	return nil
}
