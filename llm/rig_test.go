package llm_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/budgets/budgetstest"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/tests/llmtest"
)

const (
	key = "sk-key-of-the-tests-1234567890"
	// patience is how long a test waits for what must happen.
	patience = 20 * time.Second
	// prices make the arithmetic plain: a token of a prompt costs 1 micro-dollar, one of an answer 10.
	prices = "currency: USD\ntext:\n  - {model: scripted, input: 1, output: 10}\n"
)

// rig is an adapter with real budgets before a scripted model.
type rig struct {
	t       testing.TB
	db      *models.DB
	model   *llmtest.Server
	adapter *llm.Adapter
	purse   budgets.Purse
	logged  *log
}

// settings are what a test changes of a rig before it is built.
type settings struct {
	options llm.Options
	adapter llm.AdapterOptions
	engine  llm.Engine // in place of the one that options make
	budget  *int64     // in micro-dollars
	lease   time.Duration
}

func newRig(t testing.TB, change func(*settings)) *rig {
	t.Helper()
	r := &rig{t: t, db: modelstest.SQLite(t), model: llmtest.New(t), logged: &log{}}
	logger := slog.New(slog.NewTextHandler(r.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := settings{
		options: llm.Options{BaseURL: r.model.BaseURL(), APIKey: key, Model: "scripted", Client: outbound.Operator(patience), Timeout: patience},
		adapter: llm.AdapterOptions{Attempts: 1, Backoff: time.Millisecond, Logger: logger},
		lease:   patience,
	}
	if change != nil {
		change(&s)
	}
	var err error
	if s.engine == nil {
		if s.engine, err = llm.New(s.options); err != nil {
			t.Fatal(err)
		}
	}
	r.adapter = llm.NewAdapter(s.engine, s.adapter)
	user := modelstest.Account(t, r.db, "o", "u", "editor")
	money := budgetstest.New(t, r.db, prices, func(o *budgets.Options) { o.Default, o.Lease = s.budget, s.lease })
	r.purse = money.Purses().Of(budgets.Payer{OrganizationID: user.OrganizationID, UserID: user.ID})
	return r
}

func (r *rig) write(change func(tx *gorm.DB) error) {
	r.t.Helper()
	r.must(r.db.Transaction(context.Background(), change))
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// request asks for an answer of at most 100 tokens.
func request(text string) llm.Request {
	return llm.Request{Operation: budgets.Chatting, Messages: []llm.Message{{Role: llm.User, Text: text}}, MaxTokens: 100, Temperature: 0.5}
}

func (r *rig) ask(request llm.Request) (llm.Answer, error) {
	r.t.Helper()
	return r.adapter.Ask(r.t.Context(), r.purse, request)
}

// fails asks and expects a *providers.Error of this kind, in which nothing stands that is not ours to tell.
func (r *rig) fails(kind providers.Kind) *providers.Error {
	r.t.Helper()
	_, err := r.ask(request("Who spoke?"))
	var failure *providers.Error
	if !errors.As(err, &failure) || failure.Kind != kind {
		r.t.Fatalf("got %v, want a failure of kind %s", err, kind)
	}
	r.discreet(err)
	return failure
}

// discreet fails when an error, the problem made of it, or the log tells the key, the address or the provider's words.
func (r *rig) discreet(err error) {
	r.t.Helper()
	host := strings.TrimPrefix(strings.TrimSuffix(r.model.BaseURL(), "/v1"), "http://")
	told := err.Error() + "\n" + problems.OfProvider(err).Error() + "\n" + r.logged.String()
	for _, secret := range []string{key, host, "PROVIDER-SECRET", "sk-key"} {
		if strings.Contains(told, secret) {
			r.t.Errorf("%q is told:\n%s", secret, told)
		}
	}
}

// ledger is every line, oldest first. All money must have come back from holds, and what was spent be the lines' sum.
func (r *rig) ledger() []models.LedgerEntry {
	r.t.Helper()
	var lines []models.LedgerEntry
	r.must(r.db.Read.Order("id").Find(&lines).Error)
	sum := int64(0)
	for _, line := range lines {
		sum += line.ChargedMicros
	}
	var months []models.BudgetMonth
	r.must(r.db.Read.Find(&months).Error)
	for _, month := range months {
		if month.Held != (models.Amount{}) || month.Spent.Micros != sum {
			r.t.Errorf("the month has %+v held and %d spent, and the ledger tells %d", month.Held, month.Spent.Micros, sum)
		}
	}
	return lines
}

// line is the only line of the ledger.
func (r *rig) line() models.LedgerEntry {
	r.t.Helper()
	lines := r.ledger()
	if len(lines) != 1 {
		r.t.Fatalf("%d lines in the ledger, want 1: %+v", len(lines), lines)
	}
	return lines[0]
}

// called fails unless the model received so many calls.
func (r *rig) called(want int) {
	r.t.Helper()
	if got := len(r.model.Calls()); got != want {
		r.t.Errorf("the model received %d calls, want %d", got, want)
	}
}

// await waits for what must become true of the model.
func (r *rig) await(within time.Duration, what string, holds func(*llmtest.Server) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), within)
	defer cancel()
	if err := r.model.Await(ctx, holds); err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
}

func expect(t testing.TB, err error, kind problems.Kind) *problems.Error {
	t.Helper()
	var problem *problems.Error
	if !errors.As(err, &problem) || problem.Kind != kind {
		t.Fatalf("got %v, want %s", err, kind.Code())
	}
	return problem
}

// log keeps what is logged.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
