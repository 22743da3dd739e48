package recordings

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"gocloud.dev/gcerrors"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/webhooks"
)

// Delete removes a recording of the caller's own, in whatever state it is. Its rows go at once, its media by a job
// that repeats until it succeeds, and the work on it stops.
func (s *Recordings) Delete(ctx context.Context, p auth.Principal, id int64) error {
	var row models.Recording
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var err error
		// Locked, so that the moment, the title and the job below are those of the last change.
		if row, err = s.disposable(locking(tx), p, id); err != nil {
			return err
		}
		return s.remove(ctx, tx, row)
	})
	if err != nil {
		return unavailable("delete the recording", err)
	}
	s.cancelJob(ctx, row)
	return nil
}

// remove takes a recording away whose row is locked.
func (s *Recordings) remove(ctx context.Context, tx *gorm.DB, row models.Recording) error {
	at, err := s.bury(tx, row, ReasonDeleted)
	if err != nil {
		return err
	}
	// Transcript, segments and shares go with the recording.
	gone := tx.Where("id = ?", row.ID).Delete(&models.Recording{})
	if gone.Error != nil {
		return fmt.Errorf("delete the row: %w", gone.Error)
	}
	if gone.RowsAffected == 0 {
		return notFound()
	}
	if row.StorageKey != "" {
		if _, err := s.Queue.Enqueue(ctx, tx, EraseMediaArgs{StorageKey: row.StorageKey}, nil); err != nil {
			return fmt.Errorf("enqueue the erasure: %w", err)
		}
	}
	return webhooks.Announce(tx, webhooks.Event{
		Type: webhooks.RecordingDeleted, OrganizationID: row.OrganizationID, UserID: row.UserID, RecordingID: row.ID,
		Data: map[string]any{"recording_id": row.ID, "title": row.Title}, OccurredAt: at,
	})
}

// cancelJob ends the work on a recording that was removed. It is only for speed: the worker itself looks whether its
// recording is still there.
func (s *Recordings) cancelJob(ctx context.Context, row models.Recording) {
	if row.JobID == 0 {
		return
	}
	if err := s.Queue.Cancel(ctx, row.JobID); err != nil {
		s.Logger.WarnContext(ctx, "the job of a deleted recording could not be canceled", "recording", row.ID, "job", row.JobID, "error", err.Error())
	}
}

// EraseMediaArgs asks for a stored file to be erased.
type EraseMediaArgs struct {
	StorageKey string `json:"storage_key"`
}

// Kind names the job.
func (EraseMediaArgs) Kind() string { return "erase_media" }

// InsertOpts keeps the job until it has succeeded: at an hour a time, for months. Then the sweeper has it.
func (EraseMediaArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: jobs.Chores, MaxAttempts: 2500}
}

// Eraser erases stored files.
type Eraser struct {
	river.WorkerDefaults[EraseMediaArgs]
	service *Recordings
}

// Work erases the file; one that is not there is erased.
func (e *Eraser) Work(ctx context.Context, job *river.Job[EraseMediaArgs]) error {
	err := e.service.Files.Delete(ctx, job.Args.StorageKey)
	if err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("erase %s: %w", job.Args.StorageKey, err)
	}
	return nil
}

// Timeout bounds one attempt.
func (*Eraser) Timeout(*river.Job[EraseMediaArgs]) time.Duration { return 5 * time.Minute }

// NextRetry waits from 5 seconds to an hour, doubling.
func (e *Eraser) NextRetry(job *river.Job[EraseMediaArgs]) time.Time {
	return e.service.Now().Add(choreWait(len(job.Errors)))
}

// choreWait is the wait of a chore that failed so often: from 5 seconds to an hour, doubling.
func choreWait(failures int) time.Duration {
	if failures < 10 {
		return 5 * time.Second << failures
	}
	return time.Hour
}
