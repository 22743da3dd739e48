package recordings

import (
	"context"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm/agent"
	"github.com/stenometer/stenometer/llm/prompts"
	"github.com/stenometer/stenometer/problems"
)

// lookUp lets the model look things up until it answers. waited is for a caller that waits, without the clocks of a stream.
func (s *Recordings) lookUp(ctx context.Context, p auth.Principal, purse budgets.Purse, asked inquiry, to agent.Observer, waited bool) (agent.Outcome, error) {
	looking := lookups{s, p, asked}
	//nolint:wrapcheck // the agent says what was attempted, and a refusal for money is the answer
	return s.Inquiry.Agent.Run(ctx, purse, agent.Task{
		Instructions: prompts.InquireAgent(prompts.InquireInput{Today: asked.today, Language: asked.language}),
		History:      asked.history,
		Question:     asked.asks.Question,
		Tools:        looking.tools(),
		Still: func(ctx context.Context) error {
			_, err := looking.caller(ctx)
			return err
		},
		Timed: waited,
	}, to)
}

// lookups are what the model may look up for one question: what its caller may see at that moment, and of that only what
// the question is about.
type lookups struct {
	s     *Recordings
	p     auth.Principal
	asked inquiry
}

// caller is who asks, by the rights that it has now: those that let it in may be gone.
func (l lookups) caller(ctx context.Context) (auth.Principal, error) {
	now, err := l.p.Present(ctx)
	if err != nil {
		return auth.Principal{}, err //nolint:wrapcheck // the guard's refusal is the answer
	}
	if !now.MayRead() {
		return auth.Principal{}, problems.New(problems.InsufficientScope, "The token may not read any more.")
	}
	return now, nil
}

// tools are the contract's. None of them changes anything.
func (l lookups) tools() []agent.Tool {
	tools := []agent.Tool{l.searching(), l.listing(), l.transcripts(), l.metadata()}
	if l.s.Inquiry.Summaries {
		tools = append(tools, l.summaries())
	}
	if l.s.Inquiry.Notes {
		tools = append(tools, l.notes())
	}
	return tools
}
