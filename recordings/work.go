package recordings

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/webhooks"
)

// TranscribeArgs asks for a recording to be transcribed.
type TranscribeArgs struct {
	RecordingID int64 `json:"recording_id"`
	// TokenID is the credential that asked for it, 0 for none: the ledger tells it.
	TokenID int64 `json:"token_id,omitempty"`
	// UserID is the account that asked for it, 0 for the recording's: it pays.
	UserID int64 `json:"user_id,omitempty"`
}

// Kind names the job.
func (TranscribeArgs) Kind() string { return "transcribe_recording" }

// How long a job waits when something that it needs was not to be had.
const (
	slotWait    = 2 * time.Second
	storageWait = 5 * time.Second
)

// providerPatience is how long a job waits, from its beginning, whenever the service says for how long it is busy. Later
// such an answer is a failed attempt like others: a service that is never free must not keep a recording for ever.
const providerPatience = 24 * time.Hour

// errNotWanted ends work early: the recording is gone, or another worker has it.
var errNotWanted = errors.New("the work is not wanted any more")

// errAccountDisabled ends work for an account that was disabled: the recording fails by it, and can be started again.
var errAccountDisabled = errors.New("the account of the recording is disabled")

var _ jobs.GivesUp[TranscribeArgs] = (*Transcription)(nil)

// RegisterWorkers tells the queue who works the jobs of recordings.
func RegisterWorkers(queue *jobs.Jobs, s *Recordings) {
	jobs.Register(queue, &Transcription{service: s})
	jobs.Register(queue, &Summarization{service: s})
	jobs.Register(queue, &Eraser{service: s})
	jobs.Register(queue, &AccountEraser{service: s})
	jobs.Register(queue, &Spreader{service: s})
	jobs.Register(queue, &Importer{service: s})
}

// Transcription is the worker that transcribes. How often it is tried, and when again, is the queue's affair.
type Transcription struct {
	river.WorkerDefaults[TranscribeArgs]
	service *Recordings
}

// Timeout bounds one attempt.
func (w *Transcription) Timeout(*river.Job[TranscribeArgs]) time.Duration {
	return w.service.WorkTimeout
}

// Work transcribes the recording of the job, if it still is the recording's job. It waits for one of the
// organization's slots and for room in the AI limits without ever failing by them; it holds the slot while it
// works and gives it back whatever happens.
func (w *Transcription) Work(ctx context.Context, job *river.Job[TranscribeArgs]) error {
	s, by := w.service, asker{job.Args.UserID, job.Args.TokenID}
	row, slot, token, err := s.begin(ctx, job.Args.RecordingID, job.ID, by, s.claim)
	if errors.Is(err, errNotWanted) {
		return nil
	}
	if err != nil {
		return err
	}
	defer slot.release(ctx)
	began := s.Now()
	working, stop := s.watch(ctx, slot, row, by, token)
	result, err := s.transcribe(working, s.purseFor(row, by), &row, token)
	stop()
	if err == nil {
		err = s.finish(ctx, row, by, token, began, result)
	}
	switch {
	case err == nil, errors.Is(err, errNotWanted), errors.Is(context.Cause(working), errNotWanted):
		return nil
	case errors.Is(context.Cause(working), errAccountDisabled):
		return river.JobCancel(errAccountDisabled)
	case errors.Is(err, media.ErrBusy):
		return river.JobSnooze(storageWait) // the machine's fault, not the recording's
	case permanent(err):
		return river.JobCancel(err)
	}
	if wait := providers.Wait(err); wait > 0 && s.Now().Sub(job.CreatedAt) < providerPatience {
		s.Logger.InfoContext(ctx, "the speech service asks to wait; the recording does", "recording", row.ID, "wait", wait)
		return river.JobSnooze(wait)
	}
	return err
}

// GaveUp is told when there will be no further attempt: the recording fails, with its reason.
func (w *Transcription) GaveUp(ctx context.Context, job *river.Job[TranscribeArgs], cause error) error {
	code, message := reason(cause)
	return w.service.fail(ctx, job.Args.RecordingID, job.ID, failure{webhooks.TranscriptionFailed, code, message, cause})
}

// begin finds the recording whose present job this is, waits for one of the organization's slots and for room in the AI
// limits, and claims it. The slot is the caller's to release.
func (s *Recordings) begin(
	ctx context.Context, id, jobID int64, by asker, claim func(context.Context, *models.Recording) (string, error),
) (row models.Recording, slot *held, token string, err error) {
	if row, err = s.waiting(ctx, id, jobID); err != nil {
		return row, nil, "", err
	}
	if err = s.mayAsk(ctx, row, by); err != nil {
		return row, nil, "", err
	}
	if slot, err = s.takeSlot(ctx, s.Slots, row); err != nil {
		return row, nil, "", err
	}
	if err = s.charge(ctx, row, by); err == nil {
		token, err = claim(ctx, &row)
	}
	if err != nil {
		slot.release(ctx)
		return row, nil, "", err
	}
	return row, slot, token, nil
}

// waiting finds the recording whose present job this is.
func (s *Recordings) waiting(ctx context.Context, id, jobID int64) (models.Recording, error) {
	var rows []models.Recording
	err := s.db.Read.WithContext(ctx).Where("id = ? AND job_id = ? AND status IN ?", id, jobID, unfinished()).
		Limit(1).Find(&rows).Error
	if err != nil {
		return models.Recording{}, s.later(ctx, "find the recording", err)
	}
	if len(rows) == 0 {
		return models.Recording{}, errNotWanted
	}
	return rows[0], nil
}

// unfinished are the states of recordings that have a job, of whichever kind.
func unfinished() []string {
	return []string{StatusPending, StatusQueued, StatusProcessing, StatusSummarizing}
}

// charge takes one unit of the AI limits for work that no request was charged for. The claim that
// follows notes it, so that no later attempt charges again.
func (s *Recordings) charge(ctx context.Context, row models.Recording, by asker) error {
	if row.AICharged {
		return nil
	}
	wait, err := s.Allowance.ChargeWork(ctx, by.account(row), row.OrganizationID)
	if err != nil {
		s.Logger.WarnContext(ctx, "the AI limits could not be asked for a job; it waits", "recording", row.ID, "error", err.Error())
		return river.JobSnooze(storageWait)
	}
	if wait > 0 {
		return river.JobSnooze(wait)
	}
	return nil
}

// claim moves the recording to PROCESSING and fences it. The first claim of a transcription announces that it started.
func (s *Recordings) claim(ctx context.Context, row *models.Recording) (token string, err error) {
	return s.claimed(ctx, *row, "transcription started", func(tx *gorm.DB, token string) error {
		title, now, ok, err := s.moved(tx, row.ID)
		if err != nil {
			return err
		}
		if !ok {
			return errNotWanted
		}
		started := tx.Model(&models.Recording{}).
			Where("id = ? AND job_id = ? AND status IN ?", row.ID, row.JobID, []string{StatusPending, StatusQueued}).
			UpdateColumns(map[string]any{"status": StatusProcessing, "work_token": token, "ai_charged": true, "updated_at": now})
		if started.Error != nil {
			return started.Error
		}
		if started.RowsAffected == 1 {
			row.Status, row.Title, row.UpdatedAt = StatusProcessing, title, now
			return s.announce(tx, webhooks.TranscriptionStarted, *row, nil)
		}
		return fence(tx, *row, StatusProcessing, token)
	})
}

// claimed gives a recording's work to this worker alone, by a change that writes the token.
func (s *Recordings) claimed(
	ctx context.Context, row models.Recording, started string, change func(tx *gorm.DB, token string) error,
) (token string, err error) {
	token = rand.Text()
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error { return change(tx, token) })
	if errors.Is(err, errNotWanted) {
		return "", errNotWanted
	}
	if err != nil {
		return "", s.later(ctx, "claim the recording", err)
	}
	s.Logger.InfoContext(ctx, started, "recording", row.ID, "job", row.JobID)
	return token, nil
}

// fence keeps whoever worked on a recording before from finishing, if it still is in that state with that job.
func fence(tx *gorm.DB, row models.Recording, status, token string) error {
	fenced := tx.Model(&models.Recording{}).
		Where("id = ? AND job_id = ? AND status = ?", row.ID, row.JobID, status).
		UpdateColumns(map[string]any{"work_token": token, "ai_charged": true})
	if fenced.Error == nil && fenced.RowsAffected == 0 {
		return errNotWanted
	}
	return fenced.Error
}

// announce writes an event about the recording as it stands in row.
func (s *Recordings) announce(tx *gorm.DB, event webhooks.Type, row models.Recording, more map[string]any) error {
	data := map[string]any{"recording_id": row.ID, "title": row.Title, "updated_at": row.UpdatedAt}
	for name, value := range more {
		data[name] = value
	}
	return webhooks.Announce(tx, webhooks.Event{
		Type: event, OrganizationID: row.OrganizationID, UserID: row.UserID, RecordingID: row.ID,
		Data: data, OccurredAt: row.UpdatedAt,
	})
}

// later puts the job back for a moment when the database cannot be asked now: that is no failure of the recording.
func (s *Recordings) later(ctx context.Context, attempt string, err error) error {
	if models.IsBusy(err) && ctx.Err() == nil {
		s.Logger.WarnContext(ctx, "the database could not be asked for a job; it waits", "attempt", attempt, "error", err.Error())
		return river.JobSnooze(storageWait)
	}
	return fmt.Errorf("%s: %w", attempt, err)
}
