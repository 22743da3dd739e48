package budgets

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/resting"
)

// ErrHoldLost is why work ends whose hold is gone: its lease could not be renewed, and the sweeper believed it dead.
var ErrHoldLost = errors.New("the hold is gone")

// settleTime bounds what is still done for a hold when the work's own context is over.
const settleTime = 20 * time.Second

// Hold is money kept back for work at a provider: one call or several, one after the other. It is renewed by itself
// until it is closed. It is not safe for concurrent use.
type Hold struct {
	budgets *Budgets
	row     models.BudgetHold
	price   price
	used    Measure // of the call that was settled last
	cancel  context.CancelCauseFunc
	renewal *resting.Recurrent
}

// Hold keeps back the most that the work can use, in the month of now, or refuses with budget_exceeded and keeps
// nothing. The context that it returns ends with the hold, by ErrHoldLost: work must not go on without it.
// Close must be called.
func (p Purse) Hold(ctx context.Context, work Work) (context.Context, *Hold, error) {
	if p.budgets == nil {
		return ctx, nil, errNoPurse
	}
	b := p.budgets
	now, err := b.period(ctx, p.payer.OrganizationID)
	if err != nil {
		return ctx, nil, err
	}
	price, known := b.Prices.find(work.Engine, work.Most)
	moment := b.Now().UTC()
	hold := &Hold{budgets: b, price: price, row: models.BudgetHold{
		OrganizationID: p.payer.OrganizationID, UserID: p.payer.UserID,
		TokenID: orNone(p.payer.TokenID), RecordingID: orNone(p.payer.RecordingID),
		Operation: string(work.Operation), Provider: work.Provider, Model: work.Model, Price: price.String(),
		Month: now.month, Day: now.day, Left: work.Most.amount(price), HeldUntil: moment, CreatedAt: moment,
	}}
	err = b.apart(ctx, func(tx *gorm.DB) error {
		if err := b.reserve(tx, hold.row, hold.row.Left, known, now); err != nil {
			return err
		}
		if err := tx.Create(&hold.row).Error; err != nil {
			return fmt.Errorf("write the hold: %w", err)
		}
		return b.extend(tx, hold.row.ID, nil)
	})
	if err != nil {
		b.exhausted(ctx, p.payer, now, hold.row.Left, err)
		return ctx, nil, fmt.Errorf("hold the money of a call: %w", err)
	}
	ctx, hold.cancel = context.WithCancelCause(ctx)
	id := hold.row.ID
	hold.renewal = resting.Again(ctx, b.Lease/3, b.renewing(id, hold.cancel))
	return ctx, hold, nil
}

// apart is a transaction before a call that may be waited for by long: the stack of whoever waits stays small.
func (b *Budgets) apart(ctx context.Context, do func(*gorm.DB) error) (err error) {
	resting.Apart(func() { err = b.db.Transaction(ctx, do) })
	return err
}

// Used is what the call was settled at that was settled last.
func (h *Hold) Used() Measure { return h.used }

func orNone(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}

// reserve adds an amount to what is held in the months of the organization and the account, if the budgets of both
// have room: one statement each looks and takes. The organization's row is first, always: two calls of one organization
// never wait for each other in a circle.
func (b *Budgets) reserve(tx *gorm.DB, hold models.BudgetHold, asked models.Amount, priced bool, now period) error {
	for _, user := range []int64{0, hold.UserID} {
		row := models.BudgetMonth{OrganizationID: hold.OrganizationID, UserID: user, Month: hold.Month}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
			return fmt.Errorf("begin the month: %w", err)
		}
		inForce, err := b.bounds(tx, hold.OrganizationID, user, true)
		if err != nil {
			return err
		}
		if !priced && inForce.micros != nil {
			if err := monthRow(tx, &row); err != nil {
				return err
			}
			return unpriced(Engine{hold.Provider, hold.Model}, row, *inForce.micros, now)
		}
		this := func() *gorm.DB {
			return tx.Model(&models.BudgetMonth{}).
				Where("organization_id = ? AND user_id = ? AND month = ?", hold.OrganizationID, user, hold.Month)
		}
		taken := inForce.room(this(), asked).UpdateColumns(adding(map[string]any{}, "held_", asked))
		if taken.Error != nil {
			return fmt.Errorf("take from the month: %w", taken.Error)
		}
		if taken.RowsAffected > 0 {
			continue
		}
		// Under a lock: another call may have given room back since, and then this one has it.
		if err := this().Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).Take(&row).Error; err != nil {
			return fmt.Errorf("read the month: %w", err)
		}
		if refusal := inForce.refuse(row, asked, now); refusal != nil {
			return refusal
		}
		if err := this().UpdateColumns(adding(map[string]any{}, "held_", asked)).Error; err != nil {
			return fmt.Errorf("take from the month: %w", err)
		}
	}
	return nil
}

// extend begins a lease, with other changes of the hold's row.
func (b *Budgets) extend(tx *gorm.DB, id int64, change map[string]any) error {
	if change == nil {
		change = map[string]any{}
	}
	change["held_until"] = gorm.Expr(b.db.Clock(b.Lease))
	kept := tx.Model(&models.BudgetHold{}).Where("id = ?", id).UpdateColumns(change)
	if kept.Error != nil {
		return fmt.Errorf("extend the hold: %w", kept.Error)
	}
	if kept.RowsAffected == 0 {
		return ErrHoldLost
	}
	return nil
}

// renewing extends the lease of a hold each time that it is called. When the lease is lost, so is the hold's context.
func (b *Budgets) renewing(id int64, lost context.CancelCauseFunc) func(context.Context) time.Duration {
	every, renewed := b.Lease/3, time.Now()
	return func(ctx context.Context) time.Duration {
		// A database that hangs must not keep alive what the sweep of another process believes dead.
		attempt, cancel := context.WithTimeout(ctx, b.Lease)
		defer cancel()
		began := time.Now()
		err := b.db.Transaction(attempt, func(tx *gorm.DB) error { return b.extend(tx, id, nil) })
		switch {
		case ctx.Err() != nil:
			return 0
		case err == nil:
			renewed = began
		case errors.Is(err, ErrHoldLost), time.Since(renewed) > b.Lease:
			lost(ErrHoldLost)
			return 0
		default:
			b.Logger.WarnContext(ctx, "a hold could not be renewed", "hold", id, "error", err.Error())
		}
		// By the clock and not by the end of this time, so that a slow database is asked as often.
		return max(every-time.Since(began), time.Millisecond)
	}
}

// Close gives back what is left of the hold; a call that was sent and not settled is charged in full. What cannot be
// done now the sweeper does when the lease is over.
func (h *Hold) Close() {
	h.cancel(context.Canceled)
	h.renewal.End()
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	err := h.budgets.db.Transaction(ctx, func(tx *gorm.DB) error {
		// As the database has it: a change may have been kept whose answer was lost. A call that Send refused was not made.
		row, err := lockHold(tx.Where("id = ?", h.row.ID))
		if err != nil {
			return err
		}
		row.Sent = row.Sent && h.row.Sent
		return h.budgets.end(tx, row)
	})
	if err != nil && !errors.Is(err, ErrHoldLost) {
		h.budgets.Logger.WarnContext(ctx, "a hold could not be given back; the sweep has it", "hold", h.row.ID, "error", err.Error())
	}
}

// lockHold reads a hold that nobody else may change until the transaction ends; ErrHoldLost when it is gone.
func lockHold(which *gorm.DB) (models.BudgetHold, error) {
	var found []models.BudgetHold
	err := which.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).Limit(1).Find(&found).Error
	if err != nil {
		return models.BudgetHold{}, fmt.Errorf("read the hold: %w", err)
	}
	if len(found) == 0 {
		return models.BudgetHold{}, ErrHoldLost
	}
	return found[0], nil
}

// end charges a call that is out in full, because nobody knows what it cost, and gives back the rest. How its tokens
// fall is not known either: they stand as input.
func (b *Budgets) end(tx *gorm.DB, hold models.BudgetHold) error {
	if hold.Sent {
		unknown := models.LedgerEntry{
			InputTokens: hold.Call.Tokens, AudioSeconds: float64(hold.Call.Seconds), Source: string(Estimated), Outcome: string(Unknown),
		}
		if err := b.charge(tx, &hold, hold.Call, unknown); err != nil {
			return err
		}
	}
	gone := tx.Where("id = ? AND calls = ?", hold.ID, hold.Calls).Delete(&models.BudgetHold{})
	if gone.Error != nil {
		return fmt.Errorf("end the hold: %w", gone.Error)
	}
	if gone.RowsAffected == 0 {
		return ErrHoldLost
	}
	return b.move(tx, hold, hold.Left, models.Amount{})
}

// move takes from what is held and adds to what is spent, in the month in which it was held.
func (b *Budgets) move(tx *gorm.DB, hold models.BudgetHold, held, spent models.Amount) error {
	for _, user := range []int64{0, hold.UserID} {
		columns := adding(adding(map[string]any{}, "held_", minus(models.Amount{}, held)), "spent_", spent)
		err := tx.Model(&models.BudgetMonth{}).
			Where("organization_id = ? AND user_id = ? AND month = ?", hold.OrganizationID, user, hold.Month).
			UpdateColumns(columns).Error
		if err != nil {
			return fmt.Errorf("settle the month: %w", err)
		}
	}
	return nil
}
