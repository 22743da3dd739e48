package budgets_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

// Rule (H-001): a budget with room for three calls lets three of thirty through that come at once, whosever budget it is
// and whatever it counts.
func TestRoomForThreeOfThirty(t *testing.T) {
	t.Parallel()
	budgetsOf := map[string]func(r *rig){
		"the organization's": func(r *rig) { r.set(r.organization(), budgets.SetMicros(new(int64(35)))) },
		"the account's":      func(r *rig) { r.set(r.account(0), budgets.SetMicros(new(int64(35)))) },
		"of tokens":          func(r *rig) { r.set(r.account(0), budgets.SetTokens(new(int64(35)))) },
		"of audio":           func(r *rig) { r.set(r.account(0), budgets.SetSeconds(new(int64(35)))) },
		"the server's":       func(r *rig) { r.budgets.Default = new(int64(35)) },
	}
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		for name, set := range budgetsOf {
			t.Run(name, func(t *testing.T) {
				r.set(r.organization(), budgets.SetMicros(nil))
				r.set(r.account(0), budgets.SetMicros(nil), budgets.SetTokens(nil), budgets.SetSeconds(nil))
				r.budgets.Default = nil
				set(r)
				work := text(10)
				if name == "of audio" {
					work = audio(10)
				}
				held := race(t, r, work, 30)
				if len(held) != 3 {
					t.Errorf("%d of thirty were let through, want 3", len(held))
				}
				for _, hold := range held {
					hold.Close()
				}
				r.stands(0, 0)
			})
		}
	})
}

// race holds for one account many times at once, and gives those that were let through. The others are refused and
// have changed nothing.
func race(t *testing.T, r *rig, work budgets.Work, times int) []*budgets.Hold {
	t.Helper()
	var mu sync.Mutex
	var held []*budgets.Hold
	var waiting sync.WaitGroup
	for range times {
		waiting.Go(func() {
			_, hold, err := r.purse(0).Hold(t.Context(), work)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				held = append(held, hold)
			case !problems.Is(err, problems.BudgetExceeded):
				t.Errorf("neither held nor budget_exceeded: %v", err)
			}
		})
	}
	waiting.Wait()
	if got := r.holds(); got != int64(len(held)) {
		t.Errorf("%d holds are kept of %d", got, len(held))
	}
	return held
}

// Rule (H-003): a refusal tells spent from held, and a wait only where holds are what is in the way.
func TestARefusalTellsWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		r.set(r.organization(), budgets.SetMicros(new(int64(100))))
		r.spend(0, 30)
		_, hold := r.hold(1, text(60))
		_, _, err := r.purse(0).Hold(t.Context(), text(20))
		refusal := refused(t, err, map[string]any{
			"spent": 30e-6, "held": 60e-6, "budget": 100e-6, "unit": "USD", "scope": "organization", "resets_at": "2026-04-01T00:00:00Z",
		})
		if refusal.RetryAfter <= 0 {
			t.Error("only a hold is in the way, and no wait is told")
		}
		refused(t, r.purse(0).Affords(t.Context(), text(20)), map[string]any{"held": 60e-6})
		hold.Close()
		if err := r.purse(0).Affords(t.Context(), text(20)); err != nil {
			t.Errorf("the hold is gone and there is still no room: %v", err)
		}
		_, _, err = r.purse(0).Hold(t.Context(), text(71))
		if refusal := refused(t, err, nil); refusal.RetryAfter != 0 {
			t.Errorf("a wait of %v is told where waiting does not help", refusal.RetryAfter)
		}
		r.stands(30, 0)
	})
}

// Rule: a budget may be set below what is spent: nothing more is let through, what is free of charge is, and work that
// is out is settled.
func TestABudgetBelowWhatIsSpent(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		r.set(r.organization(), budgets.SetMicros(new(int64(100))))
		r.spend(0, 40)
		_, out := r.hold(0, text(50))
		r.set(r.organization(), budgets.SetMicros(new(int64(20))))
		_, _, err := r.purse(1).Hold(t.Context(), text(1))
		refused(t, err, map[string]any{"budget": 20e-6, "spent": 40e-6})
		refused(t, r.purse(1).Open(t.Context(), budgets.Text), nil)
		r.call(out, 50, new(input(50)), 0)
		out.Close()
		r.stands(90, 0)
		free := text(1000)
		free.Engine = budgets.Engine{Provider: "embedded", Model: "embedded-extractive"}
		_, hold, err := r.purse(1).Hold(t.Context(), free)
		if err != nil {
			t.Fatalf("work that costs nothing was refused for money: %v", err)
		}
		hold.Close()
	})
}

// Rule: one hold serves several calls, each charged what it used. A call for which too little is left makes the hold
// larger, or is refused and must not be made.
func TestSendBeyondWhatIsLeft(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		r.set(r.organization(), budgets.SetMicros(new(int64(100))))
		_, hold := r.hold(0, text(40))
		r.call(hold, 30, new(input(30)), 0)
		r.stands(30, 10)
		r.call(hold, 50, new(input(20)), 0)
		r.stands(50, 30)
		refused(t, hold.Send(t.Context(), input(60)), map[string]any{"spent": 50e-6, "held": 30e-6})
		r.stands(50, 30)
		if err := hold.Settle(t.Context(), budgets.Done, nil, input(60)); err == nil {
			t.Error("a call was settled that was never sent")
		}
		if err := hold.Send(t.Context(), input(50)); err != nil {
			t.Fatal(err)
		}
		if err := hold.Send(t.Context(), input(1)); err == nil {
			t.Error("a second call went out before the first was settled")
		}
		hold.Close()
		r.stands(100, 0)
		if last := r.ledger()[2]; last.Outcome != "unknown" || last.ChargedMicros != 50 || last.Source != "estimated" {
			t.Errorf("a call that nobody settled stands as %+v", last)
		}
		if r.holds() != 0 {
			t.Error("a closed hold is kept")
		}
	})
}

// Rule: where money is bounded, a model of which no price is known is refused; without a budget it is not charged.
func TestAModelWithoutAPrice(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		work := text(10)
		work.Model = "nobody-knows"
		_, hold := r.hold(0, budgets.Work{Operation: work.Operation, Engine: work.Engine, Most: work.Most})
		r.call(hold, 25, new(input(25)), 0)
		hold.Close()
		r.stands(0, 0)
		if entry := r.ledger()[0]; entry.Price != "unknown" || entry.InputTokens != 25 {
			t.Errorf("the ledger tells %+v", entry)
		}
		for _, subject := range []budgets.Subject{r.account(0), r.organization()} {
			r.set(subject, budgets.SetMicros(new(int64(1_000_000))))
			_, _, err := r.purse(0).Hold(t.Context(), work)
			refused(t, err, map[string]any{"budget": 1.0})
			refused(t, r.purse(0).Affords(t.Context(), work), nil)
			r.set(subject, budgets.SetMicros(nil))
		}
	})
}

// Rule: who is refused for a price that is not known reads which model it is, and a service that is asked for none is not
// called by an empty name.
func TestTheRefusalNamesTheModelWithoutAPrice(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		r.set(r.organization(), budgets.SetMicros(new(int64(1_000_000))))
		for model, named := range map[string]string{"nobody-knows": `the model "nobody-knows"`, "": "a model that the service chooses"} {
			work := text(10)
			work.Provider, work.Model = "asr.example.org", model
			if err := r.purse(0).Affords(t.Context(), work); err == nil || !strings.Contains(err.Error(), "no price is known for "+named+":") {
				t.Errorf("of the model %q the refusal is %v, want %q in it", model, err, named)
			}
		}
	})
}

// Rule: a purse that nobody handed out spends nothing.
func TestTheZeroPurseSpendsNothing(t *testing.T) {
	t.Parallel()
	var purse budgets.Purse
	if purse.Open(context.Background(), budgets.Text) == nil || purse.Affords(context.Background(), text(1)) == nil {
		t.Error("the zero purse is open")
	}
	if _, _, err := purse.Hold(context.Background(), text(1)); err == nil {
		t.Error("the zero purse held")
	}
}
