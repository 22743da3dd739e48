package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/providers"
)

var errClosed = errors.New("ask the text model: the work is closed")

// Work is one hold and the calls that are made in it, one after the other. It is not safe for concurrent use.
type Work struct {
	adapter   *Adapter
	operation budgets.Operation
	hold      *budgets.Hold
	paid      bool  // whether any call came to something
	over      error // why no further call may be made
	silent    bool  // whether the server is known to tell no usage in streams
}

// Close gives back what is left of the hold.
func (w *Work) Close() {
	if !errors.Is(w.over, errClosed) {
		w.over = errClosed
		w.hold.Close()
	}
}

// Ask makes one call, with a bounded number of attempts. Each is sent and settled on its own and has its own line in
// the ledger. The context must be the one that Open returned. Beside an error the answer tells what was used in vain.
func (w *Work) Ask(ctx context.Context, request Request) (Answer, error) {
	return w.ask(ctx, request, w.adapter.complete)
}

// attempted makes one attempt at a request, in one way or another.
type attempted func(context.Context, Request) (Completion, Answer, error)

func (w *Work) ask(ctx context.Context, request Request, asking attempted) (Answer, error) {
	if request.MaxTokens < 1 || len(request.Messages) == 0 || request.Operation != w.operation {
		return Answer{}, errors.New("ask the text model: the request has no messages, no cap, or another purpose than its hold")
	}
	reports := request.reports
	for attempt := 1; ; attempt++ {
		if w.over != nil {
			return Answer{}, w.over
		}
		if err := w.admitted(ctx); err != nil {
			return Answer{}, w.ended(err)
		}
		completion, answer, err := w.attempt(ctx, request, asking)
		if err == nil {
			w.silent = w.silent || reports && !request.reports
			return answer, nil
		}
		if simpler, another := simplified(request); another && refusesForm(err) {
			request = simpler
			attempt--
			continue
		}
		wait, again := w.adapter.again(attempt, completion, err, w.patience(ctx))
		if !again {
			return Answer{Used: answer.Used}, w.ended(err)
		}
		w.adapter.Logger.InfoContext(ctx, "a call to the text model is made again", "operation", w.operation, "attempt", attempt+1, "after", err.Error())
		if !pause(ctx, wait) {
			return Answer{}, errAsked(ctx, err)
		}
	}
}

// simplified leaves out what a server may have no mode for, and reports whether there was such a thing: once each, and
// beside the attempts.
func simplified(request Request) (simpler Request, another bool) {
	switch {
	case request.JSON && !request.plainly:
		request.plainly = true
	case request.reports:
		request.reports = false
	default:
		return request, false
	}
	return request, true
}

// admitted asks the breaker. Work of which nothing is paid for does not wait for it: it is begun again for nothing.
func (w *Work) admitted(ctx context.Context) error {
	for waited := time.Duration(0); ; {
		err := w.adapter.allowed()
		if err == nil {
			return nil
		}
		if waited += err.RetryAfter; !w.paid || waited > w.patience(ctx) {
			return err
		}
		if !pause(ctx, err.RetryAfter) {
			return errAsked(ctx, err)
		}
	}
}

// patience bounds a wait that the provider asks for. Once a call is paid for it is long: whoever begins again pays for
// it again.
func (w *Work) patience(ctx context.Context) time.Duration {
	if !w.paid {
		return w.adapter.MaxWait
	}
	if deadline, bounded := ctx.Deadline(); bounded {
		return min(outbound.MaxRetryAfter, time.Until(deadline))
	}
	return outbound.MaxRetryAfter
}

// ended is the error of a call that is not made again. Its wait is told only where nothing was paid for: a caller that
// comes back after it as often as it is told would pay each time.
func (w *Work) ended(err error) error {
	var failure *providers.Error
	if w.paid && errors.As(err, &failure) && failure.RetryAfter > 0 {
		told := *failure
		told.RetryAfter = 0
		return &told
	}
	return err
}

// pause reports whether the wait passed before ctx was over.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt makes one call that the breaker has allowed: it is sent, and settled however it ends.
func (w *Work) attempt(ctx context.Context, request Request, asking attempted) (Completion, Answer, error) {
	told := false
	defer func() {
		if !told { // not sent after all, or a panic
			w.adapter.Breaker.Ended()
		}
	}()
	most := w.adapter.Most(request)
	if err := w.hold.Send(ctx, most); err != nil {
		return Completion{}, Answer{}, errAsked(ctx, err)
	}
	completion, answer, err := asking(ctx, request)
	w.adapter.tell(ctx, err)
	told = true
	if err != nil && !isFailure(err) {
		err = errAsked(ctx, err)
	}
	c := charge(ctx, request, most, completion, err)
	w.paid = w.paid || c.paid()
	err = w.settle(ctx, c, err)
	answer.Used = w.hold.Used()
	return completion, answer, err
}

// settle ends a call at what it did use. When that cannot be written, the call stays charged in full: what it said is
// kept, because who asks again pays again, but the work is over, because a further call would hide that it was made.
func (w *Work) settle(ctx context.Context, c charged, err error) error {
	unsettled := w.hold.Settle(ctx, c.outcome, c.reported, c.estimate)
	if unsettled == nil {
		return err
	}
	w.over = fmt.Errorf("ask the text model: %w", unsettled)
	w.adapter.Logger.WarnContext(ctx, "a call to the text model could not be settled; it is charged in full", "operation", w.operation, "error", unsettled.Error())
	return err
}
