package recordings

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Transcribe queues a new transcription of a recording that the caller may change and gives the job's id. Hints that are
// given replace the recording's; the present transcript, summary and events are gone at once, as the contract has it, but
// for a summary that is approved, and its events.
// The request was charged by the guard, so that the job charges nothing. A recording that waits or is worked on is an
// invalid_state, one without audio not_found; one for which the budget has no room is budget_exceeded, and nothing is
// changed.
func (s *Recordings) Transcribe(
	ctx context.Context, p auth.Principal, purse budgets.Purse, id int64, hints Hints,
) (jobID int64, err error) {
	hints, err = hints.check()
	if err == nil {
		err = s.mayName(hints)
	}
	if err != nil {
		return 0, err
	}
	if made, ok := idempotency.Made(ctx, id); ok {
		return made, nil // by an attempt of this very request that did not come to answer
	}
	if err := s.affords(ctx, p, purse, id, hints); err != nil {
		return 0, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		// Locked, lest the audio be removed between the look at it and the job for it.
		row, err := s.editable(locking(tx), p, id)
		if err != nil {
			return err
		}
		if row.StorageKey == "" || row.AudioDeletedAt != nil {
			return noAudio()
		}
		if err := s.requeue(tx, &row, hints); err != nil {
			return err
		}
		if err := s.enqueue(ctx, tx, &row, asker{p.UserID(), purse.TokenID()}.transcription()); err != nil {
			return err
		}
		jobID = row.JobID
		return idempotency.Note(ctx, tx, row.ID, jobID)
	})
	if err != nil {
		return 0, unavailable("queue the transcription", err)
	}
	return jobID, nil
}

// affords refuses a transcription for which there is no room now, where it can be told.
func (s *Recordings) affords(ctx context.Context, p auth.Principal, purse budgets.Purse, id int64, hints Hints) error {
	work, known, err := s.transcription(ctx, p, id, hints)
	if err != nil || !known {
		return err
	}
	if err := purse.About(id).Affords(ctx, work); err != nil {
		return unavailable("look into the budget", err)
	}
	return nil
}

// transcription is what a new transcription can use. It is known of a recording that rests, has its audio and was
// measured.
func (s *Recordings) transcription(ctx context.Context, p auth.Principal, id int64, hints Hints) (work budgets.Work, known bool, err error) {
	row, err := s.editable(s.db.Read.WithContext(ctx), p, id)
	if err != nil {
		return budgets.Work{}, false, err
	}
	if row.AudioDuration == nil || row.AudioDeletedAt != nil || slices.Contains(unfinished(), row.Status) {
		return budgets.Work{}, false, nil
	}
	applyHints(&row, hints)
	at, err := placedAt(s.db.Read.WithContext(ctx), row)
	if err != nil {
		return budgets.Work{}, false, unavailable("read the tags and the folder", err)
	}
	length := time.Duration(math.Round(*row.AudioDuration * float64(time.Second)))
	return s.Transcriber.Priced(length, requestOf(s.byDefault(withDefaults(row, at.tags, at.folder)))), true, nil
}

// requeue moves the row to QUEUED if it rests, whoever else tries the same, and takes its old results away.
func (s *Recordings) requeue(tx *gorm.DB, row *models.Recording, hints Hints) error {
	applyHints(row, hints)
	columns := map[string]any{
		"status": StatusQueued, "work_token": "", "ai_charged": true,
		"error_message": nil, "error_code": nil, "completed_at": nil,
		"processing_seconds": nil, "transcription_duration_seconds": nil,
		"language": row.Language, "hotwords": row.Hotwords, "initial_prompt": row.InitialPrompt, "model": row.Model,
		"min_speakers": row.MinSpeakers, "max_speakers": row.MaxSpeakers,
		"updated_at": later(row.UpdatedAt, s.moment()),
	}
	results := []any{&models.Transcript{}}
	if !approved(*row) { // what was approved stays, and the events that came with it
		columns["summary"], columns["summarization_duration_seconds"] = nil, nil
		results = append(results, &models.RecordingEvent{})
	}
	moved := tx.Model(&models.Recording{}).
		Where("id = ? AND status IN ?", row.ID, []string{StatusCompleted, StatusFailed}).
		UpdateColumns(columns)
	if moved.Error != nil {
		return fmt.Errorf("queue the recording: %w", moved.Error)
	}
	if moved.RowsAffected == 0 {
		return problems.New(problems.InvalidState, "The recording is already being processed.")
	}
	for _, result := range results {
		if err := tx.Where("recording_id = ?", row.ID).Delete(result).Error; err != nil {
			return fmt.Errorf("remove the old results: %w", err)
		}
	}
	return nil
}
