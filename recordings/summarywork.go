package recordings

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/webhooks"
)

var _ jobs.GivesUp[SummarizeArgs] = (*Summarization)(nil)

// Summarization is the worker that summarizes. How often it is tried, and when again, is the queue's affair.
type Summarization struct {
	river.WorkerDefaults[SummarizeArgs]
	service *Recordings
}

// Timeout bounds one attempt.
func (w *Summarization) Timeout(*river.Job[SummarizeArgs]) time.Duration {
	return w.service.WorkTimeout
}

// Work summarizes the recording of the job, if it still is the recording's job. It waits for slots and limits as a
// transcription does.
func (w *Summarization) Work(ctx context.Context, job *river.Job[SummarizeArgs]) error {
	s := w.service
	row, slot, token, err := s.begin(ctx, job.Args.RecordingID, job.ID, job.Args.asker(), s.claimSummary)
	if errors.Is(err, errNotWanted) {
		return nil
	}
	if err != nil {
		return err
	}
	defer slot.release(ctx)
	working, stop := s.watch(ctx, slot, row, job.Args.asker(), token)
	made, err := s.digest(working, row, job.Args)
	stop()
	if err == nil {
		err = s.finishSummary(ctx, row, token, made)
	}
	return s.afterAttempt(working, job, err)
}

// afterAttempt tells the queue what to do after an attempt at a text model.
func (s *Recordings) afterAttempt(working context.Context, job *river.Job[SummarizeArgs], err error) error {
	wait := providers.Wait(err)
	switch {
	case err == nil, errors.Is(err, errNotWanted), errors.Is(context.Cause(working), errNotWanted):
		return nil
	case errors.Is(context.Cause(working), errAccountDisabled):
		return river.JobCancel(errAccountDisabled)
	case problems.Is(err, problems.BudgetExceeded), problems.Is(err, problems.ModelUnavailable),
		problems.Is(err, problems.InvalidState), providers.IsPermanent(err):
		return river.JobCancel(err)
	case wait > 0 && s.Now().Sub(job.CreatedAt) < providerPatience:
		return river.JobSnooze(wait) // no attempt is spent on a service that says until when it is busy
	}
	return err
}

// GaveUp is told when there will be no further attempt: the recording fails, with its reason, and keeps its transcript.
func (w *Summarization) GaveUp(ctx context.Context, job *river.Job[SummarizeArgs], cause error) error {
	code, message := summaryReason(cause)
	return w.service.fail(ctx, job.Args.RecordingID, job.ID, failure{webhooks.SummaryFailed, code, message, cause})
}

// claimSummary fences the recording, which is SUMMARIZING since the summary was queued.
func (s *Recordings) claimSummary(ctx context.Context, row *models.Recording) (token string, err error) {
	return s.claimed(ctx, *row, "summary started", func(tx *gorm.DB, token string) error {
		return fence(tx, *row, StatusSummarizing, token)
	})
}

// digest is what an attempt brought.
type digest struct {
	summary string
	title   string // "" for none
	// events replace those that the recording has, unless they are nil.
	events []models.RecordingEvent
	took   time.Duration
}

// digest asks for the summary first: it alone can fail the recording, so that an attempt after it pays for nothing
// twice. A title or appointments that cannot be had are left out, also where the queue is stopping or time is up: the
// summary that is there would be paid for again.
func (s *Recordings) digest(ctx context.Context, row models.Recording, args SummarizeArgs) (digest, error) {
	if err := s.can(budgets.Summarizing); err != nil {
		return digest{}, err
	}
	began := s.Now()
	db := s.db.Read.WithContext(ctx)
	words, err := s.spokenIn(db, row)
	if err != nil {
		return digest{}, err
	}
	at, err := s.aroundOf(db, row)
	if err != nil {
		return digest{}, s.later(ctx, "read what the summary is about", err)
	}
	purse := s.purseFor(row, args.asker())
	var made digest
	if made.summary, err = s.summary(ctx, purse, row, words, at, args); err != nil {
		return digest{}, err
	}
	if wantsTitle(row) && s.can(budgets.Titling) == nil {
		made.title, err = s.titleFor(ctx, purse, row, words, at)
		s.leaveOut(ctx, row, "title", err)
	}
	if at.user.ExtractEvents && s.can(budgets.ExtractingEvents) == nil {
		made.events, err = s.eventsIn(ctx, purse, row, words, at)
		s.leaveOut(ctx, row, "events", err)
	}
	made.took = s.Now().Sub(began)
	return made, nil
}

func (s *Recordings) leaveOut(ctx context.Context, row models.Recording, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.Logger.WarnContext(ctx, "a summary goes without a part", "recording", row.ID, "part", what, "error", err.Error())
	}
}

// finishSummary stores what was made and completes the recording in one transaction, if the work still is this
// worker's. It goes through with it as finish does: the words have been paid for.
func (s *Recordings) finishSummary(ctx context.Context, row models.Recording, token string, made digest) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err := s.persist(ctx, func(tx *gorm.DB) error {
		var rows []models.Recording
		if err := locking(tx).Where("id = ?", row.ID).Limit(1).Find(&rows).Error; err != nil {
			return fmt.Errorf("lock the recording: %w", err)
		}
		if len(rows) == 0 {
			return errNotWanted
		}
		now := rows[0]
		now.UpdatedAt = later(now.UpdatedAt, s.moment())
		now.SummarizationDurationSeconds = new(int64(math.Round(made.took.Seconds())))
		columns := map[string]any{
			"status": StatusCompleted, "job_id": int64(0), "completed_at": s.moment(), "updated_at": now.UpdatedAt,
			"error_message": nil, "error_code": nil,
			"summarization_duration_seconds": now.SummarizationDurationSeconds,
		}
		if given(now.Summary) == "" { // nobody has written one meanwhile
			columns["summary"] = made.summary
		}
		if made.title != "" && wantsTitle(now) { // nor typed a title
			now.Title, columns["title"] = &made.title, made.title
		}
		if err := s.end(tx, row.ID, token, StatusSummarizing, columns); err != nil {
			return err
		}
		if _, err := s.syncGroupShares(tx, &now, true); err != nil {
			return err
		}
		if err := s.storeEvents(tx, now, made.events); err != nil {
			return err
		}
		return s.announceSummary(tx, now)
	})
	if err != nil && !errors.Is(err, errNotWanted) {
		return fmt.Errorf("store the summary of recording %d: %w", row.ID, err)
	}
	return err
}

// announceSummary tells that the recording has its summary.
func (s *Recordings) announceSummary(tx *gorm.DB, row models.Recording) error {
	var transcripts []models.Transcript
	err := tx.Select("language").Where("recording_id = ?", row.ID).Limit(1).Find(&transcripts).Error
	if err != nil {
		return fmt.Errorf("read the language: %w", err)
	}
	more := map[string]any{
		"audio_duration_seconds": row.AudioDuration, "transcription_duration_seconds": row.TranscriptionDurationSeconds,
		"summarization_duration_seconds": row.SummarizationDurationSeconds,
	}
	if len(transcripts) > 0 {
		more["language"] = transcripts[0].Language
	}
	return s.announce(tx, webhooks.SummaryCompleted, row, more)
}

// summaryReason tells the owner why a summary failed: a stable code and our own words.
func summaryReason(err error) (code, message string) {
	var refused *providers.Error
	var problem *problems.Error
	switch {
	case errors.As(err, &refused):
		return string(refused.Kind), refused.Error()
	case errors.As(err, &problem) && problem.Kind.Status() < 500, problems.Is(err, problems.ModelUnavailable):
		told := problems.Of(err)
		return told.Kind.Code(), told.Message
	case errors.Is(err, errAccountDisabled):
		return disabledReason()
	case errors.Is(err, jobs.ErrKilled):
		return "interrupted", "The server stopped each time that it worked on the summary."
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout", "The summary took longer than the server allows."
	}
	return "internal", "The summary failed on the server; its log has the reason."
}
