package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/stenometer/stenometer/completions"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/problems"
)

// maxStops and maxStop bound the texts at which a model is to stop.
const maxStops, maxStop = 4, 500

type completionRequest struct {
	Model               string           `json:"model" required:"true" minLength:"1" maxLength:"200" description:"One of GET /v1/models."`
	Messages            []requestMessage `json:"messages" required:"true" minItems:"1" maxItems:"1000"`
	MaxTokens           *int             `json:"max_tokens" nullable:"true" minimum:"1" description:"Lowered to CHAT_MAX_TOKENS, which also holds where it is absent; never raised."`
	MaxCompletionTokens *int             `json:"max_completion_tokens" nullable:"true" minimum:"1" description:"The newer name of max_tokens; of both the lower counts."`
	Stream              *bool            `json:"stream" nullable:"true"`
	StreamOptions       *streamOptions   `json:"stream_options" nullable:"true"`
	N                   *int             `json:"n" nullable:"true" minimum:"1" maximum:"1" description:"More answers than one are not paid for."`
	Tools               []requestTool    `json:"tools" nullable:"true" maxItems:"128" description:"Functions alone: what a service looks up by itself has no price here."`

	Temperature       *float64        `json:"temperature" nullable:"true" minimum:"0" maximum:"2"`
	TopP              *float64        `json:"top_p" nullable:"true" minimum:"0" maximum:"1"`
	PresencePenalty   *float64        `json:"presence_penalty" nullable:"true" minimum:"-2" maximum:"2"`
	FrequencyPenalty  *float64        `json:"frequency_penalty" nullable:"true" minimum:"-2" maximum:"2"`
	Seed              *int64          `json:"seed" nullable:"true"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls" nullable:"true"`
	ReasoningEffort   *string         `json:"reasoning_effort" nullable:"true" maxLength:"20"`
	Stop              json.RawMessage `json:"stop" description:"A text, or a list of at most 4, of at most 500 characters each."`
	ResponseFormat    json.RawMessage `json:"response_format" description:"An object whose type is text, json_object or json_schema."`
	ToolChoice        json.RawMessage `json:"tool_choice" description:"none, auto, required, or the function that the model has to call."`

	unpriced
}

// unpriced are members that change what a call costs in ways that have no price here. They are read to be refused.
type unpriced struct {
	ServiceTier      json.RawMessage `json:"service_tier" description:"Only auto and default are taken: others have other prices."`
	Modalities       json.RawMessage `json:"modalities" description:"Only text is taken."`
	Audio            json.RawMessage `json:"audio" description:"Not taken."`
	Prediction       json.RawMessage `json:"prediction" description:"Not taken: what is predicted wrongly is charged too."`
	WebSearchOptions json.RawMessage `json:"web_search_options" description:"Not taken."`
	Functions        json.RawMessage `json:"functions" description:"Not taken: use tools."`
	FunctionCall     json.RawMessage `json:"function_call" description:"Not taken: use tool_choice."`
}

type streamOptions struct {
	IncludeUsage *bool `json:"include_usage" nullable:"true" description:"Asks for a last chunk that tells the usage."`
}

type requestMessage struct {
	Role       string          `json:"role" required:"true" enum:"system,developer,user,assistant,tool"`
	Content    json.RawMessage `json:"content" description:"A text, or a list of parts of the type text: pictures, sound and files have no price here."`
	ToolCalls  []toolCall      `json:"tool_calls,omitempty" nullable:"true" maxItems:"128" description:"What an assistant asked for."`
	ToolCallID *string         `json:"tool_call_id,omitempty" nullable:"true" maxLength:"200" description:"Which of these calls a tool answers."`
}

type toolCall struct {
	ID       string       `json:"id" maxLength:"200"`
	Type     string       `json:"type" enum:"function"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name" maxLength:"64"`
	Arguments string `json:"arguments" description:"As the model wrote them, which may be no JSON."`
}

type requestTool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name" maxLength:"64"`
	Description *string         `json:"description" nullable:"true"`
	Parameters  json.RawMessage `json:"parameters" description:"A JSON schema."`
	Strict      *bool           `json:"strict" nullable:"true" description:"Asks the model's service to keep to the schema."`
}

// wish is what the request asks for.
func (r completionRequest) wish() (completions.Wish, error) {
	if err := r.unpriced.refuse(); err != nil {
		return completions.Wish{}, err
	}
	w := completions.Wish{Model: r.Model}
	for _, most := range []*int{r.MaxTokens, r.MaxCompletionTokens} {
		if most != nil && (w.MaxTokens == 0 || *most < w.MaxTokens) {
			w.MaxTokens = *most
		}
	}
	asked := map[string]bool{}
	for i, message := range r.Messages {
		read, err := message.read(fmt.Sprintf("messages[%d]", i), asked)
		if err != nil {
			return completions.Wish{}, err
		}
		w.Messages = append(w.Messages, read)
	}
	for i, tool := range r.Tools {
		read, err := tool.read(fmt.Sprintf("tools[%d]", i))
		if err != nil {
			return completions.Wish{}, err
		}
		w.Tools = append(w.Tools, read)
	}
	var err error
	w.Further, err = r.further()
	return w, err
}

// refuse names the first member that has no price.
func (u unpriced) refuse() error {
	for _, of := range []struct {
		name  string
		sent  json.RawMessage
		taken []string
	}{
		{"service_tier", u.ServiceTier, []string{`"auto"`, `"default"`}},
		{"modalities", u.Modalities, []string{`["text"]`}},
		{"audio", u.Audio, nil},
		{"prediction", u.Prediction, nil},
		{"web_search_options", u.WebSearchOptions, nil},
		{"functions", u.Functions, nil},
		{"function_call", u.FunctionCall, nil},
	} {
		if !given(of.sent) || contains(of.taken, of.sent) {
			continue
		}
		if of.taken == nil {
			return invalid(of.name, "%s is not taken here: what it may cost is not known beforehand.", of.name)
		}
		return invalid(of.name, "%s must be %s: what else may cost is not known beforehand.", of.name, strings.Join(of.taken, " or "))
	}
	return nil
}

func contains(taken []string, sent json.RawMessage) bool {
	var plain bytes.Buffer
	if json.Compact(&plain, sent) != nil {
		return false
	}
	for _, one := range taken {
		if plain.String() == one {
			return true
		}
	}
	return false
}

// given is true of a member that was sent and is not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

func invalid(field, format string, args ...any) *problems.Error {
	return problems.New(problems.InvalidParameter, format, args...).With("field", field)
}

// read is one message. The calls that were asked for so far are those that a tool may answer.
func (m requestMessage) read(field string, asked map[string]bool) (llm.Message, error) {
	text, err := contentOf(m.Content, field+".content")
	if err != nil {
		return llm.Message{}, err
	}
	read := llm.Message{Role: llm.Role(m.Role), Text: text}
	switch m.Role {
	case "developer": // the newer name of the same
		read.Role = llm.System
	case "assistant":
		for i, call := range m.ToolCalls {
			if call.ID == "" || !functionName.MatchString(call.Function.Name) {
				return llm.Message{}, invalid(field+".tool_calls", "%s.tool_calls[%d] must have an id and the name of a function.", field, i)
			}
			asked[call.ID] = true
			read.Calls = append(read.Calls, llm.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
	case "tool":
		if m.ToolCallID == nil || !asked[*m.ToolCallID] {
			return llm.Message{}, invalid(field+".tool_call_id", "%s.tool_call_id must be the id of a call in a message before it.", field)
		}
		read.CallID = *m.ToolCallID
	}
	if !given(m.Content) && len(read.Calls) == 0 {
		return llm.Message{}, invalid(field+".content", "%s.content must be given.", field)
	}
	return read, nil
}

// contentOf is the text of a message.
func contentOf(raw json.RawMessage, field string) (string, error) {
	if !given(raw) {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", invalid(field, "%s must be a text or a list of parts.", field)
	}
	for i, part := range parts {
		if part.Type != "text" || part.Text == nil {
			return "", invalid(field, "%s[%d] must be a part of the type text: what others may cost is not known beforehand.", field, i)
		}
		text += *part.Text
	}
	return text, nil
}

// functionName is how functions may be called.
var functionName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (t requestTool) read(field string) (llm.Tool, error) {
	if t.Type != "function" {
		return llm.Tool{}, invalid(field+".type", "%s.type must be function: what other tools may cost is not known beforehand.", field)
	}
	if !functionName.MatchString(t.Function.Name) {
		return llm.Tool{}, invalid(field+".function.name", "%s.function.name must be 1 to 64 letters, digits, _ and -.", field)
	}
	tool := llm.Tool{Name: t.Function.Name, Strict: t.Function.Strict != nil && *t.Function.Strict}
	if t.Function.Description != nil {
		tool.Description = *t.Function.Description
	}
	if given(t.Function.Parameters) {
		if t.Function.Parameters[0] != '{' {
			return llm.Tool{}, invalid(field+".function.parameters", "%s.function.parameters must be an object.", field)
		}
		tool.Parameters = t.Function.Parameters
	}
	return tool, nil
}

// further are the members that are passed on as they are.
func (r completionRequest) further() (map[string]json.RawMessage, error) {
	passed := map[string]json.RawMessage{}
	for name, value := range map[string]any{
		"temperature": r.Temperature, "top_p": r.TopP, "presence_penalty": r.PresencePenalty, "frequency_penalty": r.FrequencyPenalty,
		"seed": r.Seed, "parallel_tool_calls": r.ParallelToolCalls, "reasoning_effort": r.ReasoningEffort,
	} {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("pass %s on: %w", name, err)
		}
		if given(raw) {
			passed[name] = raw
		}
	}
	for _, of := range []struct {
		name  string
		sent  json.RawMessage
		check func(json.RawMessage) error
	}{
		{"stop", r.Stop, checkStop}, {"response_format", r.ResponseFormat, checkFormat}, {"tool_choice", r.ToolChoice, checkChoice},
	} {
		if !given(of.sent) {
			continue
		}
		if err := of.check(of.sent); err != nil {
			return nil, err
		}
		passed[of.name] = of.sent
	}
	return passed, nil
}

func checkStop(raw json.RawMessage) error {
	var stops []string
	var one string
	if json.Unmarshal(raw, &one) == nil {
		stops = []string{one}
	} else if json.Unmarshal(raw, &stops) != nil || bytes.Contains(raw, []byte("null")) && len(stops) == 0 {
		return invalid("stop", "stop must be a text or a list of texts.")
	}
	if len(stops) > maxStops {
		return invalid("stop", "stop must be at most %d texts.", maxStops)
	}
	for _, stop := range stops {
		if n := utf8.RuneCountInString(stop); n == 0 || n > maxStop {
			return invalid("stop", "each text of stop must be 1 to %d characters long.", maxStop)
		}
	}
	return nil
}

func checkFormat(raw json.RawMessage) error {
	var format struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &format) == nil {
		switch format.Type {
		case "text", "json_object", "json_schema":
			return nil
		}
	}
	return invalid("response_format", "response_format.type must be text, json_object or json_schema.")
}

func checkChoice(raw json.RawMessage) error {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		switch word {
		case "none", "auto", "required":
			return nil
		}
	}
	var choice struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &choice) == nil && choice.Type == "function" && functionName.MatchString(choice.Function.Name) {
		return nil
	}
	return invalid("tool_choice", "tool_choice must be none, auto, required, or a function by its name.")
}
