package budgets_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// Rule: after a crash a dead hold that was not sent is released; a dead call is charged in full and marked unknown. Holds
// of the living are left alone.
func TestTheSweepEndsWhatDied(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		_, held := r.hold(0, text(10))
		_, sent := r.hold(1, text(20))
		if err := sent.Send(t.Context(), input(15)); err != nil {
			t.Fatal(err)
		}
		r.sweep()
		r.stands(0, 30)
		r.die()
		_, living := r.hold(0, text(5))
		defer living.Close()
		r.sweep()
		r.sweep()
		r.stands(15, 5)
		rows := r.ledger()
		if len(rows) != 1 || rows[0].Outcome != "unknown" || rows[0].ChargedMicros != 15 || rows[0].InputTokens != 15 {
			t.Errorf("the ledger has %+v", rows)
		}
		// Who was believed dead and is not can spend nothing more, and nothing is charged or given back twice.
		if err := held.Send(t.Context(), input(1)); !errors.Is(err, budgets.ErrHoldLost) {
			t.Errorf("a call went out of a hold that is gone: %v", err)
		}
		if err := sent.Settle(t.Context(), budgets.Done, new(input(1)), input(1)); !errors.Is(err, budgets.ErrHoldLost) {
			t.Errorf("a call was settled that was charged in full: %v", err)
		}
		held.Close()
		sent.Close()
		r.stands(15, 5)
	})
}

func (r *rig) sweep() {
	r.t.Helper()
	if err := r.budgets.Sweep(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// Rule: more dead holds than one look finds are all ended.
func TestTheSweepEndsManyHolds(t *testing.T) {
	t.Parallel()
	r := newRig(t, modelstest.SQLite(t), nil)
	for range 120 {
		_, hold := r.hold(0, text(1))
		defer hold.Close()
	}
	r.die()
	r.sweep()
	r.stands(0, 0)
}

// Rule: a lease is renewed while the work lives, however long it takes, so that the sweep leaves it alone.
func TestALongCallKeepsItsHold(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		const lease = time.Second
		r := newRig(t, db, func(o *budgets.Options) { o.Lease = lease })
		ctx, hold := r.hold(0, text(10))
		first := r.heldUntil()
		for end := time.Now().Add(3 * lease); time.Now().Before(end); {
			r.sweep()
			if ctx.Err() != nil {
				t.Fatalf("the work was ended: %v", context.Cause(ctx))
			}
			<-time.After(50 * time.Millisecond)
		}
		if !r.heldUntil().After(first.Add(lease)) {
			t.Error("the lease was not renewed")
		}
		r.call(hold, 10, new(input(10)), 0)
		hold.Close()
		r.stands(10, 0)
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Errorf("a closed hold ends its context by %v", context.Cause(ctx))
		}
	})
}

func (r *rig) heldUntil() time.Time {
	r.t.Helper()
	var hold models.BudgetHold
	if err := r.db.Read.Take(&hold).Error; err != nil {
		r.t.Fatal(err)
	}
	return hold.HeldUntil
}

// Rule: work must not go on without its hold: when the lease is lost, the work's context ends and says why.
func TestALostLeaseEndsTheWork(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, func(o *budgets.Options) { o.Lease = lease })
		ctx, hold := r.hold(0, text(10))
		defer hold.Close()
		r.write(func(tx *gorm.DB) error { return tx.Where("id > 0").Delete(&models.BudgetHold{}).Error })
		select {
		case <-ctx.Done():
		case <-time.After(lease):
			t.Fatal("the work goes on without its hold, which the next renewal misses")
		}
		if !errors.Is(context.Cause(ctx), budgets.ErrHoldLost) {
			t.Errorf("the work ended by %v", context.Cause(ctx))
		}
	})
}

// Rule: what died before a start is ended at the start, without waiting for the sweep's pause.
func TestHoldsAreReconciledAtTheStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, modelstest.SQLite(t), nil)
	_, hold := r.hold(0, text(10))
	defer hold.Close()
	r.die()
	r.budgets.Start(t.Context())
	defer r.budgets.Stop()
	for end := time.Now().Add(20 * time.Second); r.holds() > 0; <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the dead hold is still there")
		}
	}
	r.stands(0, 0)
}
