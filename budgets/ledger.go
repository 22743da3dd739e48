package budgets

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// Grouping is what sums of the ledger are told by.
type Grouping string

// The groupings. A model is told with its provider.
const (
	ByDay       Grouping = "day"
	ByOperation Grouping = "operation"
	ByModel     Grouping = "model"
	ByToken     Grouping = "token"
)

// Groupings lists every grouping, in the order in which sums are sorted.
func Groupings() []Grouping { return []Grouping{ByDay, ByOperation, ByModel, ByToken} }

// columns are those that a grouping tells.
func (g Grouping) columns() []string {
	switch g {
	case ByModel:
		return []string{"provider", "model"}
	case ByToken:
		return []string{"token_id"}
	case ByDay, ByOperation:
	}
	return []string{string(g)}
}

// LedgerQuery is which sums are asked for: those of an organization in a month, or of one of its accounts.
type LedgerQuery struct {
	OrganizationID int64
	UserID         int64 // 0 for all of them
	Month          Month
	By             map[Grouping]bool
	Page, PerPage  int
}

// LedgerSum is what the calls of one group came to. What it is not grouped by is nil.
type LedgerSum struct {
	Day, Operation, Provider, Model *string
	TokenID                         *int64
	// TokenName is nil where the token is gone, or there was none.
	TokenName                 *string
	Calls                     int64
	InputTokens, OutputTokens int64
	AudioSeconds              float64
	ChargedMicros             int64
	// Estimated calls are those whose figures no provider reported; Unknown ones, among them, ended with their process
	// and were charged in full.
	Estimated, Unknown int64
}

// Ledger gives the sums of a page, and how many there are.
func (b *Budgets) Ledger(ctx context.Context, query LedgerQuery) (sums []LedgerSum, total int64, err error) {
	columns, order := []string{}, []string{}
	for _, grouping := range Groupings() {
		if !query.By[grouping] {
			continue
		}
		for _, column := range grouping.columns() {
			columns = append(columns, column)
			if column == "token_id" {
				column = "COALESCE(token_id, 0)" // the databases sort null at different ends
			}
			order = append(order, column)
		}
	}
	grouped := func() *gorm.DB {
		rows := b.db.Read.WithContext(ctx).Model(&models.LedgerEntry{}).Where("organization_id = ? AND month = ?", query.OrganizationID, query.Month.Name)
		if query.UserID != 0 {
			rows = rows.Where("user_id = ?", query.UserID)
		}
		return rows.Group(strings.Join(columns, ", "))
	}
	err = b.db.Read.WithContext(ctx).Table("(?) AS sums", grouped().Select("1")).Count(&total).Error
	if err != nil {
		return nil, 0, fmt.Errorf("count the sums of the ledger: %w", err)
	}
	err = grouped().Select(strings.Join(columns, ", ") + ", COUNT(*) AS calls, " +
		"CAST(SUM(input_tokens) AS bigint) AS input_tokens, CAST(SUM(output_tokens) AS bigint) AS output_tokens, " +
		"SUM(audio_seconds) AS audio_seconds, CAST(SUM(charged_micros) AS bigint) AS charged_micros, " +
		"COUNT(*) FILTER (WHERE source = '" + string(Estimated) + "') AS estimated, " +
		"COUNT(*) FILTER (WHERE outcome = '" + string(Unknown) + "') AS unknown").
		Order(strings.Join(order, ", ")).Limit(query.PerPage).Offset((query.Page - 1) * query.PerPage).Scan(&sums).Error
	if err != nil {
		return nil, 0, fmt.Errorf("add up the ledger: %w", err)
	}
	return sums, total, b.nameTokens(ctx, sums)
}

// nameTokens fills in how the tokens of the sums are called.
func (b *Budgets) nameTokens(ctx context.Context, sums []LedgerSum) error {
	var ids []int64
	for _, sum := range sums {
		if sum.TokenID != nil {
			ids = append(ids, *sum.TokenID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var rows []models.APIToken
	if err := b.db.Read.WithContext(ctx).Select("id", "name").Where("id IN ?", ids).Find(&rows).Error; err != nil {
		return fmt.Errorf("read the names of tokens: %w", err)
	}
	names := make(map[int64]string, len(rows))
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	for i, sum := range sums {
		if sum.TokenID == nil {
			continue
		}
		if name, ok := names[*sum.TokenID]; ok {
			sums[i].TokenName = &name
		}
	}
	return nil
}

// Holds counts the pieces of work for which money is held now, of an organization or of one of its accounts.
func (b *Budgets) Holds(ctx context.Context, organizationID, userID int64) (count int64, err error) {
	query := b.db.Read.WithContext(ctx).Model(&models.BudgetHold{}).Where("organization_id = ?", organizationID)
	if userID != 0 {
		query = query.Where("user_id = ?", userID)
	}
	if err := query.Count(&count).Error; err != nil {
		return 0, fmt.Errorf("count the holds: %w", err)
	}
	return count, nil
}
