package llm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// openTwo opens work of two calls and makes the first.
func (r *rig) openTwo(ctx context.Context) (context.Context, *llm.Work) {
	r.t.Helper()
	part := request(prompt)
	ctx, work, err := r.adapter.Open(ctx, r.purse, budgets.Chatting, r.adapter.Most(part, part))
	r.must(err)
	_, err = work.Ask(ctx, part)
	r.must(err)
	return ctx, work
}

// A transcript in parts is not paid for from its beginning again because a later part is asked to wait: what is paid
// for is waited for, longer than what is not.
func TestWorkThatIsPaidForWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) { s.adapter.Attempts, s.adapter.MaxWait = 2, time.Millisecond })
	r.model.Script(llmtest.Says("one"), llmtest.Busy(1), llmtest.Says("two"))
	ctx, work := r.openTwo(t.Context())
	defer work.Close()
	if answer, err := work.Ask(ctx, request(prompt)); err != nil || answer.Text != "two" {
		t.Errorf("got %+v, %v", answer, err)
	}
	r.called(3)
}

// The breaker, too, is waited for.
func TestWorkThatIsPaidForWaitsForTheBreaker(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) { s.adapter.MaxWait = time.Millisecond })
	ctx, work := r.openTwo(t.Context())
	defer work.Close()
	r.adapter.Breaker.Failed(300 * time.Millisecond)
	if _, err := work.Ask(ctx, request(prompt)); err != nil {
		t.Error(err)
	}
	r.called(2)
}

// A wait that does not fit into the work's own time is not begun, and not told: who comes back after it, as often as it
// is told, would pay for the beginning each time.
func TestPaidWorkTellsNoWait(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) { s.adapter.Attempts = 3 })
	r.model.Script(llmtest.Says("one"), llmtest.Busy(90))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ctx, work := r.openTwo(ctx)
	defer work.Close()
	for range 2 { // refused by the provider, then by the breaker
		_, err := work.Ask(ctx, request(prompt))
		var failure *providers.Error
		if !errors.As(err, &failure) || failure.RetryAfter != 0 {
			t.Fatalf("got %v", err)
		}
	}
	r.called(2)
}

// An answer whose charge cannot be written is kept, because asking again would be paid for again; but no further call is
// made in its hold.
func TestAnAnswerThatCannotBeSettledIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ctx, work := r.openTwo(t.Context())
	defer work.Close()
	resume := r.model.Pause()
	ended := make(chan error, 1)
	go func() {
		answer, err := work.Ask(ctx, request(prompt))
		if err == nil && answer.Text != "Fine." {
			err = errors.New(answer.Text)
		}
		ended <- err
	}()
	r.await(patience, "the call arrives", func(s *llmtest.Server) bool { return s.InFlight() == 1 })
	r.write(func(tx *gorm.DB) error { return tx.Exec("DELETE FROM budget_holds").Error })
	resume()
	if err := <-ended; err != nil {
		t.Errorf("the answer is lost: %v", err)
	}
	if _, err := work.Ask(ctx, request(prompt)); !errors.Is(err, budgets.ErrHoldLost) {
		t.Errorf("a further call got %v", err)
	}
	r.called(2)
}

// Where the hold is gone before a call is sent, that is what is told, and not that some context ended: the first is the
// database's trouble, the second would be taken for a fault of ours.
func TestAHoldThatIsLostBetweenCallsIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) { s.lease = 300 * time.Millisecond })
	ctx, work := r.openTwo(t.Context())
	defer work.Close()
	r.write(func(tx *gorm.DB) error { return tx.Exec("DELETE FROM budget_holds").Error })
	select {
	case <-ctx.Done():
	case <-time.After(patience):
		t.Fatal("the loss is not noticed")
	}
	if _, err := work.Ask(ctx, request(prompt)); !errors.Is(err, budgets.ErrHoldLost) {
		t.Errorf("got %v", err)
	}
	r.called(1)
}
