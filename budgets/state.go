package budgets

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Month is a month of an organization, as its ledger counts.
type Month struct {
	Name string // "2026-03"
	Zone string // IANA name
	// ResetsAt is when the next one begins.
	ResetsAt time.Time
}

// Month is one by its name, the present one where there is none.
func (b *Budgets) Month(ctx context.Context, organizationID int64, name string) (Month, error) {
	now, err := b.period(ctx, organizationID)
	if err != nil {
		return Month{}, err
	}
	if name != "" {
		first, err := time.ParseInLocation("2006-01", name, now.zone)
		if err != nil || first.Format("2006-01") != name {
			return Month{}, problems.New(problems.InvalidParameter, "month must be a month such as 2026-03.")
		}
		now = periodOf(first, now.zone)
	}
	return Month{now.month, now.zone.String(), now.next.UTC()}, nil
}

// Standing is how one dimension of a month stands. Budget is nil where nothing is bounded.
type Standing struct {
	Spent, Held int64
	Budget      *int64
}

// Left is what may still be held; nil where nothing is bounded. A budget that was lowered below what is spent has
// nothing left.
func (s Standing) Left() *int64 {
	if s.Budget == nil {
		return nil
	}
	return new(max(0, *s.Budget-s.Spent-s.Held))
}

// State is how a month of an account or an organization stands. The budgets are those of now, whatever the month.
type State struct {
	Money, Tokens, Seconds Standing
	// Alerted are the percentages that were told.
	Alerted []int
}

// State is that of an account in a month, or of its organization where user is 0.
func (b *Budgets) State(ctx context.Context, organizationID, userID int64, month Month) (State, error) {
	db := b.db.Read.WithContext(ctx)
	bounds, err := b.bounds(db, organizationID, userID, false)
	if err != nil {
		return State{}, err
	}
	row := models.BudgetMonth{OrganizationID: organizationID, UserID: userID, Month: month.Name}
	if err := monthRow(db, &row); err != nil {
		return State{}, err
	}
	state := State{
		Money:   Standing{row.Spent.Micros, row.Held.Micros, bounds.micros},
		Tokens:  Standing{row.Spent.Tokens, row.Held.Tokens, bounds.tokens},
		Seconds: Standing{row.Spent.Seconds, row.Held.Seconds, bounds.seconds},
		Alerted: []int{},
	}
	for _, threshold := range thresholds() {
		if row.Alerted >= threshold {
			state.Alerted = append(state.Alerted, threshold)
		}
	}
	return state, nil
}

// monthRow fills in what is known of a month; one in which nothing was done has no row.
func monthRow(db *gorm.DB, row *models.BudgetMonth) error {
	var found []models.BudgetMonth
	err := db.Where("organization_id = ? AND user_id = ? AND month = ?", row.OrganizationID, row.UserID, row.Month).Limit(1).Find(&found).Error
	if err != nil {
		return fmt.Errorf("read the month: %w", err)
	}
	if len(found) > 0 {
		*row = found[0]
	}
	return nil
}

// AudioCharged is what the audio of an account cost in a month, in micro-dollars.
func (b *Budgets) AudioCharged(ctx context.Context, organizationID, userID int64, month Month) (micros int64, err error) {
	err = b.db.Read.WithContext(ctx).Model(&models.LedgerEntry{}).
		Where("organization_id = ? AND user_id = ? AND month = ? AND operation = ?", organizationID, userID, month.Name, string(Transcribing)).
		Select("CAST(COALESCE(SUM(charged_micros), 0) AS bigint)").Scan(&micros).Error
	if err != nil {
		return 0, fmt.Errorf("add up the audio of a month: %w", err)
	}
	return micros, nil
}
