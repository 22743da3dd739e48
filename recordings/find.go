package recordings

import (
	"context"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// Detail is one recording with what belongs to it.
type Detail struct {
	Recording Recording
	// Transcription is the transcript for reading, nil where there is none or the caller may not read.
	Transcription *string
	Copies        []Copy
	Events        []CalendarEvent
}

// Find gives a recording that the caller may see; withTranscript asks for its text too.
func (s *Recordings) Find(ctx context.Context, p auth.Principal, id int64, withTranscript bool) (Detail, error) {
	db := s.db.Read.WithContext(ctx)
	row, err := s.visible(db, p, id)
	if err != nil {
		return Detail{}, err
	}
	shown := []Recording{view(p, row)}
	if err := attach(db, p, shown); err != nil {
		return Detail{}, err
	}
	detail := Detail{Recording: shown[0]}
	if detail.Copies, err = copies(db, p, row); err != nil {
		return Detail{}, err
	}
	if detail.Events, err = eventsOf(db, p, id); err != nil {
		return Detail{}, err
	}
	if withTranscript && p.MayRead() {
		transcript, found, err := loadTranscript(db, row)
		if err != nil {
			return Detail{}, err
		}
		if text := transcript.PlainText(); found && text != "" {
			detail.Transcription = &text
		}
	}
	return detail, nil
}

// Progress is how far a recording is.
type Progress struct {
	ID            int64
	Status        string
	QueuePosition *int
	ErrorMessage  *string
	ErrorCode     *string
	CompletedAt   *time.Time
	// Import is nil for a recording that waits for no file.
	Import *ImportProgress
}

// Status gives the progress of a recording that the caller may see.
func (s *Recordings) Status(ctx context.Context, p auth.Principal, id int64) (Progress, error) {
	row, err := s.visible(s.db.Read.WithContext(ctx), p, id)
	if err != nil {
		return Progress{}, err
	}
	shown := view(p, row)
	progress := Progress{
		ID: row.ID, Status: row.Status, ErrorMessage: shown.ErrorMessage, ErrorCode: row.ErrorCode, CompletedAt: row.CompletedAt,
	}
	if progress.Import, err = s.importProgress(ctx, row); err != nil {
		return Progress{}, err
	}
	if waits(row) {
		position, ok, err := s.Queue.Position(ctx, row.JobID)
		if err != nil {
			return Progress{}, unavailable("ask for the place in the queue", err)
		}
		if ok {
			progress.QueuePosition = &position
		}
	}
	return progress, nil
}

func waits(row models.Recording) bool {
	return row.JobID != 0 && (row.Status == StatusPending || row.Status == StatusQueued)
}
