package budgets

import (
	"context"
	"fmt"

	"github.com/stenometer/stenometer/models"
)

// Use is what was used in a month. Audio is what its audio cost, in micro-dollars.
type Use struct{ Tokens, Seconds, Audio int64 }

// Everywhere is what all organizations used in a month of this name, each in its own time zone. It is for administrators
// of the instance: the caller sees to that.
func (b *Budgets) Everywhere(ctx context.Context, month Month) (Use, error) {
	var used Use
	db := b.db.Read.WithContext(ctx)
	err := db.Model(&models.BudgetMonth{}).Where("user_id = 0 AND month = ?", month.Name).
		Select("CAST(COALESCE(SUM(spent_tokens), 0) AS bigint) AS tokens, CAST(COALESCE(SUM(spent_seconds), 0) AS bigint) AS seconds").
		Scan(&used).Error
	if err != nil {
		return Use{}, fmt.Errorf("add up the month of all organizations: %w", err)
	}
	err = db.Model(&models.LedgerEntry{}).Where("month = ? AND operation = ?", month.Name, string(Transcribing)).
		Select("CAST(COALESCE(SUM(charged_micros), 0) AS bigint)").Scan(&used.Audio).Error
	if err != nil {
		return Use{}, fmt.Errorf("add up the audio of all organizations: %w", err)
	}
	return used, nil
}
