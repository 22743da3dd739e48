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
		row := models.BudgetMonth{OrganizationID: hold.OrganizationID, UserID: user, Month: hold.Month}
		if err := monthRow(tx, &row); err != nil {
			return err
		}
		if err := b.alertAt(tx, row, *inForce.micros, row.Spent.Micros*100 / *inForce.micros, hold.UserID); err != nil {
			return err
		}
	}
	return nil
}

// alertAt tells every threshold up to a percentage that was not told before. by is the account whose work reached it.
func (b *Budgets) alertAt(tx *gorm.DB, row models.BudgetMonth, budget, percent, by int64) error {
	for _, threshold := range thresholds() {
		if percent < int64(threshold) || row.Alerted >= threshold {
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
		if err := b.announce(tx, row, budget, threshold, by); err != nil {
			return fmt.Errorf("announce the alert: %w", err)
		}
	}
	return nil
}

// announce writes the event of an alert. An account that was deleted while its work was out owns none.
func (b *Budgets) announce(tx *gorm.DB, row models.BudgetMonth, budget int64, threshold int, by int64) error {
	if b.Announcer == nil {
		return nil
	}
	var accounts int64
	if err := tx.Model(&models.User{}).Where("id = ?", by).Count(&accounts).Error; err != nil || accounts == 0 {
		return err
	}
	data := map[string]any{
		"scope": scopeOrganization, "organization_id": row.OrganizationID, "user_id": nil, "month": row.Month, "threshold": threshold,
		"spent": Dollars(row.Spent.Micros), "budget": Dollars(budget), "currency": "USD",
	}
	if row.UserID != 0 {
		data["scope"], data["user_id"] = scopeAccount, row.UserID
	}
	return b.Announcer.BudgetThreshold(tx, row.OrganizationID, by, data, b.Now().UTC())
}

// exhausted tells the last threshold when work was refused because money is spent, not only held: a hard budget is
// seldom spent to the last cent. Work that is too large for a budget of which most is left says nothing of the month.
// What cannot be told now the next refusal tells.
func (b *Budgets) exhausted(ctx context.Context, payer Payer, now period, asked models.Amount, refusal error) {
	var known *problems.Error
	if !errors.As(refusal, &known) || known.Kind != problems.BudgetExceeded || known.RetryAfter > 0 || known.Fields["unit"] != unitMoney {
		return
	}
	user := int64(0)
	switch known.Fields["scope"] {
	case scopeAccount:
		user = payer.UserID
	case scopeOrganization:
	default:
		return // no price is known, whatever is left
	}
	if err := b.tellExhausted(ctx, payer, user, now, asked); err != nil {
		b.Logger.WarnContext(ctx, "an alert could not be given", "error", err.Error())
	}
}

// tellExhausted writes only once in a month: refusals may come by the thousand.
func (b *Budgets) tellExhausted(ctx context.Context, payer Payer, user int64, now period, asked models.Amount) error {
	db := b.db.Read.WithContext(ctx)
	inForce, err := b.bounds(db, payer.OrganizationID, user, false)
	if err != nil || inForce.micros == nil {
		return err
	}
	row := models.BudgetMonth{OrganizationID: payer.OrganizationID, UserID: user, Month: now.month}
	if err := monthRow(db, &row); err != nil {
		return err
	}
	if row.Alerted >= 100 || asked.Micros > *inForce.micros || row.Spent.Micros < *inForce.micros/2 {
		return nil
	}
	return b.db.Transaction(ctx, func(tx *gorm.DB) error { return b.alertAt(tx, row, *inForce.micros, 100, payer.UserID) })
}
