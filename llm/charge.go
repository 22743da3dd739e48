package llm

import (
	"context"

	"github.com/stenometer/stenometer/budgets"
)

// messageTokens is what the frame of one message, tool or call takes at most, in the templates of known models.
const messageTokens = 16

// texts are all that a model reads of a request, each with whether it has a frame of its own.
func (r Request) texts(each func(text string, framed bool)) {
	for _, message := range r.Messages {
		each(message.Text, true)
		each(message.CallID, false)
		for _, call := range message.Calls {
			each(call.ID, true)
			each(call.Name, false)
			each(call.Arguments, false)
		}
	}
	for _, tool := range r.Tools {
		each(tool.Name, true)
		each(tool.Description, false)
		each(string(tool.Parameters), false)
	}
	for name, value := range r.Further { // a schema of the answer is read like a tool's
		each(name, true)
		each(string(value), false)
	}
}

// tokensAtMost bounds from above what a request is to any model. Tokenizers work on bytes, so a byte is at most one
// token, as digits, signs and rare letters often are; lower-case Latin letters and the spaces before them come in
// twos at least. Counted lower, a text that was written to be costly would pass a budget unseen.
func tokensAtMost(request Request) int64 {
	halves := int64(0)
	request.texts(func(text string, framed bool) {
		if framed {
			halves += 2 * messageTokens
		}
		for i := range len(text) {
			if b := text[i]; b == ' ' || 'a' <= b && b <= 'z' {
				halves++
			} else {
				halves += 2
			}
		}
	})
	return (halves + 1) / 2
}

// tokensAbout guesses what text of so many bytes is, where the provider does not tell: rather above than below.
func tokensAbout(bytes int) int64 { return (int64(bytes) + 2) / 3 }

// charged is how a call is settled.
type charged struct {
	outcome  budgets.Outcome
	reported *budgets.Measure
	estimate budgets.Measure
}

// paid reports whether the call came to anything.
func (c charged) paid() bool {
	return c.reported == nil && c.estimate != budgets.Measure{} || c.reported != nil && *c.reported != budgets.Measure{}
}

// charge decides what a call is settled at: what the provider reports, else a guess by the prompt and the text that
// came, cut to what the call could use. A call that a provider refused, or never saw, costs nothing.
func charge(ctx context.Context, request Request, most budgets.Measure, completion Completion, err error) charged {
	c := charged{outcome: budgets.Done, reported: completion.Reported}
	prompt := 0
	request.texts(func(text string, _ bool) { prompt += len(text) })
	said := len(completion.Text)
	for _, call := range completion.Calls {
		said += len(call.Name) + len(call.Arguments)
	}
	c.estimate.Input = min(tokensAbout(prompt), most.Input)
	c.estimate.Output = min(tokensAbout(said), most.Output)
	if completion.Cut { // at the cap, whatever of it was thought and not shown
		c.estimate.Output = most.Output
	}
	switch {
	case err == nil:
	case ctx.Err() != nil && !isRefusal(err):
		c.outcome = budgets.Canceled
	default:
		c.outcome = budgets.Failed
	}
	if isRefusal(err) || isUnsent(err) {
		c.reported = &budgets.Measure{}
	}
	return c
}
