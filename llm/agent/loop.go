package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/providers"
)

// errTime ends a call or a look-up that takes longer than the question may before its closing answer.
var errTime = errors.New("the time for look-ups is over")

// saysNothing stands where the model has no closing answer.
const saysNothing = "The text model gave no answer."

// Run answers a question. The most that all of it can cost is held at its beginning, or it is refused with
// budget_exceeded: a loop that began with the money for a part of it would end in the middle, and be paid for. What is
// said to the observer is the answer and nothing else.
func (a *Agent) Run(ctx context.Context, purse budgets.Purse, task Task, to Observer) (Outcome, error) {
	if err := a.refuses(); err != nil {
		return Outcome{}, err
	}
	asked, err := newTalk(a, task)
	if err != nil {
		return Outcome{}, err
	}
	ctx, work, err := a.text.Open(ctx, purse, budgets.Inquiring, a.most())
	if err != nil {
		return Outcome{}, fmt.Errorf("hold the money of a question: %w", err)
	}
	defer work.Close()
	l := &loop{
		talk: asked, work: work, to: to, ends: a.Now().Add(a.Timeout), found: map[string]finding{},
	}
	return l.run(ctx)
}

// refuses tells what no question can be answered with.
func (a *Agent) refuses() error {
	switch engine := a.text.Describe(); {
	case engine.Embedded:
		return problems.New(problems.ModelUnavailable, "The embedded engine looks nothing up by itself; the operator can set a text model.")
	case a.MaxSteps < 1:
		return problems.New(problems.FeatureDisabled, "The operator of this server allows no call to the text model for such a question.")
	}
	return nil
}

// most is what all calls together can use.
func (a *Agent) most() budgets.Measure {
	calls := int64(a.MaxSteps)
	if a.MaxToolCalls < 1 {
		calls = 1 // the closing answer
	}
	return budgets.Measure{Input: calls * a.inputAtMost(), Output: calls * int64(a.AnswerTokens)}
}

// loop is one question on its way.
type loop struct {
	*talk

	work *llm.Work
	to   Observer
	ends time.Time

	steps  int // calls to the model
	asked  int // look-ups that it asked for
	looked int // and that were made
	barren int // of them the last ones that found nothing
	found  map[string]finding

	begun  bool
	deaf   error // of an observer that was told where no error is returned
	spoken strings.Builder
	apart  bool // whether the next piece of the answer is a new paragraph
	used   budgets.Measure
}

func (l *loop) run(ctx context.Context) (Outcome, error) {
	for {
		if l.steps > 0 {
			if err := l.may(ctx); err != nil {
				return Outcome{}, err
			}
		}
		if bound := l.bound(); bound != "" {
			return l.close(ctx, bound)
		}
		if err := l.foldIfLong(); err != nil {
			return Outcome{}, err
		}
		turn, err := l.ask(ctx)
		switch {
		case errors.Is(err, errTime) && ctx.Err() == nil:
			continue // to the closing answer
		case err != nil:
			return Outcome{}, err
		case len(turn.answer.Calls) == 0:
			return l.outcome(turn.answer, ""), nil
		}
		if err := l.lookUp(ctx, turn); err != nil {
			return Outcome{}, err
		}
	}
}

// may asks whether the caller may still have an answer.
func (l *loop) may(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("answer a question: %w", err)
	}
	if l.task.Still == nil {
		return nil
	}
	return l.task.Still(ctx)
}

// bound is the one that is reached, if any: then all that is left is the closing answer.
func (l *loop) bound() Bound {
	switch {
	case l.full:
		return ByContext
	case l.late():
		return ByTime
	case l.steps >= l.MaxSteps-1:
		return BySteps
	case l.asked >= l.MaxToolCalls:
		return ByToolCalls
	}
	return ""
}

func (l *loop) late() bool { return !l.Now().Before(l.ends) }

// inTime ends with the time for look-ups, so that a closing answer can follow. keep lets it go on.
func (l *loop) inTime(ctx context.Context) (_ context.Context, keep func(), done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(l.ends.Sub(l.Now()), func() { cancel(errTime) })
	return ctx, func() { timer.Stop() }, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}

// close asks for the closing answer and says what was reached. Where the model says nothing, that is all.
func (l *loop) close(ctx context.Context, bound Bound) (Outcome, error) {
	answer, err := l.closing(ctx)
	var failure *providers.Error
	if errors.As(err, &failure) && failure.Kind == providers.Unreadable {
		err = l.say(saysNothing)
	}
	if err != nil {
		return Outcome{}, err
	}
	l.apart = true
	if err := l.say(l.sentence(bound)); err != nil {
		return Outcome{}, err
	}
	return l.outcome(answer, bound), nil
}

// sentence names a bound to the reader.
func (l *loop) sentence(bound Bound) string {
	switch bound {
	case BySteps:
		return fmt.Sprintf("Stopped after %s to the text model, the most for one question.", counted(l.steps, "call"))
	case ByToolCalls:
		if l.MaxToolCalls < 1 {
			return "Answered without looking anything up, which is not allowed here."
		}
		return fmt.Sprintf("Stopped after %s, the most for one question.", counted(l.MaxToolCalls, "look-up"))
	case ByTime:
		return fmt.Sprintf("Stopped looking things up after %g seconds, the longest for one question.", l.Timeout.Seconds())
	case ByContext:
		return fmt.Sprintf("Stopped at a context of %d tokens, the most for one question.", l.ContextTokens)
	}
	return ""
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// say tells the next piece of the answer.
func (l *loop) say(text string) error {
	if text == "" {
		return nil
	}
	if l.apart && l.spoken.Len() > 0 {
		text = "\n\n" + text
	}
	l.apart = false
	l.spoken.WriteString(text)
	return l.to.Said(text)
}

func (l *loop) outcome(last llm.Answer, ended Bound) Outcome {
	last.Text, last.Calls, last.Used = l.spoken.String(), nil, l.used
	last.Model = cmp.Or(last.Model, l.text.Describe().Model)
	return Outcome{Answer: last, Looked: l.looked, Ended: ended, Memory: strings.Join(l.memory, "\n")}
}
