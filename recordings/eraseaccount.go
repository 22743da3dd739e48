package recordings

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/webhooks"
)

const (
	// eraseRecordings is how many recordings one transaction removes: each may have thousands of segments, and on SQLite
	// every other writer waits.
	eraseRecordings = 10
	// eraseRows is the same for what is one row each.
	eraseRows = 1000
)

// EraseAccountArgs asks for all that an account has to be removed, and then for its row.
type EraseAccountArgs struct {
	UserID int64 `json:"user_id"`
}

// Kind names the job.
func (EraseAccountArgs) Kind() string { return "erase_account" }

// InsertOpts keeps the job until it has succeeded: at an hour a time, for months.
func (EraseAccountArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: jobs.Chores, MaxAttempts: 2500}
}

// ErasingBy queues the removal of all that an account has, for whoever decides it in the transaction.
func ErasingBy(queue *jobs.Jobs) func(ctx context.Context, tx *gorm.DB, userID int64) error {
	return func(ctx context.Context, tx *gorm.DB, userID int64) error {
		if _, err := queue.Enqueue(ctx, tx, EraseAccountArgs{UserID: userID}, nil); err != nil {
			return fmt.Errorf("enqueue the erasure of account %d: %w", userID, err)
		}
		return nil
	}
}

// AccountEraser removes accounts. Whatever it did before its process died stays done: it goes on with what is left.
type AccountEraser struct {
	river.WorkerDefaults[EraseAccountArgs]
	service *Recordings
}

// Work removes an account that is marked for it: the recordings first, each as its owner would delete it, then what
// there may be very much of, and with the row all that refers to it.
func (e *AccountEraser) Work(ctx context.Context, job *river.Job[EraseAccountArgs]) error {
	s, id := e.service, job.Args.UserID
	marked, err := s.erasing(ctx, id)
	if err != nil || !marked {
		return err
	}
	for gone := false; !gone; {
		if err := s.eraseRecordingsOf(ctx, id); err != nil {
			return err
		}
		if err := s.endSharesOf(ctx, id); err != nil {
			return err
		}
		if err := s.eraseRowsOf(ctx, id); err != nil {
			return err
		}
		if err := s.eraseDeliveriesOf(ctx, id); err != nil {
			return err
		}
		if gone, err = s.eraseRow(ctx, id); err != nil {
			return err
		}
	}
	s.Logger.InfoContext(ctx, "an account was erased", "user", id)
	return nil
}

// erasing reports whether the account is there and marked: nothing is removed of one that is not.
func (s *Recordings) erasing(ctx context.Context, id int64) (bool, error) {
	var marked int64
	err := s.db.Read.WithContext(ctx).Model(&models.User{}).Where("id = ? AND erasing_at IS NOT NULL", id).Count(&marked).Error
	if err != nil {
		return false, fmt.Errorf("find the account that is to be erased: %w", err)
	}
	return marked == 1, nil
}

func (s *Recordings) eraseRecordingsOf(ctx context.Context, id int64) error {
	for {
		var removed []models.Recording
		err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
			err := locking(tx).Where("user_id = ?", id).Order("id").Limit(eraseRecordings).Find(&removed).Error
			for i := 0; i < len(removed) && err == nil; i++ {
				err = s.remove(ctx, tx, removed[i])
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("remove recordings of account %d: %w", id, err)
		}
		if len(removed) == 0 {
			return nil
		}
		for _, row := range removed {
			s.cancelJob(ctx, row)
		}
	}
}

// eraseRowsOf removes what an account can have very much of. What is left of it goes with the account's row.
func (s *Recordings) eraseRowsOf(ctx context.Context, id int64) error {
	for _, kind := range []any{&models.OutboxEvent{}, &models.RecordingTombstone{}, &models.Speaker{}, &models.IdempotencyKey{}} {
		for left := true; left; {
			err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
				some := tx.Model(kind).Select("id").Where("user_id = ?", id).Limit(eraseRows)
				gone := tx.Where("id IN (?)", some).Delete(kind)
				left = gone.RowsAffected == eraseRows
				return gone.Error
			})
			if err != nil {
				return fmt.Errorf("remove what account %d has left: %w", id, err)
			}
		}
	}
	return nil
}

// eraseDeliveriesOf removes what webhooks were told of the account, those of others too.
func (s *Recordings) eraseDeliveriesOf(ctx context.Context, id int64) error {
	for left := true; left; {
		err := s.db.Transaction(ctx, func(tx *gorm.DB) (err error) {
			left, err = webhooks.EraseSome(tx, id, eraseRows)
			return err
		})
		if err != nil {
			return fmt.Errorf("remove what account %d has left: %w", id, err)
		}
	}
	return nil
}

// eraseRow removes the account itself, unless an upload that was under way has brought another recording.
func (s *Recordings) eraseRow(ctx context.Context, id int64) (gone bool, err error) {
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var left int64
		if err := tx.Model(&models.Recording{}).Where("user_id = ?", id).Count(&left).Error; err != nil || left > 0 {
			return err
		}
		if err := webhooks.HandOver(tx, id, s.moment()); err != nil {
			return err
		}
		gone = true
		return tx.Where("id = ? AND erasing_at IS NOT NULL", id).Delete(&models.User{}).Error
	})
	if err != nil {
		return false, fmt.Errorf("remove the row of account %d: %w", id, err)
	}
	return gone, nil
}

// Timeout bounds one attempt; the next goes on where it ended.
func (*AccountEraser) Timeout(*river.Job[EraseAccountArgs]) time.Duration { return time.Hour }

// NextRetry waits from 5 seconds to an hour, doubling.
func (e *AccountEraser) NextRetry(job *river.Job[EraseAccountArgs]) time.Time {
	return e.service.Now().Add(choreWait(len(job.Errors)))
}
