package recordings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/webhooks"
)

var _ jobs.GivesUp[ImportArgs] = (*Importer)(nil)

// Importer is the worker that fetches files.
type Importer struct {
	river.WorkerDefaults[ImportArgs]
	service *Recordings
}

// Timeout bounds one attempt.
func (w *Importer) Timeout(*river.Job[ImportArgs]) time.Duration {
	return w.service.Imports.Timeout + time.Minute
}

// Work fetches the file of the recording, if it still waits for it, in one of the organization's slots for imports: slow
// senders must not take all places of this process, nor those in which the organization's recordings are transcribed.
func (w *Importer) Work(ctx context.Context, job *river.Job[ImportArgs]) error {
	s := w.service
	row, err := s.waiting(ctx, job.Args.RecordingID, job.ID)
	if errors.Is(err, errNotWanted) {
		return nil
	}
	if err != nil {
		return err
	}
	by := asker{row.UserID, job.Args.TokenID}
	if err := s.mayAsk(ctx, row, by); err != nil {
		return err
	}
	slot, err := s.takeSlot(ctx, s.Slots.Beside(jobs.Imports), row)
	if err != nil {
		return err
	}
	defer slot.release(ctx)
	token, err := s.claimImport(ctx, row)
	if errors.Is(err, errNotWanted) {
		return nil
	}
	if err != nil {
		return err
	}
	working, stop := s.watch(ctx, slot, row, by, token)
	file, err := s.download(working, row)
	if err == nil {
		err = s.imported(working, row, token, file, by)
	}
	stop()
	var busy notYet
	age := s.Now().Sub(job.CreatedAt)
	switch {
	case errors.Is(err, errNotWanted), errors.Is(context.Cause(working), errNotWanted):
		return nil
	case errors.Is(context.Cause(working), errAccountDisabled):
		return river.JobCancel(errAccountDisabled)
	case errors.Is(err, media.ErrBusy):
		return river.JobSnooze(storageWait)
	case permanent(err):
		return river.JobCancel(err)
	case errors.As(err, &busy) && age < providerPatience:
		return river.JobSnooze(busy.after(age)) // no attempt is spent on a server that says until when it is busy
	}
	return err
}

// GaveUp is told when there will be no further attempt: the recording fails, with its reason, and the address is
// forgotten.
func (w *Importer) GaveUp(ctx context.Context, job *river.Job[ImportArgs], cause error) error {
	s := w.service
	code, message := importReason(cause)
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		return tx.Where("recording_id = ?", job.Args.RecordingID).Delete(&models.RecordingImport{}).Error
	})
	if err != nil {
		return fmt.Errorf("forget the address of recording %d: %w", job.Args.RecordingID, err)
	}
	return s.fail(ctx, job.Args.RecordingID, job.ID, failure{webhooks.TranscriptionFailed, code, message, cause})
}

// claimImport fences the fetching, whose recording stays PENDING.
func (s *Recordings) claimImport(ctx context.Context, row models.Recording) (token string, err error) {
	return s.claimed(ctx, row, "import started", func(tx *gorm.DB, token string) error {
		fenced := tx.Model(&models.Recording{}).Where("id = ? AND job_id = ? AND status = ?", row.ID, row.JobID, StatusPending).
			UpdateColumn("work_token", token)
		if fenced.Error == nil && fenced.RowsAffected == 0 {
			return errNotWanted
		}
		return fenced.Error
	})
}

// importAgent is what an import calls itself: who keeps the logs of the other side can tell what came, and refuse it.
const importAgent = "Stenometer-Import/1.0"

// download fetches the file into the storage, within the bound of uploads.
func (s *Recordings) download(ctx context.Context, row models.Recording) (*incoming, error) {
	address, err := s.addressOf(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Imports.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, hopeless{notFetched{"import_address_refused"}}
	}
	request.Header.Set("User-Agent", importAgent)
	client := s.Imports.Strangers.Client(s.Imports.Timeout)
	defer client.CloseIdleConnections()
	stall := time.AfterFunc(s.Imports.Stall, cancel)
	defer stall.Stop()
	answer, err := client.Do(request)
	if err != nil {
		return nil, unreachable(err)
	}
	defer closing(answer.Body)
	if err := judgeAnswer(answer, s.MaxUploadBytes, s.Now()); err != nil {
		return nil, err
	}
	body := &progress{service: s, ctx: ctx, stall: stall, recording: row.ID, body: answer.Body}
	if answer.ContentLength > 0 {
		body.total = &answer.ContentLength
	}
	file, err := s.receive(ctx, filePart{given(row.OriginalFilename), body})
	switch {
	case problems.Is(err, problems.PayloadTooLarge):
		return nil, hopeless{notFetched{"import_too_large"}}
	case problems.Is(err, problems.InvalidMedia):
		return nil, hopeless{notFetched{"import_invalid_media"}}
	case err != nil && body.err != nil:
		return nil, unreachable(body.err)
	}
	return file, err
}

func (s *Recordings) addressOf(ctx context.Context, id int64) (string, error) {
	var rows []models.RecordingImport
	if err := s.db.Read.WithContext(ctx).Where("recording_id = ?", id).Limit(1).Find(&rows).Error; err != nil {
		return "", s.later(ctx, "find the address", err)
	}
	if len(rows) == 0 {
		return "", hopeless{notFetched{"internal"}}
	}
	address, err := s.Imports.Sealed.Open(importPurpose, id, rows[0].Address)
	if err != nil {
		return "", hopeless{fmt.Errorf("open the address: %w", err)}
	}
	return address, nil
}

// judgeAnswer refuses what is no file, and what is known to be too large, before any of it is read.
func judgeAnswer(answer *http.Response, most int64, now time.Time) error {
	switch status := answer.StatusCode; {
	case status >= 300 && status < 400:
		return hopeless{notFetched{"import_redirected"}}
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500:
		if wait := outbound.RetryAfter(answer.Header, now); wait > 0 {
			return notYet{notFetched{"import_status"}, wait}
		}
		return notFetched{"import_status"}
	case status != http.StatusOK:
		return hopeless{notFetched{"import_status"}}
	case answer.ContentLength > most:
		return hopeless{notFetched{"import_too_large"}}
	}
	return nil
}

// imported makes of the file what an upload would be, if the recording still waits for it.
func (s *Recordings) imported(ctx context.Context, row models.Recording, token string, file *incoming, by asker) error {
	kept, err := s.keepImport(ctx, row, token, file, by)
	if kept {
		file.forget()
	} else {
		file.discard(ctx)
	}
	return err
}

// keepImport gives the recording its file and its transcription, in one transaction. kept is that of accept.
func (s *Recordings) keepImport(ctx context.Context, row models.Recording, token string, file *incoming, by asker) (kept bool, err error) {
	info, err := s.Media.Probe(ctx, file.path)
	if errors.Is(err, media.ErrNotMedia) || errors.Is(err, media.ErrTooLong) {
		return false, hopeless{notFetched{"import_invalid_media"}}
	}
	if err != nil {
		return false, fmt.Errorf("look into the file: %w", err)
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		_, moved, ok, err := s.moved(tx, row.ID)
		if err != nil {
			return err
		}
		if !ok {
			return errNotWanted
		}
		columns := map[string]any{
			"status": StatusQueued, "mime_type": info.MIME, "file_size": file.size, "sha256": file.sum(),
			"storage_key": file.key, "updated_at": moved,
		}
		if err := s.end(tx, row.ID, token, StatusPending, columns); err != nil {
			return err
		}
		if err := tx.Where("recording_id = ?", row.ID).Delete(&models.RecordingImport{}).Error; err != nil {
			return fmt.Errorf("forget the address: %w", err)
		}
		if err := s.enqueue(ctx, tx, &row, by.transcription()); err != nil {
			return err
		}
		kept = true
		return nil
	})
	if err != nil && !errors.Is(err, errNotWanted) {
		return kept, s.later(ctx, "store the imported file", err)
	}
	return kept, err
}

// notFetched is a reason of the closed list why a file was not fetched. It never holds the address.
type notFetched struct{ code string }

func (n notFetched) Error() string { return n.code }

// notYet is the reason of a server that says how long to leave it alone.
type notYet struct {
	notFetched

	wait time.Duration
}

func (n notYet) Unwrap() error { return n.notFetched }

// after is when an import of an age asks again: as it is told, and ever later, so that a server which always says a second
// is not asked day and night.
func (n notYet) after(age time.Duration) time.Duration {
	return min(max(n.wait, age/10), outbound.MaxRetryAfter)
}

// unreachable names what went wrong on the way, without the address that the error of a client holds.
func unreachable(err error) error {
	var refused *outbound.Refused
	var network net.Error
	switch {
	case errors.As(err, &refused) && refused.Reason != outbound.NameUnknown:
		return hopeless{notFetched{"import_address_refused"}}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.As(err, &network) && network.Timeout():
		return notFetched{"import_timeout"}
	}
	return notFetched{"import_unreachable"}
}

// importReason tells the owner why an import failed: a stable code and our own words.
func importReason(err error) (code, message string) {
	var failed notFetched
	if !errors.As(err, &failed) {
		return reason(err)
	}
	for _, row := range ImportReasons() {
		if row.Code == failed.code {
			return row.Code, row.Meaning
		}
	}
	return reason(err)
}

// ImportReason is why a file was not fetched.
type ImportReason struct{ Code, Meaning string }

// ImportReasons is the closed list.
func ImportReasons() []ImportReason {
	return []ImportReason{
		{"import_address_refused", "The address is not one that this server calls."},
		{"import_unreachable", "The address could not be reached, or the connection broke."},
		{"import_redirected", "The address sends on to another; import that one."},
		{"import_status", "The address did not answer with a file."},
		{"import_timeout", "The file did not arrive in time."},
		{"import_too_large", "The file is larger than this server takes."},
		{"import_invalid_media", "What the address answered is not audio or video that can be decoded."},
	}
}

// progress reads the body of an answer and notes, at its first bytes and now and then, how far it is. Whoever sends nothing for too long is cut off.
type progress struct {
	service   *Recordings
	ctx       context.Context //nolint:containedctx // a reader has nowhere else to take it from
	stall     *time.Timer
	recording int64
	body      io.Reader
	received  int64
	total     *int64
	noted     time.Time
	err       error
}

func (p *progress) Read(buffer []byte) (int, error) {
	n, err := p.body.Read(buffer)
	p.received += int64(n)
	if n > 0 {
		p.stall.Reset(p.service.Imports.Stall)
	}
	if err != nil && err != io.EOF {
		p.err = err
		return n, err
	}
	if now := p.service.Now(); now.Sub(p.noted) >= p.service.Imports.ProgressEvery {
		p.noted = now
		p.note()
	}
	return n, err
}

// note is only for whoever watches: what cannot be noted is noted the next time.
func (p *progress) note() {
	err := p.service.db.Transaction(p.ctx, func(tx *gorm.DB) error {
		return tx.Model(&models.RecordingImport{}).Where("recording_id = ?", p.recording).
			UpdateColumns(map[string]any{"received_bytes": p.received, "total_bytes": p.total}).Error
	})
	if err != nil {
		p.service.Logger.DebugContext(p.ctx, "the progress of an import could not be noted", "recording", p.recording, "error", err.Error())
	}
}
