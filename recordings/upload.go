package recordings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/webhooks"
)

// Uploaded is the answer to an upload.
type Uploaded struct {
	Recording Recording
	// Tags and Folder are none for a caller that may not read.
	Tags    []Tag
	Folder  *Folder
	Ignored Ignored
	// Copies are the account's recordings of the same bytes, this one included; empty when it is the only one.
	Copies []Copy
	// Duplicate is the newest of the others, nil when there is none.
	Duplicate *Copy
	// Replayed tells that an earlier upload with the same key has made the recording, and this one nothing.
	Replayed bool
}

// Upload takes a multipart form with a file and what its fields say, in any order, and queues the transcription.
// The file is never held in memory. The recording, its job and its event come into being together, and only for a
// file that decodes; whatever else happens, nothing stays. An upload with a key, from the header or the form, makes
// one recording however often it is sent.
func (s *Recordings) Upload(ctx context.Context, p auth.Principal, body io.Reader, boundary, headerKey string) (Uploaded, error) {
	var file *incoming
	fields, err := readForm(body, boundary, func(part filePart, before form) error {
		if part.name == "" {
			return noFile()
		}
		said, err := readAbout(headerKey, before)
		if err != nil {
			return err
		}
		// With a key the earlier upload's recording may be the answer, whatever has become of its tags since.
		if said.key == "" {
			if err := s.takeable(ctx, p, said); err != nil {
				return err
			}
		}
		file, err = s.receive(ctx, part)
		return err
	})
	if err == nil && file == nil {
		err = noFile()
	}
	if file == nil {
		return Uploaded{}, err
	}
	var accepted Uploaded
	kept := false
	if err == nil {
		accepted, kept, err = s.accept(ctx, p, file, headerKey, fields)
	}
	if kept {
		file.forget()
	} else {
		file.discard(ctx)
	}
	return accepted, err
}

func noFile() *problems.Error {
	return problems.New(problems.InvalidParameter, "The form has no file: send it as a part named \"file\" with a file name.")
}

// accept makes a recording of a stored file. kept tells whether a recording may refer to the file: also after an
// error of which nobody knows whether the database took the transaction in. The sweeper removes it if it did not.
func (s *Recordings) accept(
	ctx context.Context, p auth.Principal, file *incoming, headerKey string, fields form,
) (accepted Uploaded, kept bool, err error) {
	said, err := readAbout(headerKey, fields)
	if err != nil {
		return Uploaded{}, false, err
	}
	if said.key != "" {
		earlier, err := s.Keys.Bound(s.db.Read.WithContext(ctx), p.UserID(), said.key, fingerprint(file))
		if err != nil {
			return Uploaded{}, false, unavailable("look for an earlier upload", err)
		}
		if earlier != 0 {
			accepted, err = s.replay(ctx, p, earlier)
			return accepted, false, err
		}
	}
	if err := s.takeable(ctx, p, said); err != nil {
		return Uploaded{}, false, err
	}
	accepted, kept, err = s.take(ctx, p, arrival{file: file, said: said}, func(tx *gorm.DB, row *models.Recording) error {
		return s.bind(tx, row, said.key, fingerprint(file))
	})
	if earlier := (replays{}); errors.As(err, &earlier) {
		accepted, err = s.replay(ctx, p, earlier.recording)
		return accepted, false, err
	}
	return accepted, kept, err
}

// arrival is a stored file, what is said about it, and what brought it in.
type arrival struct {
	file   *incoming
	said   about
	source string // "" for an upload
}

// take makes a recording of a file that decodes. With it comes into being what noted writes, which may end the
// transaction: by replays where the recording was made before. kept is that of accept.
func (s *Recordings) take(
	ctx context.Context, p auth.Principal, arrived arrival, noted func(tx *gorm.DB, row *models.Recording) error,
) (accepted Uploaded, kept bool, err error) {
	info, err := s.Media.Probe(ctx, arrived.file.path)
	if err != nil {
		return Uploaded{}, false, mediaProblem(err)
	}
	row := s.newRow(p, arrived.file, arrived.said, info)
	row.Source = optional(arrived.source)
	if err := s.checkReserve(); err != nil {
		return Uploaded{}, false, err
	}
	// The file may have taken hours to come: one whose credential has ended meanwhile is not kept.
	if _, err := p.Present(ctx); err != nil {
		return Uploaded{}, false, err //nolint:wrapcheck // the guard's refusal is the answer
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := s.insert(ctx, tx, p, &row, arrived.said.wanted, &accepted, askerOf(p).transcription()); err != nil {
			return err
		}
		if err := noted(tx, &row); err != nil {
			return err
		}
		refs, err := s.storeRefs(tx, p, &row, arrived.said.refs)
		if err != nil {
			return err
		}
		if p.MayRead() {
			accepted.Recording.ExternalRefs = refs
		}
		kept = true // from here on only the commit can fail, and it may have been done all the same
		return nil
	})
	if err != nil {
		return Uploaded{}, kept, unavailable("store the recording", err)
	}
	return accepted, true, nil
}

// mediaProblem tells a file that is no media from a probe that failed.
func mediaProblem(err error) error {
	if errors.Is(err, media.ErrBusy) {
		return problems.New(problems.Timeout, "The server was too busy to look into the file; try again.").
			Because(err).After(10 * time.Second)
	}
	if errors.Is(err, media.ErrNotMedia) || errors.Is(err, media.ErrTooLong) {
		return problems.New(problems.InvalidMedia, "The file is not audio or video that can be decoded.").Because(err)
	}
	return fmt.Errorf("look into the file: %w", err)
}

// newRow fills the row of a new recording.
func (s *Recordings) newRow(p auth.Principal, file *incoming, said about, info media.Info) models.Recording {
	now := s.moment()
	row := models.Recording{
		OrganizationID: p.OrganizationID(), UserID: p.UserID(),
		Title: &said.title, TitleByUser: said.title != "",
		Participants: said.participants, Notes: said.notes, MeetingDate: said.meetingDate, PromptVariables: said.variables,
		Status: StatusQueued, OriginalFilename: &file.name, MimeType: &info.MIME,
		FileSize: file.size, SHA256: file.sum(), StorageKey: file.key,
		IsInbox: true, CreatedAt: now, UpdatedAt: now,
	}
	if said.title == "" {
		placeholder := shorten(placeholderTitle+file.name, maxTitle)
		row.Title = &placeholder
	}
	// Recorders with an unset clock write the beginning of their epoch; that is no date.
	if made := info.CreatedAt; row.MeetingDate == nil && made.Year() >= 1990 && made.Before(now) {
		row.MeetingDate = &made
	}
	if row.MeetingDate == nil {
		row.MeetingDate = &now
	}
	applyHints(&row, said.hints)
	return row
}

// applyHints writes the given hints over a row's own; a blank one says that there is to be none, of a tag or the
// folder neither.
func applyHints(row *models.Recording, hints Hints) {
	for _, hint := range []struct{ to, given **string }{
		{&row.Language, &hints.Language},
		{&row.Hotwords, &hints.Hotwords},
		{&row.InitialPrompt, &hints.InitialPrompt},
		{&row.Model, &hints.Model},
	} {
		if *hint.given != nil {
			*hint.to = *hint.given
		}
	}
	if hints.MinSpeakers != nil {
		row.MinSpeakers = hints.MinSpeakers
	}
	if hints.MaxSpeakers != nil {
		row.MaxSpeakers = hints.MaxSpeakers
	}
}

// insert writes the recording, its tags, its job and its event.
func (s *Recordings) insert(
	ctx context.Context, tx *gorm.DB, p auth.Principal, row *models.Recording, asked wanted, accepted *Uploaded, work job,
) error {
	at, err := locate(tx, p, asked)
	if err != nil {
		return err
	}
	if at.folder != nil {
		row.FolderID = &at.folder.ID
	}
	// Not the moment before the wait for the database: followers of the feed may be past that one already.
	row.CreatedAt = s.moment()
	row.UpdatedAt = row.CreatedAt
	if err := tx.Create(row).Error; err != nil {
		return fmt.Errorf("insert the recording: %w", err)
	}
	if err := s.enqueue(ctx, tx, row, work); err != nil {
		return err
	}
	err = webhooks.Announce(tx, webhooks.Event{
		Type: webhooks.RecordingCreated, OrganizationID: row.OrganizationID, UserID: row.UserID, RecordingID: row.ID,
		Data: map[string]any{
			"recording_id": row.ID, "title": row.Title, "file_size": row.FileSize,
			"original_filename": row.OriginalFilename, "updated_at": row.UpdatedAt,
		},
		OccurredAt: row.CreatedAt,
	})
	if err != nil {
		return err
	}
	heard, err := s.heardAs(tx, *row, at)
	if err != nil {
		return err
	}
	accepted.Recording = view(p, heard)
	if err := at.put(tx, p, row.ID, accepted); err != nil {
		return err
	}
	accepted.Copies, err = copies(tx, p, *row)
	for i, other := range accepted.Copies {
		if !other.IsSelf {
			accepted.Duplicate = &accepted.Copies[i]
		}
	}
	return err
}

// job is work on a recording.
type job interface {
	about(recordingID int64) river.JobArgs
}

func (a TranscribeArgs) about(recordingID int64) river.JobArgs {
	a.RecordingID = recordingID
	return a
}

// enqueue gives the recording its job.
func (s *Recordings) enqueue(ctx context.Context, tx *gorm.DB, row *models.Recording, work job) error {
	id, err := s.Queue.Enqueue(ctx, tx, work.about(row.ID), nil)
	if err != nil {
		return fmt.Errorf("enqueue the work: %w", err)
	}
	row.JobID = id
	if err := tx.Model(row).UpdateColumn("job_id", id).Error; err != nil {
		return fmt.Errorf("note the job: %w", err)
	}
	return nil
}
