package recordings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

const sourceHook = "hook"

// Delivery is a file that an integration has sent and signed.
type Delivery struct {
	IntegrationID int64
	// Name is what the integration is called: the recording is named after it.
	Name string
	// ID is the sender's; it is remembered until Until.
	ID    string
	Until time.Time
	Body  io.Reader
}

// Delivered is the recording of a delivery, made now or before.
type Delivered struct {
	RecordingID int64
	Already     bool
}

// Deliver makes a recording of a delivery's file. A delivery that was accepted makes nothing again, whatever has become
// of its recording.
func (s *Recordings) Deliver(ctx context.Context, p auth.Principal, d Delivery) (Delivered, error) {
	seen := models.HookDelivery{IntegrationID: d.IntegrationID, DeliveryHash: hashed(d.ID), ExpiresAt: d.Until.UTC().Truncate(time.Microsecond)}
	if earlier, err := delivered(s.db.Read.WithContext(ctx), seen); err != nil || earlier != 0 {
		return Delivered{earlier, true}, err
	}
	file, err := s.receive(ctx, filePart{d.Name, d.Body})
	if err != nil {
		return Delivered{}, err
	}
	accepted, kept, err := s.take(ctx, p, arrival{file: file, source: sourceHook}, func(tx *gorm.DB, row *models.Recording) error {
		seen.RecordingID = row.ID
		return s.remember(tx, seen)
	})
	if kept {
		file.forget()
	} else {
		file.discard(ctx)
	}
	if earlier := (replays{}); errors.As(err, &earlier) {
		return Delivered{earlier.recording, true}, nil
	}
	return Delivered{RecordingID: accepted.Recording.ID}, err
}

func hashed(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}

// delivered is the recording that a delivery has made; 0 for none.
func delivered(db *gorm.DB, seen models.HookDelivery) (int64, error) {
	var rows []models.HookDelivery
	err := db.Where("integration_id = ? AND delivery_hash = ?", seen.IntegrationID, seen.DeliveryHash).Limit(1).Find(&rows).Error
	if err != nil {
		return 0, unavailable("look for an earlier delivery", err)
	}
	if len(rows) == 0 {
		return 0, nil
	}
	return rows[0].RecordingID, nil
}

// remember notes a delivery with the recording that the transaction makes, or ends it where another has made one. What
// is too old to be sent again goes.
func (s *Recordings) remember(tx *gorm.DB, seen models.HookDelivery) error {
	err := tx.Where("integration_id = ? AND expires_at <= ?", seen.IntegrationID, s.moment()).Delete(&models.HookDelivery{}).Error
	if err != nil {
		return fmt.Errorf("forget old deliveries: %w", err)
	}
	made := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&seen)
	if made.Error != nil {
		return fmt.Errorf("remember the delivery: %w", made.Error)
	}
	if made.RowsAffected == 1 {
		return nil
	}
	earlier, err := delivered(tx, seen)
	if err != nil {
		return err
	}
	return replays{earlier}
}
