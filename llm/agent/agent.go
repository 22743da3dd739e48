// Package agent lets a text model look things up before it answers, within bounds: so many calls, so many look-ups, so
// much time, so much text, and one hold over all of it. Whichever is reached first, the loop says which, and there is an
// answer all the same. What a look-up finds is data: it cannot give the model a tool, nor the tool a right.
package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stenometer/stenometer/llm"
)

// Options bounds every question.
type Options struct {
	// MaxSteps is the most calls to the model, the closing answer included; with 0 a question is refused.
	MaxSteps int
	// MaxToolCalls is the most look-ups that the model may ask for, known or not, repeated or not; with 0 it has no tools.
	MaxToolCalls int
	// Timeout is when the model is asked for its closing answer at the latest.
	Timeout time.Duration
	// ResultTokens bounds what the model is told of one look-up, ContextTokens one whole call; by four characters a token.
	ResultTokens, ContextTokens int
	// AnswerTokens caps what the model may write in each call. What all calls can use by these bounds is held before the
	// first.
	AnswerTokens int
	Temperature  float64
	// Mode is how the model asks for a tool.
	Mode Mode
	Now  func() time.Time
}

// Mode is how the model asks for a tool.
type Mode string

// The modes. Auto is Native until the provider refuses it.
const (
	Auto   Mode = "auto"
	Native Mode = "native"
	Prompt Mode = "prompt"
)

// Tool is one thing that the model may look up. It only reads.
type Tool struct {
	llm.Tool
	// Label is what a reader is told of it, Icon a name of a picture.
	Label, Icon string
	// Run looks up. It judges the caller's rights itself, at each call. The error of arguments that make no sense is a
	// Mistake, which the model is told; any other error ends the loop.
	Run func(ctx context.Context, arguments json.RawMessage) (Result, error)
}

// Result is what a look-up found.
type Result struct {
	// Text is for the model, Detail for the reader: a few words, none if empty.
	Text, Detail string
	// Empty is true where nothing was found.
	Empty bool
}

// Mistake is what the model got wrong about a tool, in words for it.
type Mistake string

func (m Mistake) Error() string { return string(m) }

// Task is one question.
type Task struct {
	// Instructions is the system's prompt, to which the agent adds how tools are asked for, if that is in plain text.
	Instructions string
	// History is what was said before, by User and Assistant.
	History  []llm.Message
	Question string
	Tools    []Tool
	// Still is asked before every call but the first and before every look-up: whether the caller may still have an
	// answer. Its error ends the loop.
	Still func(context.Context) error
	// Timed gives each call its own time, for a caller that waits: a stream has clocks.
	Timed bool
}

// Observer is told what goes on. Every function is required; the error of one ends the loop.
type Observer struct {
	llm.Listener
	// Thinking is what the model says before it asks for a tool.
	Thinking func(text string) error
	// Step is told twice of each look-up, with the same ID.
	Step func(Step) error
	// Usage is how much of the context budget the first call takes, in percent.
	Usage func(percent int) error
	// Folded is told when older look-ups were folded up into a memory, and how many messages were kept as they are.
	Folded func(memory string, kept int) error
}

// Step is a look-up as a reader sees it.
type Step struct {
	ID, Tool, Icon, Label, Detail string
	Status                        Status
}

// Status is how far a look-up is.
type Status string

// The states of a look-up.
const (
	Running Status = "running"
	Done    Status = "done"
	Empty   Status = "empty"
	Failed  Status = "error"
)

// Bound names what ended a loop before the model was done by itself.
type Bound string

// The bounds.
const (
	BySteps     Bound = "steps"
	ByToolCalls Bound = "tool_calls"
	ByTime      Bound = "time"
	ByContext   Bound = "context"
)

// Outcome is how a question ended.
type Outcome struct {
	// Answer has the closing text, at whose end a bound is named that was reached.
	Answer llm.Answer
	// Looked is how many look-ups were made, without those that were repeated or unknown.
	Looked int
	// Ended is empty where the model was done by itself.
	Ended Bound
	// Memory is what became of older look-ups; often empty.
	Memory string
}

// Agent asks a text model.
type Agent struct {
	text *llm.Adapter
	Options
}

// New makes an agent.
func New(text *llm.Adapter, options Options) *Agent { return &Agent{text, options} }
