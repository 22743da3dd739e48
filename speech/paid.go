package speech

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/providers"
)

// unsent marks a failure before a whole request had reached the service: nobody is billed for it.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// Priced is the work on a recording: all of its decoded length, once, by the model that is asked.
func (t *Transcriber) Priced(length time.Duration, request Request) budgets.Work {
	described := t.engine.Describe()
	return budgets.Work{
		Operation: budgets.Transcribing,
		Engine:    budgets.Engine{Provider: described.Provider, Model: described.Asked(request)},
		Most:      budgets.Measure{Audio: max(share(0, length), time.Second)},
	}
}

// share is what a stretch of a recording counts, in whole seconds: those that begin in it. So the parts of a recording
// come to the whole, wherever they are cut, and fit into its hold.
func share(start, end time.Duration) time.Duration {
	return wholeSeconds(end) - wholeSeconds(start)
}

func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// call makes one call of the engine and pays for it. The length that was sent is what services bill; what an answer says
// of its own length is not asked, it could only make the bill smaller than it is.
func (w *work) call(ctx context.Context, audio Audio, counts time.Duration) (Answer, error) {
	if w.unsettled != nil {
		return Answer{}, w.unsettled
	}
	if err := w.admitted(ctx); err != nil {
		return Answer{}, err
	}
	tell := w.breaker.Ended
	defer func() { tell() }() // also when the engine panics, or no other call would ever be let through
	if err := w.hold.Send(ctx, budgets.Measure{Audio: counts}); err != nil {
		return Answer{}, fmt.Errorf("transcribe: %w", err)
	}
	answer, err := w.Transcriber.engine.Transcribe(ctx, audio, w.request)
	tell = w.verdict(ctx, err)
	outcome, used := bill(ctx, err, counts)
	w.paid = w.paid || used.Audio > 0
	if settling := w.hold.Settle(ctx, outcome, nil, used); settling != nil {
		// The call stays charged in full. What it said is kept, but a further call would hide that it was made.
		w.unsettled = fmt.Errorf("transcribe: %w", settling)
		w.logger.WarnContext(ctx, "a call could not be settled; it is charged in full", "error", settling.Error())
	}
	return answer, err
}

// bill tells how a call ended and how much of it is paid for. A refusal costs nothing, nor does a call that did not
// reach the service; of every other failure nobody knows what the service did with the audio, and it is paid in full.
func bill(ctx context.Context, err error, counts time.Duration) (budgets.Outcome, budgets.Measure) {
	all := budgets.Measure{Audio: counts}
	if err == nil {
		return budgets.Done, all
	}
	outcome := budgets.Failed
	if ctx.Err() != nil {
		outcome = budgets.Canceled
	}
	var failure *providers.Error
	var early unsent
	if errors.As(err, &early) || errors.As(err, &failure) && failure.Status >= 300 {
		return outcome, budgets.Measure{}
	}
	return outcome, all
}

// verdict is what a call tells of the service: a refusal that trying again does not mend is about the one request, and
// faults of ours and callers that leave say nothing.
func (w *work) verdict(ctx context.Context, err error) func() {
	var failure *providers.Error
	switch {
	case err == nil:
		return w.breaker.Succeeded
	case ctx.Err() != nil || !errors.As(err, &failure):
		return w.breaker.Ended
	case !failure.Permanent:
		return func() { w.breaker.Failed(failure.RetryAfter) }
	}
	return w.breaker.Succeeded
}

// admitted waits until the service may be called, as long as there is patience.
func (w *work) admitted(ctx context.Context) error {
	for waited := time.Duration(0); ; {
		wait, ok := w.breaker.Allow()
		if ok {
			return nil
		}
		if waited += wait; waited > w.patience() {
			failure := providers.Retryable(providers.ServiceFault, 0, "The transcription service is left alone for a while: it failed several times, or asked for it")
			failure.RetryAfter, failure.Unsent = min(wait, outbound.MaxRetryAfter), true
			return failure
		}
		if err := pause(ctx, wait); err != nil {
			return fmt.Errorf("transcribe: %w", err)
		}
	}
}

// patience bounds a wait for the service. Once a part is paid for it is long: whoever begins again pays for it again.
func (w *work) patience() time.Duration {
	if w.paid {
		return outbound.MaxRetryAfter
	}
	return w.maxWait
}

// ended is the error of a recording that failed. Its wait is told only where nothing was paid for: a caller that comes
// back after it as often as it is told would pay each time.
func (w *work) ended(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), budgets.ErrHoldLost) {
		return fmt.Errorf("transcribe: %w", budgets.ErrHoldLost)
	}
	var failure *providers.Error
	if w.paid && errors.As(err, &failure) {
		told := *failure
		told.RetryAfter = 0
		return &told
	}
	return err
}
