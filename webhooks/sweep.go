package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// sweepAtOnce is how many deliveries one transaction drops or removes: on SQLite nobody else writes meanwhile.
const sweepAtOnce = 1000

// Sweep drops what has waited for too long, or is too much, forgets what is over, and tells how much there is.
func (s *Webhooks) Sweep(ctx context.Context) error {
	now := s.moment()
	err := s.inPieces(ctx, func(tx *gorm.DB) *gorm.DB {
		old := openDeliveries(tx).Where("created_at < ?", now.Add(-s.PendingAge))
		return drop(tx.Where("id IN (?)", old.Select("id").Limit(sweepAtOnce)), TooOld, now)
	})
	if err != nil {
		return fmt.Errorf("drop what is too old: %w", err)
	}
	var full []int64
	err = openDeliveries(s.db.Read.WithContext(ctx)).Group("webhook_id").Having("count(*) > ?", s.PendingMax).Pluck("webhook_id", &full).Error
	if err != nil {
		return fmt.Errorf("look for what is too much: %w", err)
	}
	for _, id := range full {
		err := s.inPieces(ctx, func(tx *gorm.DB) *gorm.DB {
			newest := openDeliveries(tx).Select("id").Where("webhook_id = ?", id).Order("id DESC").Offset(s.PendingMax).Limit(sweepAtOnce)
			return drop(tx.Where("id IN (?)", newest), TooMany, now)
		})
		if err != nil {
			return fmt.Errorf("drop what is too much: %w", err)
		}
	}
	err = s.inPieces(ctx, func(tx *gorm.DB) *gorm.DB {
		old := tx.Model(&models.WebhookDelivery{}).Select("id").Where("finished_at < ?", now.Add(-s.LogLife)).Limit(sweepAtOnce)
		return tx.Where("id IN (?)", old).Delete(&models.WebhookDelivery{})
	})
	if err != nil {
		return fmt.Errorf("forget old deliveries: %w", err)
	}
	return errors.Join(s.trim(ctx), s.tell(ctx))
}

func openDeliveries(tx *gorm.DB) *gorm.DB {
	return tx.Model(&models.WebhookDelivery{}).Where("finished_at IS NULL")
}

// inPieces does what touches at most sweepAtOnce rows, in a transaction each, until there are no more of them.
func (s *Webhooks) inPieces(ctx context.Context, piece func(tx *gorm.DB) *gorm.DB) error {
	for {
		var touched int64
		err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
			done := piece(tx)
			touched = done.RowsAffected
			return done.Error
		})
		if err != nil || touched < sweepAtOnce {
			return err
		}
	}
}

// drop ends open deliveries that nobody will be sent.
func drop(which *gorm.DB, reason Reason, now time.Time) *gorm.DB {
	return which.Model(&models.WebhookDelivery{}).UpdateColumns(map[string]any{
		"status": statusDropped, "reason": string(reason), "finished_at": now, "due_at": nil,
	})
}
