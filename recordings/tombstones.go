package recordings

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// Reason is why a recording is gone for somebody.
type Reason string

// ReasonDeleted is the one reason of this release: somebody who may has deleted it.
const ReasonDeleted Reason = "deleted"

// The marks of the feed.
const (
	markStarted = "started"
	markPruned  = "pruned"
)

// bury tells those who follow the feed that the recording is gone. Every deletion calls it, in its own transaction:
// without it followers keep the recording for ever. The moment it returns is after all that was seen of the recording.
func (s *Recordings) bury(tx *gorm.DB, row models.Recording, reason Reason) (time.Time, error) {
	at := later(row.UpdatedAt, s.moment())
	tombstone := models.RecordingTombstone{UserID: row.UserID, RecordingID: row.ID, Reason: string(reason), DeletedAt: at}
	if err := tx.Create(&tombstone).Error; err != nil {
		return at, fmt.Errorf("write the tombstone: %w", err)
	}
	return at, nil
}

// pruneBatch is how many tombstones one transaction forgets: on SQLite every writer waits for it.
const pruneBatch = 1000

// PruneTombstones forgets those older than Options.TombstoneLife and tells how many they were. The mark that turns
// older cursors away moves in the transaction that forgets, so that no follower misses a deletion without being told.
func (s *Recordings) PruneTombstones(ctx context.Context) (pruned int64, err error) {
	before := s.moment().Add(-s.TombstoneLife)
	for {
		var gone int64
		err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
			var ids []int64
			err := tx.Model(&models.RecordingTombstone{}).Where("deleted_at < ?", before).
				Order("deleted_at").Limit(pruneBatch).Pluck("id", &ids).Error
			if err != nil || len(ids) == 0 {
				return err
			}
			// Never back: what was forgotten before stays so when the life is made longer.
			err = tx.Model(&models.FeedMark{}).Where("name = ? AND at < ?", markPruned, before).UpdateColumn("at", before).Error
			if err != nil {
				return fmt.Errorf("move the mark: %w", err)
			}
			forgotten := tx.Where("id IN ?", ids).Delete(&models.RecordingTombstone{})
			gone = forgotten.RowsAffected
			return forgotten.Error
		})
		if err != nil {
			return pruned, fmt.Errorf("forget old tombstones: %w", err)
		}
		pruned += gone
		if gone < pruneBatch {
			return pruned, nil
		}
	}
}
