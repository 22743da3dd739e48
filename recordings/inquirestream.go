package recordings

import (
	"context"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/agent"
	"github.com/stenometer/stenometer/streams"
)

// InquireFrames are the events of a streamed answer as their reader is to have them.
type InquireFrames struct {
	// Delta is the next piece of the text.
	Delta func(text string) any
	// Status says in a word and in a sentence what goes on.
	Status func(status, message string) any

	// Usage is first when the model looks things up: how much of the context budget is taken, in percent.
	Usage func(percent int) any
	// Thinking is what the model says before it looks something up.
	Thinking func(text string) any
	// Step is told twice of each look-up.
	Step func(agent.Step) any
	// Folded is told when older look-ups were folded up into a memory, and Memory that at the end.
	Folded func(memory string, kept int) any
	Memory func(memory string) any
	// Steps is how many look-ups were made, told behind the text where there were any.
	Steps func(steps int, line string) any
}

// InquireStream answers as Inquire does, while the model writes it; the text keeps its links. What fails before the model
// has begun is returned; what fails later the stream tells.
func (s *Recordings) InquireStream(ctx context.Context, p auth.Principal, purse budgets.Purse, opener streams.Opener, q Inquiry, frames InquireFrames) error {
	asked, err := s.inquiry(ctx, p, q)
	if err != nil {
		return err
	}
	var found []excerpt
	if asked.by == ByRetrieval && !asked.unread && !asked.empty {
		if found, err = s.retrieve(ctx, p, asked); err != nil {
			return err
		}
		asked.empty = len(found) == 0
	}
	//nolint:wrapcheck // the stream's refusals are the answer, and the source says what it attempted
	return opener.Open(streams.Inquiring, func(ctx context.Context, out *streams.Sink) error {
		told := &inquiryTold{telling: telling{out: out, delta: frames.Delta}, frames: frames, shown: asked.shown}
		switch {
		case asked.unread:
			out.Start()
			return nil
		case asked.empty:
			return told.nothing()
		case asked.by == ByAgent:
			return s.tellLookUp(ctx, p, purse, asked, told)
		}
		return s.tellFound(ctx, purse, asked, found, told)
	})
}

// tellFound tells an answer from excerpts.
func (s *Recordings) tellFound(ctx context.Context, purse budgets.Purse, asked inquiry, found []excerpt, told *inquiryTold) error {
	for _, step := range []struct{ status, message string }{
		{"searching", "Searching the recordings."}, {"responding", "Writing the answer."},
	} {
		if err := told.event(told.frames.Status(step.status, step.message)); err != nil {
			return err
		}
	}
	answer, err := s.stream(ctx, purse, s.inquiryErrand(asked, found), told.listener())
	if err != nil {
		return inquiryProblem(err)
	}
	return told.remarks(answer)
}

// tellLookUp tells an answer that the model looked up. Where it fails before any of that was told, excerpts are found for
// it after all.
func (s *Recordings) tellLookUp(ctx context.Context, p auth.Principal, purse budgets.Purse, asked inquiry, told *inquiryTold) error {
	outcome, err := s.lookUp(ctx, p, purse, asked, told.observer(), false)
	if err == nil {
		return told.end(outcome)
	}
	if told.length > 0 || !failed(err) {
		return inquiryProblem(err)
	}
	found, err := s.retrieve(ctx, p, asked)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return told.nothing()
	}
	return s.tellFound(ctx, purse, asked, found, told)
}

// inquiryTold is a streamed answer on its way.
type inquiryTold struct {
	telling

	frames InquireFrames
	shown  shown
}

func (t *inquiryTold) nothing() error {
	t.out.Start()
	return t.send(nothingToSearch)
}

func (t *inquiryTold) event(event any) error {
	return t.out.Send(event) //nolint:wrapcheck // the reason for which the stream ends
}

// said tells a piece, in which every link is whole.
func (t *inquiryTold) said(text string) error { return t.say(t.shown.keep(text)) }

func (t *inquiryTold) listener() llm.Listener {
	return llm.Listener{Begun: t.out.Start, Heard: t.out.Heard, Said: t.said}
}

func (t *inquiryTold) observer() agent.Observer {
	return agent.Observer{
		Listener: t.listener(),
		Thinking: func(text string) error { return sendText(t.out, t.shown.keep(text), t.frames.Thinking) },
		Step:     func(step agent.Step) error { return t.event(t.frames.Step(step)) },
		Usage:    func(percent int) error { return t.event(t.frames.Usage(percent)) },
		Folded:   func(memory string, kept int) error { return t.event(t.frames.Folded(memory, kept)) },
	}
}

// remarks tells what the reader of an answer must know of it.
func (t *inquiryTold) remarks(answer llm.Answer) error {
	return t.send(withRemarks(llm.Answer{Cut: answer.Cut}, ""))
}

// end tells what is told behind an answer that was looked up.
func (t *inquiryTold) end(outcome agent.Outcome) error {
	if err := t.remarks(outcome.Answer); err != nil {
		return err
	}
	if outcome.Looked > 0 {
		if err := t.event(t.frames.Steps(outcome.Looked, howMany(outcome.Looked, "look-up")+".")); err != nil {
			return err
		}
	}
	if outcome.Memory == "" {
		return nil
	}
	return t.event(t.frames.Memory(outcome.Memory))
}
