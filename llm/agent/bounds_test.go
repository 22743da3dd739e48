package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/agent"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// A model that asks for look-ups for ever is stopped at each bound, in turn: with so many calls, so many look-ups, and
// an answer that says which bound it was.
func TestLoopEndsAtEachBound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change        func(*rig)
		calls, looked int
		ended         agent.Bound
		says          string
	}{
		"steps":                    {func(*rig) {}, 4, 3, agent.BySteps, "Stopped after 4 calls to the text model, the most for one question."},
		"several at once":          {func(r *rig) { r.model.Always(asksForEver(2)) }, 4, 6, agent.BySteps, "Stopped after 4 calls to the text model, the most for one question."},
		"look-ups":                 {func(r *rig) { r.options.MaxToolCalls = 2 }, 3, 2, agent.ByToolCalls, "Stopped after 2 look-ups, the most for one question."},
		"look-ups within one turn": {func(r *rig) { r.model.Always(asksForEver(9)) }, 2, 6, agent.ByToolCalls, "Stopped after 6 look-ups, the most for one question."},
		"one step":                 {func(r *rig) { r.options.MaxSteps = 1 }, 1, 0, agent.BySteps, "Stopped after 1 call to the text model, the most for one question."},
		"no look-ups":              {func(r *rig) { r.options.MaxToolCalls = 0 }, 1, 0, agent.ByToolCalls, "Answered without looking anything up, which is not allowed here."},
		"time": {func(r *rig) {
			r.task.Tools[0] = r.tool(func(string) (agent.Result, error) {
				r.pass(40 * time.Second)
				return agent.Result{Text: "x"}, nil
			})
		}, 3, 2, agent.ByTime, "Stopped looking things up after 60 seconds, the longest for one question."},
		"time within one turn": {func(r *rig) {
			r.model.Always(asksForEver(3))
			r.task.Tools[0] = r.tool(func(string) (agent.Result, error) {
				r.pass(time.Minute)
				return agent.Result{Text: "x"}, nil
			})
		}, 2, 1, agent.ByTime, "Stopped looking things up after 60 seconds, the longest for one question."},
		"context": {func(r *rig) {
			r.options.ResultTokens = 100_000
			r.task.Tools[0] = r.tool(func(string) (agent.Result, error) { return agent.Result{Text: strings.Repeat("word ", 10_000)}, nil })
		}, 2, 1, agent.ByContext, "Stopped at a context of 4000 tokens, the most for one question."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig) {
				r.model.Always(asksForEver(1))
				c.change(r)
			})
			outcome := r.answers()
			if got := len(r.model.Calls()); got != c.calls || outcome.Looked != c.looked || len(r.ran) != c.looked || outcome.Ended != c.ended {
				t.Errorf("%d calls, %d look-ups of which %d are told, ended by %q", got, len(r.ran), outcome.Looked, outcome.Ended)
			}
			if want := "It is 12,000 euros.\n\n" + c.says; outcome.Answer.Text != want {
				t.Errorf("the answer is %q", outcome.Answer.Text)
			}
			for i, call := range r.model.Calls() {
				if closing := i == c.calls-1; closing != (len(call.Tools) == 0) || closing != strings.Contains(last(call), "Nothing more can be looked up.") {
					t.Errorf("call %d of %d: %s", i+1, c.calls, call.Body)
				}
			}
		})
	}
}

// Where the operator allows no call, where the engine cannot loop, and where the question alone does not fit, nothing is
// asked and nothing is held.
func TestQuestionIsRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	whole := int64(4 * (2*4000 + 10*500))
	less := whole - 1
	for name, c := range map[string]struct {
		change func(*rig)
		kind   problems.Kind
	}{
		"no steps": {func(r *rig) { r.options.MaxSteps = 0 }, problems.FeatureDisabled},
		"embedded": {func(r *rig) { r.engine, _ = llm.New(llm.Options{}) }, problems.ModelUnavailable},
		"too long": {func(r *rig) { r.task.Question = strings.Repeat("1", 9000) }, problems.PayloadTooLarge},
		// The whole loop or nothing: who has the money for half of it would pay for half and have no answer.
		"no room for the whole loop": {func(r *rig) { r.budget = &less }, problems.BudgetExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.change)
			_, err := r.run(t.Context())
			var problem *problems.Error
			if !errors.As(err, &problem) || problem.Kind != c.kind {
				t.Errorf("got %v", err)
			}
			if len(r.model.Calls()) > 0 || len(r.told) > 0 {
				t.Errorf("%d calls, told is %q", len(r.model.Calls()), r.told)
			}
			r.settled(agent.Outcome{})
		})
	}
	r := newRig(t, func(r *rig) { r.budget = &whole })
	r.answers()
	one := whole / 4
	r = newRig(t, func(r *rig) { r.budget, r.options.MaxToolCalls = &one, 0 })
	r.answers()
}

// A call to the model and a look-up that take too long end in time for the closing answer; an answer that has begun is
// not cut off.
func TestTimeEndsWhatIsRunning(t *testing.T) {
	t.Parallel()
	t.Run("call", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, func(r *rig) { r.options.Timeout, r.options.Now = time.Second, time.Now })
		r.model.Script(llmtest.Reply{Hold: true}, llmtest.Says("I do not know."))
		if outcome := r.answers(); outcome.Ended != agent.ByTime || len(r.model.Calls()) != 2 || r.model.Aborted() != 1 {
			t.Errorf("%+v after %d calls", outcome, len(r.model.Calls()))
		}
	})
	t.Run("look-up", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, func(r *rig) {
			r.options.Timeout, r.options.Now = time.Second, time.Now
			r.model.Always(asksForEver(1))
			r.task.Tools[0].Run = func(ctx context.Context, _ json.RawMessage) (agent.Result, error) {
				<-ctx.Done()
				return agent.Result{}, ctx.Err()
			}
		})
		outcome := r.answers()
		if outcome.Ended != agent.ByTime || len(r.model.Calls()) != 2 || r.steps[1].Status != agent.Failed {
			t.Errorf("%+v after %d calls, %+v", outcome, len(r.model.Calls()), r.steps)
		}
	})
	t.Run("answer", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, func(r *rig) { r.options.Timeout, r.options.Now = time.Second, time.Now })
		r.model.Script(llmtest.Chunks(strings.Repeat("word ", 100), "and ", "then ", "more.").Each(400 * time.Millisecond))
		if outcome := r.answers(); outcome.Ended != "" || !strings.HasSuffix(outcome.Answer.Text, "then more.") {
			t.Errorf("%+v", outcome)
		}
	})
}
