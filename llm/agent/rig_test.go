package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/budgets/budgetstest"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/agent"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// prices make the arithmetic plain: a token of a prompt costs 1 micro-dollar, one of an answer 10.
const prices = "currency: USD\ntext:\n  - {model: scripted, input: 1, output: 10}\n"

// rig is an agent with real budgets before a scripted model, and an observer that remembers.
type rig struct {
	t       testing.TB
	db      *models.DB
	model   *llmtest.Server
	engine  llm.Engine
	options agent.Options
	task    agent.Task
	budget  *int64 // in micro-dollars
	purse   budgets.Purse

	mu       sync.Mutex
	ran      []string // the tool's arguments, as it was run with them
	said     []string
	thoughts []string
	steps    []agent.Step
	usage    []int
	folded   []int
	told     []string // the order of all of it
	tell     func(what string) error
	now      time.Time
}

func newRig(t testing.TB, change func(*rig)) *rig {
	t.Helper()
	r := &rig{t: t, db: modelstest.SQLite(t), model: llmtest.New(t), now: time.Now()}
	r.options = agent.Options{
		MaxSteps: 4, MaxToolCalls: 6, Timeout: time.Minute, ResultTokens: 500, ContextTokens: 4000, AnswerTokens: 500, Mode: agent.Auto, Now: r.clock,
	}
	r.task = agent.Task{Instructions: "You answer questions.", Question: "What is the budget?", Tools: []agent.Tool{r.tool(func(string) (agent.Result, error) {
		return agent.Result{Text: "12,000 euros.", Detail: "1 place"}, nil
	})}}
	var err error
	r.engine, err = llm.New(llm.Options{BaseURL: r.model.BaseURL(), APIKey: "k", Model: "scripted", Client: outbound.Operator(20 * time.Second)})
	r.must(err)
	if change != nil {
		change(r)
	}
	user := modelstest.Account(t, r.db, "o", "u", "editor")
	money := budgetstest.New(t, r.db, prices, func(o *budgets.Options) { o.Default, o.Lease = r.budget, 20*time.Second })
	r.purse = money.Purses().Of(budgets.Payer{OrganizationID: user.OrganizationID, UserID: user.ID})
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// tool is a search that remembers with what it was run.
func (r *rig) tool(finds func(arguments string) (agent.Result, error)) agent.Tool {
	return agent.Tool{
		Tool:  llm.Tool{Name: "search", Description: "Searches.", Parameters: json.RawMessage(`{"type":"object"}`)},
		Label: "Search", Icon: "magnifier",
		Run: func(_ context.Context, arguments json.RawMessage) (agent.Result, error) {
			r.ran = append(r.ran, string(arguments))
			return finds(string(arguments))
		},
	}
}

func (r *rig) agent() *agent.Agent {
	return agent.New(llm.NewAdapter(r.engine, llm.AdapterOptions{Attempts: 1, Backoff: time.Millisecond, Logger: slog.New(slog.DiscardHandler)}), r.options)
}

func (r *rig) run(ctx context.Context) (agent.Outcome, error) {
	r.t.Helper()
	note := func(what string) error {
		r.told = append(r.told, what)
		if r.tell != nil {
			return r.tell(what)
		}
		return nil
	}
	return r.agent().Run(ctx, r.purse, r.task, agent.Observer{
		Listener: llm.Listener{
			Begun: func() {}, Heard: func() {},
			Said: func(text string) error { r.said = append(r.said, text); return note("said") },
		},
		Thinking: func(text string) error { r.thoughts = append(r.thoughts, text); return note("thinking") },
		Step:     func(step agent.Step) error { r.steps = append(r.steps, step); return note("step") },
		Usage:    func(percent int) error { r.usage = append(r.usage, percent); return note("usage") },
		Folded:   func(_ string, kept int) error { r.folded = append(r.folded, kept); return note("folded") },
	})
}

// answers runs, and fails unless there is an answer, which is what was said.
func (r *rig) answers() agent.Outcome {
	r.t.Helper()
	outcome, err := r.run(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	if got := strings.Join(r.said, ""); got != outcome.Answer.Text || got == "" {
		r.t.Errorf("said was %q, the answer is %q", got, outcome.Answer.Text)
	}
	r.settled(outcome)
	return outcome
}

// settled fails unless all lines are of one hold that is given back, and every request had the cap and no more than was
// held for it.
func (r *rig) settled(outcome agent.Outcome) {
	r.t.Helper()
	var lines []models.LedgerEntry
	r.must(r.db.Read.Order("id").Find(&lines).Error)
	sum, used := int64(0), budgets.Measure{}
	for _, line := range lines {
		sum += line.ChargedMicros
		used.Input, used.Output = used.Input+line.InputTokens, used.Output+line.OutputTokens
		if line.HoldID != lines[0].HoldID || line.Operation != string(budgets.Inquiring) {
			r.t.Errorf("a line of another hold: %+v", line)
		}
		if most := int64(2*r.options.ContextTokens + 10*r.options.AnswerTokens); line.HeldMicros > most {
			r.t.Errorf("a call could cost %d, and %d was held for it", line.HeldMicros, most)
		}
	}
	if outcome.Answer.Used != used {
		r.t.Errorf("told are %+v, the ledger has %+v", outcome.Answer.Used, used)
	}
	var months []models.BudgetMonth
	r.must(r.db.Read.Find(&months).Error)
	for _, month := range months {
		if month.Held != (models.Amount{}) || month.Spent.Micros != sum {
			r.t.Errorf("the month has %+v held and %d spent, the ledger tells %d", month.Held, month.Spent.Micros, sum)
		}
	}
	for _, call := range r.model.Calls() {
		if call.Cap() != int64(r.options.AnswerTokens) {
			r.t.Errorf("a request without its cap: %s", call.Body)
		}
	}
}

// asksForEver is a model that always asks for another look-up, while it may.
func asksForEver(calls int) func(llmtest.Call) llmtest.Reply {
	n := 0
	return func(call llmtest.Call) llmtest.Reply {
		if len(call.Tools) == 0 {
			return llmtest.Says("It is 12,000 euros.")
		}
		reply := llmtest.Reply{}
		for i := range calls {
			n++
			arguments := `{"query":"` + strings.Repeat("x", n) + `"}`
			if i == 0 {
				reply = llmtest.Asks("search", arguments)
				continue
			}
			reply = reply.And("search", arguments)
		}
		return reply
	}
}

// last is the text of the last message of a call.
func last(call llmtest.Call) string { return call.Messages[len(call.Messages)-1].Content }

var errBroken = errors.New("broken")

type ctx = context.Context

// gate lets a piece of an answer wait for something.
func gate(at int, open <-chan struct{}) func(context.Context, int) bool {
	return func(ctx context.Context, piece int) bool {
		if piece != at {
			return true
		}
		select {
		case <-open:
			return true
		case <-ctx.Done():
			return false
		}
	}
}
