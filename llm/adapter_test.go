package llm_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// Every attempt is a call of its own: sent, settled, and told in the ledger.
func TestEveryAttemptIsALineOfTheLedger(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) { s.adapter.Attempts = 3 })
	r.model.Script(llmtest.Fails(http.StatusInternalServerError), llmtest.Reply{Cut: true}, llmtest.Says("At last.").Using(12, 3))
	answer, err := r.ask(request(prompt))
	if err != nil || answer.Text != "At last." || answer.Model != "scripted" {
		t.Fatalf("got %+v, %v", answer, err)
	}
	r.called(3)
	lines := r.ledger()
	if len(lines) != 3 || lines[0].Call != 1 || lines[1].Call != 2 || lines[2].Call != 3 {
		t.Fatalf("the ledger has %+v", lines)
	}
	r.charged(lines[0], models.LedgerEntry{Outcome: "failed", Source: "reported"})
	r.charged(lines[1], models.LedgerEntry{Outcome: "failed", Source: "estimated", InputTokens: 10, ChargedMicros: 10})
	r.charged(lines[2], models.LedgerEntry{Outcome: "done", Source: "reported", InputTokens: 12, OutputTokens: 3, ChargedMicros: 42})
}

// What repeats is not asked again, nor what was worked on to its end, or to its time, and would be paid for twice.
func TestCallIsNotMadeAgainInVain(t *testing.T) {
	t.Parallel()
	dropped := llmtest.Says("a long answer of which half arrives")
	dropped.Drop = true
	for name, reply := range map[string]llmtest.Reply{
		"key refused":       llmtest.Fails(http.StatusUnauthorized),
		"request refused":   llmtest.Fails(http.StatusBadRequest),
		"out of credit":     {Status: http.StatusTooManyRequests, Body: `{"error":{"code":"insufficient_quota"}}`},
		"unreadable":        llmtest.Sends("nothing"),
		"half of an answer": dropped,
		"no answer in time": {Hold: true},
		"busy for an hour":  llmtest.Busy(3600),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(s *settings) {
				s.adapter.Attempts, s.options.Timeout = 3, 500*time.Millisecond
			})
			r.model.Script(reply)
			if _, err := r.ask(request(prompt)); err == nil {
				t.Error("the call was made again")
			}
			r.called(1)
			r.line()
		})
	}
}

// A provider that says how long it is busy is asked after that, and not before.
func TestRetryAfterIsRespected(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) { s.adapter.Attempts = 2 })
	r.model.Script(llmtest.Busy(1))
	began := time.Now()
	if _, err := r.ask(request(prompt)); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(began); waited < time.Second {
		t.Errorf("asked again after %s", waited)
	}
}

func TestLongRetryAfterIsPassedOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) { s.adapter.Attempts = 3 })
	r.model.Script(llmtest.Busy(90))
	failure := r.fails(providers.RateLimited)
	if problem := expect(t, problems.OfProvider(failure), problems.ProviderUnavailable); problem.RetryAfter != 90*time.Second {
		t.Errorf("the caller is told to wait %s", problem.RetryAfter)
	}
}

// A server without a mode for JSON is asked once more without it, and both calls are told.
func TestServerWithoutJSONModeIsAskedPlainly(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.model.Always(llmtest.RefusesJSON(llmtest.Says(`{"title":"x"}`)))
	asked := request(prompt)
	asked.JSON = true
	answer, err := r.ask(asked)
	if err != nil || answer.Text != `{"title":"x"}` {
		t.Fatalf("got %+v, %v", answer, err)
	}
	if calls := r.model.Calls(); len(calls) != 2 || !calls[0].JSON || calls[1].JSON || calls[1].Cap() != 100 {
		t.Errorf("the model received %+v", calls)
	}
	if lines := r.ledger(); len(lines) != 2 || lines[0].Outcome != "failed" || lines[1].Outcome != "done" {
		t.Errorf("the ledger has %+v", lines)
	}
}

// Several calls share a hold, each with its own line; afterwards nobody can go on.
func TestWorkHoldsOnceForSeveralCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	part := request(prompt)
	ctx, work, err := r.adapter.Open(t.Context(), r.purse, budgets.Chatting, r.adapter.Most(part, part))
	r.must(err)
	for range 2 {
		if _, err := work.Ask(ctx, part); err != nil {
			t.Error(err)
		}
	}
	work.Close()
	work.Close()
	if _, err := work.Ask(ctx, part); err == nil {
		t.Error("closed work went on")
	}
	lines := r.ledger()
	if len(lines) != 2 || lines[0].HoldID != lines[1].HoldID {
		t.Errorf("the ledger has %+v", lines)
	}
	r.called(2)
}

// No call goes out without a cap, or for another purpose than the one that it is held for.
func TestRequestWithoutCapIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	uncapped := request(prompt)
	uncapped.MaxTokens = 0
	if _, err := r.ask(uncapped); err == nil {
		t.Error("a call without a cap was made")
	}
	ctx, work, err := r.adapter.Open(t.Context(), r.purse, budgets.Titling, r.adapter.Most(request(prompt)))
	r.must(err)
	if _, err := work.Ask(ctx, request(prompt)); err == nil {
		t.Error("a chat was paid as a title")
	}
	work.Close()
	r.called(0)
	if lines := r.ledger(); len(lines) != 0 {
		t.Errorf("the ledger has %+v", lines)
	}
}

func TestBudgetIsAskedBeforeTheProvider(t *testing.T) {
	t.Parallel()
	micros := int64(1000) // less than the cap alone can cost
	for name, model := range map[string]string{"no room": "scripted", "no price": "unheard-of"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(s *settings) { s.budget, s.options.Model = &micros, model })
			most := r.adapter.Most(request(prompt))
			expect(t, r.adapter.Affords(t.Context(), r.purse, budgets.Chatting, most), problems.BudgetExceeded)
			_, err := r.ask(request(prompt))
			expect(t, err, problems.BudgetExceeded)
			_, err = r.adapter.Ask(t.Context(), budgets.Purse{}, request(prompt))
			if err == nil {
				t.Error("nobody's purse paid")
			}
			r.called(0)
			if lines := r.ledger(); len(lines) != 0 {
				t.Errorf("the ledger has %+v", lines)
			}
		})
	}
}

// The embedded engine takes the same way, at no cost, which is said; what it cannot do is refused before.
func TestEmbeddedEngineTakesTheSameWay(t *testing.T) {
	t.Parallel()
	nothing := int64(0)
	r := newRig(t, func(s *settings) { s.options, s.budget = llm.Options{}, &nothing })
	asked := request("What was decided?")
	asked.Material = llm.Material{Passages: []llm.Passage{{Text: "We decided to plant the trees in April."}}, Question: "What was decided?"}
	if answer, err := r.ask(asked); err != nil || answer.Model != "embedded-extractive" {
		t.Fatalf("got %+v, %v", answer, err)
	}
	line := r.line()
	r.charged(line, models.LedgerEntry{Outcome: "done", Source: "reported", InputTokens: line.InputTokens, OutputTokens: line.OutputTokens})
	if line.InputTokens == 0 || line.OutputTokens == 0 {
		t.Errorf("the ledger tells of %d tokens in and %d out", line.InputTokens, line.OutputTokens)
	}
	if line.Provider != "embedded" || !strings.HasPrefix(line.Price, "0 in, 0 out") {
		t.Errorf("the ledger tells %q at %q", line.Provider, line.Price)
	}
	asked.Operation = budgets.ExtractingEvents
	_, err := r.ask(asked)
	expect(t, err, problems.ModelUnavailable)
	expect(t, r.adapter.Affords(t.Context(), r.purse, budgets.ExtractingEvents, budgets.Measure{}), problems.ModelUnavailable)
}

// broken panics in the middle of a call.
type broken struct{}

func (broken) Describe() llm.Description {
	return llm.Description{Engine: budgets.Engine{Provider: "p", Model: "scripted"}}
}

func (broken) Complete(context.Context, llm.Request) (llm.Completion, error) { panic("broken") }

func (broken) StreamCompletion(context.Context, llm.Request, llm.Listener) (llm.Completion, error) {
	panic("broken")
}

// Nobody knows what a call cost in which the process lost its way: it is charged in full.
func TestPanicLeavesNoHoldBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) { s.engine = broken{} })
	func() {
		defer func() { _ = recover() }()
		_, _ = r.ask(request(prompt))
	}()
	if line := r.line(); line.Outcome != "unknown" || line.ChargedMicros != line.HeldMicros || line.HeldMicros == 0 {
		t.Errorf("the ledger has %+v", line)
	}
}

// What takes too long ends, at the provider too, and is charged for what was read.
func TestProviderThatDoesNotAnswerIsLeftInTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) { s.options.Timeout = time.Second })
	r.model.Script(llmtest.Reply{Hold: true})
	failure := r.fails(providers.TimedOut)
	expect(t, problems.OfProvider(failure), problems.ProviderTimeout)
	r.await(patience, "the call is canceled", func(s *llmtest.Server) bool { return s.Aborted() == 1 })
	r.charged(r.line(), models.LedgerEntry{Outcome: "failed", Source: "estimated", InputTokens: 4, ChargedMicros: 4})
}

func TestProblemsTellFailuresInOurWords(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]problems.Kind{
		http.StatusUnauthorized:        problems.ProviderFailed,
		http.StatusForbidden:           problems.ProviderFailed,
		http.StatusBadRequest:          problems.ProviderFailed,
		http.StatusNotFound:            problems.ProviderFailed,
		http.StatusInternalServerError: problems.ProviderFailed,
		http.StatusTooManyRequests:     problems.ProviderUnavailable,
		http.StatusGatewayTimeout:      problems.ProviderTimeout,
	} {
		r := newRig(t, nil)
		r.model.Script(llmtest.Fails(status))
		_, err := r.ask(request(prompt))
		r.discreet(err)
		expect(t, problems.OfProvider(err), want)
	}
	other := errors.New("the disk is full")
	if got := problems.OfProvider(other); got.Error() != other.Error() || providers.IsPermanent(other) {
		t.Error("what is not the provider's fault is told as it")
	}
}
