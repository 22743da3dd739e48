package llm

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/stenometer/stenometer/budgets"
)

// decode reads an answer. Members of another type than expected are taken as absent; an answer without a
// choice is an error, with the usage that it tells all the same.
func decode(body []byte) (Completion, error) {
	var form struct {
		Model   loose           `json:"model"`
		Choices json.RawMessage `json:"choices"`
		Usage   json.RawMessage `json:"usage"`
		Error   json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &form); err != nil {
		return Completion{Text: string(body)}, unreadable("is not the JSON that was expected")
	}
	completion := Completion{Model: form.Model.text, Reported: usage(form.Usage)}
	if present(form.Error) {
		return completion, retryable(ServiceFault, 0, "The text model's service answered with an error")
	}
	choice, found := first(form.Choices)
	if !found {
		return completion, unreadable("has no text")
	}
	completion.Text = choice.Message.Content.text
	completion.Cut = choice.FinishReason.text == "length"
	var asked calling
	if err := asked.take(choice.Message.ToolCalls, true); err != nil {
		return completion, err
	}
	asked.tell(&completion)
	if len(completion.Calls) == 0 && strings.TrimSpace(completion.Text) == "" && (choice.Message.Refusal.text != "" || choice.FinishReason.text == "content_filter") {
		return completion, permanent(Refused, 0, "The text model declined to answer")
	}
	return completion, nil
}

func unreadable(why string) *Error {
	return permanent(Unreadable, 0, "The text model's answer "+why)
}

type choice struct {
	FinishReason loose `json:"finish_reason"`
	Message      said  `json:"message"`
	Delta        said  `json:"delta"` // of a stream
}

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
