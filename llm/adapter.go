package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/providers"
)

// AdapterOptions bounds how an Adapter works. Zero values take the defaults.
type AdapterOptions struct {
	// Attempts is how often a call is tried in all. Default 3.
	Attempts int
	// Backoff is the wait before the second attempt; it grows fourfold. Default 1 s.
	Backoff time.Duration
	// MaxWait bounds a wait that the provider asks for; a longer one ends the call with the provider's error, unless a
	// call of the same work is paid for already. Default 20 s.
	MaxWait time.Duration
	// Breaker is the provider's. Default one that pauses for 5 s.
	Breaker *outbound.Breaker
	Logger  *slog.Logger
}

// Adapter is the way to the text model. It is safe for concurrent use.
type Adapter struct {
	engine Engine
	AdapterOptions
}

// NewAdapter puts an engine to work.
func NewAdapter(engine Engine, o AdapterOptions) *Adapter {
	if o.Attempts <= 0 {
		o.Attempts = 3
	}
	if o.Backoff <= 0 {
		o.Backoff = time.Second
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 20 * time.Second
	}
	if o.Breaker == nil {
		o.Breaker = outbound.NewBreaker(5*time.Second, time.Now)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Adapter{engine, o}
}

// Describe is the engine's description.
func (a *Adapter) Describe() Description { return a.engine.Describe() }

// For is the way to another model of the same service, which the operator allows by its name. What is embedded is one
// model by any name.
func (a *Adapter) For(model string) *Adapter {
	service, several := a.engine.(interface{ named(model string) Engine })
	if !several || model == a.Describe().Model {
		return a
	}
	return &Adapter{service.named(model), a.AdapterOptions}
}

// Most is the most that calls can use, each attempted once: a further attempt finds what a refused one left, and is
// held for on its own where that is too little.
func (a *Adapter) Most(requests ...Request) budgets.Measure {
	var most budgets.Measure
	for _, request := range requests {
		most.Input += tokensAtMost(request)
		most.Output += int64(request.MaxTokens)
	}
	return most
}

// Affords refuses, with budget_exceeded, work for which there is no room now, and work that the engine cannot do. It
// holds nothing.
func (a *Adapter) Affords(ctx context.Context, purse budgets.Purse, operation budgets.Operation, most budgets.Measure) error {
	work, err := a.work(operation, most)
	if err != nil {
		return err
	}
	return purse.Affords(ctx, work)
}

// Open holds the most that several calls can use. The context that it returns, which the calls need, ends with the
// hold. Close must be called.
func (a *Adapter) Open(ctx context.Context, purse budgets.Purse, operation budgets.Operation, most budgets.Measure) (context.Context, *Work, error) {
	work, err := a.work(operation, most)
	if err != nil {
		return ctx, nil, err
	}
	ctx, hold, err := purse.Hold(ctx, work)
	if err != nil {
		return ctx, nil, err
	}
	return ctx, &Work{adapter: a, operation: operation, hold: hold}, nil
}

// Ask makes one call in a hold of its own.
func (a *Adapter) Ask(ctx context.Context, purse budgets.Purse, request Request) (Answer, error) {
	ctx, work, err := a.Open(ctx, purse, request.Operation, a.Most(request))
	if err != nil {
		return Answer{}, err
	}
	defer work.Close()
	return work.Ask(ctx, request)
}

func (a *Adapter) work(operation budgets.Operation, most budgets.Measure) (budgets.Work, error) {
	engine := a.Describe()
	if !engine.Does(operation) {
		return budgets.Work{}, problems.New(problems.ModelUnavailable, "The model %q of this server cannot do this; its operator can set another.", engine.Model)
	}
	return budgets.Work{Operation: operation, Engine: engine.Engine, Most: most}, nil
}

// complete makes one attempt and makes the answer fit to show.
func (a *Adapter) complete(ctx context.Context, request Request) (Completion, Answer, error) {
	completion, err := a.engine.Complete(ctx, request)
	if err != nil {
		return completion, Answer{}, err
	}
	answer, err := a.answer(completion, request)
	return completion, answer, err
}

// allowed asks the breaker. What it refuses was not sent and costs nothing.
func (a *Adapter) allowed() *providers.Error {
	wait, ok := a.Breaker.Allow()
	if ok {
		return nil
	}
	paused := providers.Retryable(providers.Unreachable, 0, "The text model's service was busy or failed, and is left alone for a moment")
	paused.RetryAfter, paused.Unsent = wait, true
	return paused
}

// tell tells the breaker how a call ended that it had allowed.
func (a *Adapter) tell(ctx context.Context, err error) {
	var failure *providers.Error
	switch {
	case err == nil:
		a.Breaker.Succeeded()
	case !errors.As(err, &failure), ctx.Err() != nil && failure.Status == 0:
		a.Breaker.Ended()
	case blamesProvider(failure):
		a.Breaker.Failed(failure.RetryAfter)
	default:
		a.Breaker.Succeeded()
	}
}

// again tells how long to wait before the next attempt, if there is to be one. A call that was lost after its time, or
// after a part of the answer came, was worked on and is not paid for twice.
func (a *Adapter) again(attempt int, completion Completion, err error, patience time.Duration) (wait time.Duration, again bool) {
	var failure *providers.Error
	if !errors.As(err, &failure) || failure.Permanent || attempt >= a.Attempts {
		return 0, false
	}
	if completion.Text != "" || len(completion.Calls) > 0 || failure.Kind == providers.TimedOut && failure.Status == 0 || failure.RetryAfter > patience {
		return 0, false
	}
	wait = a.Backoff
	for range attempt - 1 {
		wait *= 4
	}
	return max(min(wait, a.MaxWait), failure.RetryAfter), true
}

// errAsked says what was attempted, and what ended it when that was not the provider.
func errAsked(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("ask the text model: %w", err)
}
