package budgets_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// meanwhile runs work while another transaction has made a change that it has not kept yet, and keeps that once the work
// waits for it. Only PostgreSQL lets two write at once.
func (r *rig) meanwhile(change string, work func()) {
	r.t.Helper()
	var running sync.WaitGroup
	defer running.Wait()
	r.write(func(tx *gorm.DB) error {
		if err := tx.Exec(change).Error; err != nil {
			return err
		}
		running.Go(work)
		const waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
		var count int64
		for end := time.Now().Add(10 * time.Second); count == 0 && time.Now().Before(end); <-time.After(5 * time.Millisecond) {
			if err := r.db.Read.Raw(waiting).Scan(&count).Error; err != nil {
				return err
			}
		}
		if count == 0 {
			r.t.Error("the work waited for nothing")
		}
		return nil
	})
}

// Rule: room that another call gives back at this very moment is given to the next, not refused and no fault.
func TestRoomThatIsGivenBackMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, modelstest.Postgres(t), nil)
	r.set(r.organization(), budgets.SetMicros(new(int64(10))))
	r.hold(0, text(10))
	r.meanwhile("UPDATE budget_months SET held_micros = 0 WHERE user_id = 0", func() {
		if _, _, err := r.purse(1).Hold(context.Background(), text(10)); err != nil {
			t.Errorf("the room is there and was refused: %v", err)
		}
	})
	r.stands(0, 10)
}

// Rule: a hold that its owner renews while the sweep looks at it is left alone.
func TestAHoldThatIsRenewedMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, modelstest.Postgres(t), nil)
	_, hold := r.hold(0, text(10))
	defer hold.Close()
	r.die()
	r.meanwhile("UPDATE budget_holds SET held_until = now() + interval '1 minute'", r.sweep)
	var left int64
	if err := r.db.Read.Model(&models.BudgetHold{}).Count(&left).Error; err != nil || left != 1 {
		t.Errorf("%d holds are left, %v", left, err)
	}
	r.stands(0, 10)
}

// Rule: a budget is not lowered in the middle of a decision: whoever reads it keeps it until the decision is kept.
func TestABudgetThatIsLoweredMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, modelstest.Postgres(t), nil)
	r.set(r.organization(), budgets.SetMicros(new(int64(10))))
	r.meanwhile("UPDATE budgets SET micros = 5", func() {
		_, _, err := r.purse(0).Hold(context.Background(), text(10))
		refused(t, err, map[string]any{"budget": 5e-6})
	})
	r.stands(0, 0)
}
