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

// The reasons of this release: somebody who may has deleted it, or it is shared with the account no more.
const (
	ReasonDeleted       Reason = "deleted"
	ReasonAccessRevoked Reason = "access_revoked"
)

// The marks of the feed.
const (
	markStarted = "started"
	markPruned  = "pruned"
)

// bury tells those who follow the feed that the recording is gone: its owner and with whom it is shared. Every deletion
// calls it, in its own transaction and before the row goes, which takes the shares with it: without it followers keep the
// recording for ever. The moment it returns is after all that was seen of the recording.
func (s *Recordings) bury(tx *gorm.DB, row models.Recording, reason Reason) (time.Time, error) {
	at := later(row.UpdatedAt, s.moment())
	tombstone := models.RecordingTombstone{UserID: row.UserID, RecordingID: row.ID, Reason: string(reason), DeletedAt: at}
	if err := tx.Create(&tombstone).Error; err != nil {
		return at, fmt.Errorf("write the tombstone: %w", err)
	}
	shares, err := sharesOf(tx, row.ID)
	if err != nil {
		return at, err
	}
	people := make([]int64, len(shares))
	for i, share := range shares {
		people[i] = share.UserID
	}
	return at, tell(tx, row.ID, people, reason, at)
}

// tell writes tombstones for people with whom a recording was shared.
func tell(tx *gorm.DB, recordingID int64, people []int64, reason Reason, at time.Time) error {
	if len(people) == 0 {
		return nil
	}
	tombstones := make([]models.RecordingTombstone, len(people))
	for i, userID := range people {
		tombstones[i] = models.RecordingTombstone{
			UserID: userID, RecordingID: recordingID, Reason: string(reason), Shared: true, DeletedAt: at,
		}
	}
	if err := tx.CreateInBatches(&tombstones, sharesAtOne).Error; err != nil {
		return fmt.Errorf("write the tombstones of shares: %w", err)
	}
	return nil
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
