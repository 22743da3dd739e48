package webhooks

import (
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// EraseSome removes at most so many deliveries that tell of an account's things, or were for the account alone. It reports
// whether there may be more.
func EraseSome(tx *gorm.DB, userID int64, most int) (more bool, err error) {
	own := tx.Model(&models.Webhook{}).Select("id").Where("user_id = ? AND scope = ?", userID, ScopeUser)
	some := tx.Model(&models.WebhookDelivery{}).Select("id").Where("owner_user_id = ? OR webhook_id IN (?)", userID, own).Limit(most)
	gone := tx.Where("id IN (?)", some).Delete(&models.WebhookDelivery{})
	if gone.Error != nil {
		return false, fmt.Errorf("remove deliveries of account %d: %w", userID, gone.Error)
	}
	return gone.RowsAffected == int64(most), nil
}

// HandOver keeps the organization's endpoints that an account has made, before the account goes. They are of the first
// account then that may manage them, and switched off: an address that somebody chose who is gone is told nothing until
// somebody who is there wants it. Where nobody may, they go with the account.
func HandOver(tx *gorm.DB, userID int64, now time.Time) error {
	var hooks []models.Webhook
	if err := locking(tx).Where("user_id = ? AND scope = ?", userID, ScopeOrganization).Find(&hooks).Error; err != nil {
		return fmt.Errorf("find the endpoints that account %d has made: %w", userID, err)
	}
	for i := range hooks {
		hook := &hooks[i]
		var heirs []int64
		err := tx.Model(&models.User{}).
			Where("organization_id = ? AND id <> ? AND disabled_at IS NULL AND role IN ?", hook.OrganizationID, userID, managing()).
			Order("id").Limit(1).Pluck("id", &heirs).Error
		if err != nil || len(heirs) == 0 {
			return err
		}
		if err := disable(tx, hook, now); err != nil {
			return fmt.Errorf("switch webhook %d off: %w", hook.ID, err)
		}
		hook.UserID, hook.UpdatedAt = heirs[0], now
		if err := tx.Model(hook).Select("user_id", "enabled", "auto_paused", "trial_at", "updated_at").UpdateColumns(hook).Error; err != nil {
			return fmt.Errorf("hand webhook %d over: %w", hook.ID, err)
		}
	}
	return nil
}
