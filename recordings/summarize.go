package recordings

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/speech"
)

// SummarizeArgs asks for a recording to be summarized, and for what goes with it: a title where it has none, and
// appointments where the account wants them.
type SummarizeArgs struct {
	RecordingID int64 `json:"recording_id"`
	// TokenID is the credential that asked for it, 0 for none: the ledger tells it.
	TokenID int64 `json:"token_id,omitempty"`
	// UserID is the account that asked for it, 0 for the recording's: it pays.
	UserID    int64             `json:"user_id,omitempty"`
	Prompt    *string           `json:"prompt,omitempty"`
	Append    bool              `json:"append,omitempty"`
	Variables map[string]string `json:"variables,omitempty"`
}

// Kind names the job.
func (SummarizeArgs) Kind() string { return "summarize_recording" }

func (a SummarizeArgs) asker() asker { return asker{a.UserID, a.TokenID} }

// Summarize queues a new summary of a recording that the caller may change and gives the job's id. The present summary and
// events are gone at once, as the contract has it. The request was charged by the guard, so that the job charges nothing.
// It is refused, and nothing changed, where the recording waits or is worked on or says too little (invalid_state),
// where no model can do it, and where the budget has no room for what it can cost.
func (s *Recordings) Summarize(
	ctx context.Context, p auth.Principal, purse budgets.Purse, id int64, told Instructions,
) (jobID int64, err error) {
	if err := told.check(s.TextBounds.InputChars); err != nil {
		return 0, err
	}
	if made, ok := idempotency.Made(ctx, id); ok {
		return made, nil // by an attempt of this very request that did not come to answer
	}
	if err := s.summarizable(ctx, p, purse.About(id), id, told); err != nil {
		return 0, err
	}
	args := SummarizeArgs{
		RecordingID: id, TokenID: purse.TokenID(), UserID: p.UserID(),
		Prompt: told.Prompt, Append: told.Append, Variables: told.Variables,
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		row, err := s.editable(locking(tx), p, id)
		if err != nil {
			return err
		}
		if err := s.queueSummary(ctx, tx, &row, args, true); err != nil {
			return err
		}
		jobID = row.JobID
		return idempotency.Note(ctx, tx, row.ID, jobID)
	})
	if err != nil {
		return 0, unavailable("queue the summary", err)
	}
	return jobID, nil
}

// summarizable refuses a summary that could not be made now: nothing is queued for it, and nothing it has is dropped.
func (s *Recordings) summarizable(ctx context.Context, p auth.Principal, purse budgets.Purse, id int64, told Instructions) error {
	db := s.db.Read.WithContext(ctx)
	row, err := s.editable(db, p, id)
	if err != nil {
		return err
	}
	switch {
	case !rests(row):
		return atWork()
	case approved(row):
		return isApproved(row)
	}
	words, err := s.spokenIn(db, row)
	if err != nil {
		return err
	}
	if err := s.can(budgets.Summarizing); err != nil {
		return err
	}
	at, err := s.aroundOf(db, row)
	if err != nil {
		return unavailable("read what the summary is about", err)
	}
	if err := s.Text.Affords(ctx, purse, budgets.Summarizing, s.most(s.summaryErrand(row, words, at, told))); err != nil {
		return unavailable("look into the budget", err)
	}
	return nil
}

// hasMatter reports whether a summary can be made of a recording.
func (s *Recordings) hasMatter(ctx context.Context, p auth.Principal, id int64) (bool, error) {
	db := s.db.Read.WithContext(ctx)
	row, err := s.editable(db, p, id)
	if err != nil {
		return false, err
	}
	_, err = s.spokenIn(db, row)
	if problems.Is(err, problems.InvalidState) {
		return false, nil
	}
	return err == nil && s.can(budgets.Summarizing) == nil, err
}

func rests(row models.Recording) bool {
	return row.Status == StatusCompleted || row.Status == StatusFailed
}

func atWork() *problems.Error {
	return problems.New(problems.InvalidState, "The recording is already being processed.")
}

// queueSummary gives a recording whose row is locked its summary's job, and takes the old summary and events away. The
// job charges the AI limits unless the request was charged for it.
func (s *Recordings) queueSummary(ctx context.Context, tx *gorm.DB, row *models.Recording, args SummarizeArgs, charged bool) error {
	switch {
	case !rests(*row):
		return atWork()
	case approved(*row):
		return isApproved(*row)
	}
	if err := tx.Where("recording_id = ?", row.ID).Delete(&models.RecordingEvent{}).Error; err != nil {
		return fmt.Errorf("remove the old events: %w", err)
	}
	job, err := s.Queue.Enqueue(ctx, tx, args, nil)
	if err != nil {
		return fmt.Errorf("enqueue the summary: %w", err)
	}
	moved := later(row.UpdatedAt, s.moment())
	err = tx.Model(&models.Recording{}).Where("id = ?", row.ID).UpdateColumns(map[string]any{
		"status": StatusSummarizing, "job_id": job, "work_token": "", "ai_charged": charged,
		"error_message": nil, "error_code": nil, "summary": nil, "completed_at": nil, "summarization_duration_seconds": nil,
		"updated_at": moved,
	}).Error
	if err != nil {
		return fmt.Errorf("queue the recording: %w", err)
	}
	row.Status, row.JobID, row.Summary, row.UpdatedAt = StatusSummarizing, job, nil, moved
	return nil
}

// afterTranscript is how a recording goes on that has its transcript now: it is summarized if the server and its account
// let recordings be summarized by themselves, if enough was said, if there is a model that can, and if no summary of it was
// approved; else it is complete.
func (s *Recordings) afterTranscript(ctx context.Context, tx *gorm.DB, row models.Recording, by asker, done result) (map[string]any, error) {
	user, err := accountOf(tx, row.UserID)
	if err != nil {
		return nil, err
	}
	wanted := s.AutoSummaries && !s.standing().DisableAutoSummarization && (user.AutoSummarization == nil || *user.AutoSummarization)
	kept, err := stillApproved(tx, row.ID)
	if err != nil {
		return nil, err
	}
	said := done.transcript
	enough := saysEnough(said.Kind, said.Text, said.Segments, func(segment speech.Segment) string { return segment.Text })
	if can := s.can(budgets.Summarizing) == nil; !wanted || !can || !enough || kept {
		return map[string]any{"status": StatusCompleted, "completed_at": s.moment(), "job_id": int64(0)}, nil
	}
	job, err := s.Queue.Enqueue(ctx, tx, SummarizeArgs{RecordingID: row.ID, TokenID: by.tokenID, UserID: by.userID}, nil)
	if err != nil {
		return nil, fmt.Errorf("enqueue the summary: %w", err)
	}
	return map[string]any{"status": StatusSummarizing, "completed_at": nil, "job_id": job, "ai_charged": false}, nil
}
