package budgets

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// sweepAtOnce bounds the holds of one sweep's look.
const sweepAtOnce = 100

// Start ends the holds of owners that have died, at once and from time to time, until Stop.
func (b *Budgets) Start(ctx context.Context) {
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.ended.Go(func() {
		ticker := time.NewTicker(b.SweepEvery)
		defer ticker.Stop()
		for {
			if err := b.Sweep(ctx); err != nil && ctx.Err() == nil {
				b.Logger.WarnContext(ctx, "holds of dead processes could not be ended", "error", err.Error())
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
}

// Stop ends what Start began and waits for it.
func (b *Budgets) Stop() {
	b.cancel()
	b.ended.Wait()
}

// Sweep ends every hold that nobody has renewed in time: what was not sent is given back, a call that was out is
// charged in full, because nobody knows what it cost.
func (b *Budgets) Sweep(ctx context.Context) error {
	for {
		var dead []models.BudgetHold
		err := b.db.Read.WithContext(ctx).Where("held_until < " + b.db.Clock(0)).Order("id").Limit(sweepAtOnce).Find(&dead).Error
		if err != nil {
			return fmt.Errorf("look for dead holds: %w", err)
		}
		// One that cannot be ended keeps none of the others.
		var faults []error
		for _, hold := range dead {
			faults = append(faults, b.bury(ctx, hold))
		}
		if err := errors.Join(faults...); err != nil || len(dead) < sweepAtOnce {
			return err
		}
	}
}

func (b *Budgets) bury(ctx context.Context, hold models.BudgetHold) error {
	err := b.db.Transaction(ctx, func(tx *gorm.DB) error {
		// Under a lock: its owner may live after all and renew it, or send it, at this moment.
		still, err := lockHold(tx.Where("id = ? AND held_until < "+b.db.Clock(0), hold.ID))
		if err != nil {
			return err
		}
		return b.end(tx, still)
	})
	if err != nil && !errors.Is(err, ErrHoldLost) {
		return fmt.Errorf("end the hold of a dead process: %w", err)
	}
	return nil
}
