// Package llm is the one way to a text model. The Adapter holds the most that a call can cost before it is made, sets
// the output cap on every call, settles what it did cost, and writes the ledger; an Engine only knows how to ask. What
// models answer is hostile input: whatever comes, an Answer is valid, bounded text, or the call is a *providers.Error in our
// own words.
package llm

import (
	"context"
	"encoding/json"

	"github.com/stenometer/stenometer/budgets"
)

// Engine is a text model. Complete makes one attempt, within its own time; its failures are *providers.Error or the context's
// error.
type Engine interface {
	Describe() Description
	Complete(ctx context.Context, request Request) (Completion, error)
	// StreamCompletion is Complete that tells the text while it comes, as the model says it. Only the context bounds its
	// time: a model that goes on talking is not late. The error of a listener ends it and is returned.
	StreamCompletion(ctx context.Context, request Request, to Listener) (Completion, error)
}

// Description is what an engine states about itself.
type Description struct {
	budgets.Engine
	// Embedded engines run in this server: they quote, and write nothing of their own.
	Embedded bool
	// Can lists the operations that the engine can do; empty means all.
	Can []budgets.Operation
}

// Does reports whether the engine can do an operation.
func (d Description) Does(operation budgets.Operation) bool {
	for _, can := range d.Can {
		if can == operation {
			return true
		}
	}
	return len(d.Can) == 0
}

// Role is who says a message.
type Role string

// The roles. Only our own prompts, and clients that bring all of a conversation, have System.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	// ToolResult is what came of a ToolCall.
	ToolResult Role = "tool"
)

// Message is one turn of what a model reads.
type Message struct {
	Role Role
	Text string
	// Calls is what an Assistant asked for in this turn.
	Calls []ToolCall
	// CallID is the ToolCall that a ToolResult answers.
	CallID string
}

// Tool is a function that a model may ask for.
type Tool struct {
	Name, Description string
	// Parameters is the JSON schema of its arguments.
	Parameters json.RawMessage
	// Strict asks the model's service to keep to the schema.
	Strict bool
}

// ToolCall is a function that a model asks for. Arguments are as the model wrote them, which may be no JSON.
type ToolCall struct{ ID, Name, Arguments string }

// Request is what a model is asked.
type Request struct {
	Operation budgets.Operation
	Messages  []Message
	// MaxTokens caps what the model may write; 1 or more. It is in every request that a provider receives.
	MaxTokens   int
	Temperature float64
	// JSON asks for one JSON object. The answer's text is the JSON alone, if there is any in what came.
	JSON bool
	// plainly asks for JSON in words alone, of a server that has no mode for it.
	plainly bool
	// reports asks a stream for its usage, which not every server knows how to tell.
	reports bool
	// Tools are what the model may ask for instead of an answer; none where it may not.
	Tools []Tool
	// Further are members of the provider's request as the caller sent them: sampling, response_format, tool_choice. What
	// the adapter sets itself it sets after them.
	Further map[string]json.RawMessage
	// Verbatim passes the answer on as the model wrote it, to callers that show it themselves. Otherwise it is cleaned.
	Verbatim bool
	// Timed gives a streamed call the time of any other. Without it its context alone bounds it, as the clocks of a stream do.
	Timed bool
	// Material is what the messages were made of, for engines that read no prompts.
	Material Material
}

// Material is the matter of a request.
type Material struct {
	Title    string
	Passages []Passage
	// Question is the last one that was asked, in a chat.
	Question string
	// Cite asks for the passages' numbers in the answer: [S12 "quote"].
	Cite bool
}

// Passage is a stretch of a transcript. Start and End are seconds, nil where it has no times.
type Passage struct {
	Index      int // in the whole transcript
	Start, End *float64
	Speaker    string
	Text       string
	// Origin is a Markdown link to the passage, shown before it; empty where all of it is of one recording.
	Origin string
}

// Completion is what an engine said, before it is cleaned.
type Completion struct {
	Text string
	// Model is the one that answered, as it says.
	Model string
	// Reported is the usage as the provider tells it; nil when it tells none.
	Reported *budgets.Measure
	// Cut is true when the model stopped at the cap.
	Cut bool
	// Calls is what the model asks for, beside or instead of a text.
	Calls []ToolCall
}

// Answer is a completion that is fit to show.
type Answer struct {
	Text  string
	Model string
	Cut   bool
	// Calls is what the model asks for; there may be no text then.
	Calls []ToolCall
	// Used is what the call was charged for.
	Used budgets.Measure
}
