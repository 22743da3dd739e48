package accounts

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// SetAutoSummarization keeps whether the account's recordings are summarized by themselves.
func (a *Accounts) SetAutoSummarization(ctx context.Context, id int64, enabled bool) error {
	err := a.db.Transaction(ctx, func(tx *gorm.DB) error {
		changed := tx.Model(&models.User{}).Where("id = ?", id).UpdateColumn("auto_summarization", enabled)
		if changed.Error != nil {
			return fmt.Errorf("write the account: %w", changed.Error)
		}
		if changed.RowsAffected == 0 {
			return problems.New(problems.NotFound, "There is no such account.")
		}
		return nil
	})
	if err != nil {
		return failed("keep a setting of an account", err)
	}
	return nil
}
