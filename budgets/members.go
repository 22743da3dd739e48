package budgets

import (
	"context"
	"fmt"
	"strings"

	"github.com/stenometer/stenometer/models"
)

// MemberState is how the month of one account stands; Money's, Tokens' and Seconds' budgets are the account's own.
type MemberState struct {
	UserID   int64
	Username string
	State
}

// Members is a page of how the accounts of an organization stand in a month, those who spent most first, and how many
// there are. Alerts are not told.
func (b *Budgets) Members(ctx context.Context, organizationID int64, month Month, page, perPage int) (list []MemberState, total int64, err error) {
	db := b.db.Read.WithContext(ctx)
	if err := db.Model(&models.User{}).Where("organization_id = ?", organizationID).Count(&total).Error; err != nil {
		return nil, 0, fmt.Errorf("count the accounts of an organization: %w", err)
	}
	var rows []struct {
		ID       int64
		Username string
		Month    models.BudgetMonth `gorm:"embedded"`
		Micros   *int64
		Tokens   *int64
		Seconds  *int64
	}
	var sums strings.Builder
	for _, column := range []string{"spent_micros", "spent_tokens", "spent_seconds", "held_micros", "held_tokens", "held_seconds"} {
		fmt.Fprintf(&sums, "COALESCE(budget_months.%[1]s, 0) AS %[1]s, ", column) // who did nothing has no row
	}
	err = db.Model(&models.User{}).
		Select("users.id, users.username, "+sums.String()+"budgets.micros, budgets.tokens, budgets.seconds").
		Joins("LEFT JOIN budget_months ON budget_months.organization_id = users.organization_id AND budget_months.user_id = users.id AND budget_months.month = ?", month.Name).
		Joins("LEFT JOIN budgets ON budgets.user_id = users.id").
		Where("users.organization_id = ?", organizationID).
		Order("COALESCE(budget_months.spent_micros, 0) DESC, users.id").Limit(perPage).Offset((page - 1) * perPage).Scan(&rows).Error
	if err != nil {
		return nil, 0, fmt.Errorf("add up the accounts of an organization: %w", err)
	}
	for _, row := range rows {
		list = append(list, MemberState{row.ID, row.Username, State{
			Money:   Standing{row.Month.Spent.Micros, row.Month.Held.Micros, row.Micros},
			Tokens:  Standing{row.Month.Spent.Tokens, row.Month.Held.Tokens, row.Tokens},
			Seconds: Standing{row.Month.Spent.Seconds, row.Month.Held.Seconds, row.Seconds},
			Alerted: []int{},
		}})
	}
	return list, total, nil
}
