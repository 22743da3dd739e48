package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stenometer/stenometer/budgets"
)

var errClosed = errors.New("ask the text model: the work is closed")

// Work is one hold and the calls that are made in it, one after the other. It is not safe for concurrent use.
type Work struct {
	adapter   *Adapter
	operation budgets.Operation
	hold      *budgets.Hold
	over      error // why no further call may be made
}

// Close gives back what is left of the hold.
func (w *Work) Close() {
	if !errors.Is(w.over, errClosed) {
		w.over = errClosed
		w.hold.Close()
	}
}

// Ask makes one call, with a bounded number of attempts. Each is sent and settled on its own and has its own line in
// the ledger. The context must be the one that Open returned.
func (w *Work) Ask(ctx context.Context, request Request) (Answer, error) {
	if request.MaxTokens < 1 || len(request.Messages) == 0 || request.Operation != w.operation {
		return Answer{}, errors.New("ask the text model: the request has no messages, no cap, or another purpose than its hold")
	}
	for attempt := 1; ; attempt++ {
		if w.over != nil {
			return Answer{}, w.over
		}
		if err := w.adapter.allowed(); err != nil {
			return Answer{}, err
		}
		completion, answer, err := w.attempt(ctx, request)
		if err == nil {
			return answer, nil
		}
		if request.JSON && !request.plainly && refusesForm(err) {
			request.plainly = true // once, and beside the attempts: the server has no such mode
			attempt--
			continue
		}
		wait, again := w.adapter.again(attempt, completion, err)
		if !again {
			return Answer{}, err
		}
		w.adapter.Logger.InfoContext(ctx, "a call to the text model is made again", "operation", w.operation, "attempt", attempt+1, "after", err.Error())
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return Answer{}, errAsked(ctx, err)
		}
	}
}

// attempt makes one call that the breaker has allowed: it is sent, and settled however it ends.
func (w *Work) attempt(ctx context.Context, request Request) (Completion, Answer, error) {
	told := false
	defer func() {
		if !told { // not sent after all, or a panic
			w.adapter.Breaker.Ended()
		}
	}()
	most := w.adapter.Most(request)
	if err := w.hold.Send(ctx, most); err != nil {
		return Completion{}, Answer{}, err
	}
	completion, answer, err := w.adapter.complete(ctx, request)
	w.adapter.tell(ctx, err)
	told = true
	if err != nil && !isFailure(err) {
		err = errAsked(ctx, err)
	}
	return completion, answer, w.settle(ctx, charge(ctx, request, most, completion, err), err)
}

// settle ends a call at what it did use. When that cannot be written, the call's own error counts first, and the work
// is over: a further call would hide this one, which is charged in full at the end.
func (w *Work) settle(ctx context.Context, c charged, err error) error {
	unsettled := w.hold.Settle(ctx, c.outcome, c.reported, c.estimate)
	if unsettled == nil {
		return err
	}
	w.over = fmt.Errorf("ask the text model: %w", unsettled)
	if err != nil {
		w.adapter.Logger.WarnContext(ctx, "a call to the text model could not be settled", "operation", w.operation, "error", unsettled.Error())
		return err
	}
	return w.over
}
