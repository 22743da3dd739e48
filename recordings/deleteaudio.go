package recordings

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// DeleteAudio removes the media of a recording of the caller's own that rests, and keeps the rest of it. The row
// forgets the file in the transaction that queues its erasure, so that neither is without the other.
func (s *Recordings) DeleteAudio(ctx context.Context, p auth.Principal, id int64) (at time.Time, err error) {
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		_, err := s.changeWithin(tx, p, id, owning, nil, func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
			at, err = s.forgetAudio(ctx, tx, row)
			return []Field{FieldAudio}, err
		})
		return err
	})
	if err != nil {
		return time.Time{}, unavailable("remove the audio", err)
	}
	return at, nil
}

func (s *Recordings) forgetAudio(ctx context.Context, tx *gorm.DB, row *models.Recording) (at time.Time, err error) {
	if row.StorageKey == "" || row.AudioDeletedAt != nil {
		return at, problems.New(problems.Conflict, "The audio of this recording has been removed already.")
	}
	if row.Status != StatusCompleted && row.Status != StatusFailed {
		return at, problems.New(problems.Conflict, "The recording is being processed; its audio is still needed.")
	}
	at = s.moment()
	err = tx.Model(&models.Recording{}).Where("id = ?", row.ID).
		UpdateColumns(map[string]any{"storage_key": "", "audio_deleted_at": at}).Error
	if err != nil {
		return at, fmt.Errorf("forget the file: %w", err)
	}
	if _, err := s.Queue.Enqueue(ctx, tx, EraseMediaArgs{StorageKey: row.StorageKey}, nil); err != nil {
		return at, fmt.Errorf("enqueue the erasure: %w", err)
	}
	row.StorageKey, row.AudioDeletedAt = "", &at
	return at, nil
}
