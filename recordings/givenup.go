package recordings

import (
	"context"
	"encoding/json"
	"fmt"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// RetryJob tries a job again that gave up, of an organization or, where that is 0, of any. What transcribes or summarizes
// begins anew as if its owner asked for it: the recording must still have failed by it, money is held again, and the AI
// limits are charged. Other jobs go on where they ended.
func (s *Recordings) RetryJob(ctx context.Context, organizationID, id int64) error {
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		job, found, err := s.Queue.FindGivenUp(tx, organizationID, id)
		if err != nil {
			return err
		}
		if !found {
			return noJob()
		}
		switch job.Kind {
		case TranscribeArgs{}.Kind(), SummarizeArgs{}.Kind():
			return s.beginAnew(ctx, tx, job)
		}
		put, err := s.Queue.TryAgain(tx, id)
		if err == nil && !put {
			err = noJob()
		}
		return err
	})
	if err != nil {
		return unavailable("try a job again", err)
	}
	return nil
}

// DiscardJob forgets a job that gave up, of an organization or, where that is 0, of any.
func (s *Recordings) DiscardJob(ctx context.Context, organizationID, id int64) error {
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		_, found, err := s.Queue.FindGivenUp(tx, organizationID, id)
		if err == nil && found {
			found, err = s.Queue.Discard(tx, id)
		}
		if err == nil && !found {
			err = noJob()
		}
		return err
	})
	if err != nil {
		return unavailable("discard a job", err)
	}
	return nil
}

func noJob() *problems.Error {
	return problems.New(problems.NotFound, "There is no such job that gave up.")
}

// beginAnew takes the old job away and puts a new one in its place. The row is locked first: of two who retry one job, and
// an owner who starts the recording again, one succeeds.
func (s *Recordings) beginAnew(ctx context.Context, tx *gorm.DB, job jobs.GivenUp) error {
	var rows []models.Recording
	if err := locking(tx).Where("id = ?", job.RecordingID).Limit(1).Find(&rows).Error; err != nil {
		return fmt.Errorf("lock the recording: %w", err)
	}
	gone, err := s.Queue.Discard(tx, job.ID)
	if err != nil {
		return err
	}
	if !gone || len(rows) == 0 {
		return noJob()
	}
	row := rows[0]
	owner, err := accountOf(tx, row.UserID)
	if err != nil {
		return err
	}
	if owner.DisabledAt != nil {
		return problems.New(problems.InvalidState, "The account of the recording is disabled.")
	}
	if row.Status != StatusFailed {
		return problems.New(problems.InvalidState, "The recording has been started again since, or is done.")
	}
	var transcripts int64
	if err := tx.Model(&models.Transcript{}).Where("recording_id = ?", row.ID).Count(&transcripts).Error; err != nil {
		return fmt.Errorf("look for the transcript: %w", err)
	}
	if job.Kind == (SummarizeArgs{}).Kind() {
		return s.summarizeAnew(ctx, tx, row, job, transcripts > 0)
	}
	return s.transcribeAnew(ctx, tx, row, job, transcripts > 0)
}

func (s *Recordings) summarizeAnew(ctx context.Context, tx *gorm.DB, row models.Recording, job jobs.GivenUp, transcribed bool) error {
	if !transcribed {
		return problems.New(problems.InvalidState, "The recording has no transcript to summarize.")
	}
	var args SummarizeArgs
	if err := json.Unmarshal([]byte(job.Args), &args); err != nil {
		return fmt.Errorf("read what job %d was asked: %w", job.ID, err)
	}
	return s.queueSummary(ctx, tx, &row, args, false)
}

func (s *Recordings) transcribeAnew(ctx context.Context, tx *gorm.DB, row models.Recording, job jobs.GivenUp, transcribed bool) error {
	if transcribed {
		return problems.New(problems.InvalidState, "The recording has its transcript.")
	}
	if row.StorageKey == "" || row.AudioDeletedAt != nil {
		return noAudio()
	}
	var args TranscribeArgs
	if err := json.Unmarshal([]byte(job.Args), &args); err != nil {
		return fmt.Errorf("read what job %d was asked: %w", job.ID, err)
	}
	if err := s.requeue(tx, &row, Hints{}); err != nil {
		return err
	}
	// No request was charged for it: the job is.
	if err := tx.Model(&models.Recording{}).Where("id = ?", row.ID).UpdateColumn("ai_charged", false).Error; err != nil {
		return fmt.Errorf("note that nothing was charged: %w", err)
	}
	return s.enqueue(ctx, tx, &row, args)
}
