package budgets

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// thresholds are the percentages of a month's money at which somebody is told, each once in the month.
func thresholds() []int { return []int{50, 80, 100} }

// alert tells which thresholds the months of a hold have reached.
func (b *Budgets) alert(tx *gorm.DB, hold models.BudgetHold) error {
	for _, user := range []int64{0, hold.UserID} {
		inForce, err := b.bounds(tx, hold.OrganizationID, user, false)
		if err != nil {
			return err
		}
		if inForce.micros == nil || *inForce.micros == 0 {
			continue
		}
		var row models.BudgetMonth
		err = tx.Where("organization_id = ? AND user_id = ? AND month = ?", hold.OrganizationID, user, hold.Month).Take(&row).Error
		if err != nil {
			return fmt.Errorf("read the month: %w", err)
		}
		if err := b.alertAt(tx, row, *inForce.micros, int(row.Spent.Micros*100 / *inForce.micros)); err != nil {
			return err
		}
	}
	return nil
}

// alertAt tells every threshold up to a percentage that was not told before.
func (b *Budgets) alertAt(tx *gorm.DB, row models.BudgetMonth, budget int64, percent int) error {
	for _, threshold := range thresholds() {
		if percent < threshold || row.Alerted >= threshold {
			continue
		}
		first := tx.Model(&models.BudgetMonth{}).
			Where("organization_id = ? AND user_id = ? AND month = ? AND alerted < ?", row.OrganizationID, row.UserID, row.Month, threshold).
			UpdateColumn("alerted", threshold)
		if first.Error != nil {
			return fmt.Errorf("note the alert: %w", first.Error)
		}
		if first.RowsAffected == 0 {
			continue
		}
		b.Logger.Warn("budget threshold reached", "organization", row.OrganizationID, "account", row.UserID,
			"month", row.Month, "percent", threshold, "spent_usd", Dollars(row.Spent.Micros), "budget_usd", Dollars(budget))
		if b.Announcer == nil {
			continue
		}
		data := map[string]any{
			"scope": scopeOrganization, "organization_id": row.OrganizationID, "user_id": nil, "month": row.Month, "threshold": threshold,
			"spent": Dollars(row.Spent.Micros), "budget": Dollars(budget), "currency": "USD",
		}
		if row.UserID != 0 {
			data["scope"], data["user_id"] = scopeAccount, row.UserID
		}
		if err := b.Announcer.BudgetThreshold(tx, row.OrganizationID, row.UserID, data, b.Now().UTC()); err != nil {
			return fmt.Errorf("announce the alert: %w", err)
		}
	}
	return nil
}

// exhausted tells the last threshold when work was refused because money is spent, not only held: a hard budget is
// seldom spent to the last cent. What cannot be told now the next refusal tells.
func (b *Budgets) exhausted(ctx context.Context, payer Payer, now period, refusal error) {
	var known *problems.Error
	if !errors.As(refusal, &known) || known.Kind != problems.BudgetExceeded || known.RetryAfter > 0 || known.Fields["unit"] != unitMoney {
		return
	}
	user := int64(0)
	if known.Fields["scope"] == scopeAccount {
		user = payer.UserID
	}
	err := b.db.Transaction(ctx, func(tx *gorm.DB) error {
		inForce, err := b.bounds(tx, payer.OrganizationID, user, false)
		if err != nil || inForce.micros == nil {
			return err
		}
		var rows []models.BudgetMonth
		err = tx.Where("organization_id = ? AND user_id = ? AND month = ?", payer.OrganizationID, user, now.month).Limit(1).Find(&rows).Error
		if err != nil {
			return fmt.Errorf("read the month: %w", err)
		}
		if len(rows) == 0 || rows[0].Spent.Micros == 0 {
			return nil // the work was too large for the budget, which is untouched
		}
		return b.alertAt(tx, rows[0], *inForce.micros, 100)
	})
	if err != nil {
		b.Logger.WarnContext(ctx, "an alert could not be given", "error", err.Error())
	}
}
