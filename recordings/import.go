package recordings

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/sealed"
)

const (
	sourceImport = "import"
	// importPurpose is what addresses are sealed for: a secret may stand in them.
	importPurpose = "recording import"
)

// ImportOptions is how files are fetched from addresses that users chose.
type ImportOptions struct {
	// Strangers is the only way to them.
	Strangers *outbound.Strangers
	Sealed    *sealed.Keys
	// Timeout bounds one attempt, Stall how long the other side may send nothing, ProgressEvery the time between two
	// notes of how far an import is.
	Timeout, Stall, ProgressEvery time.Duration
}

// ImportWish is a file that is to be fetched, and what is said about it.
type ImportWish struct {
	Address string
	// Key is that of the request; empty for none.
	Key          string
	Title        string
	Notes        *string
	Participants *string
	MeetingDate  string
	Hints        Hints
	TagIDs       []int64
	FolderID     *int64
}

// ImportArgs asks for the file of a recording to be fetched.
type ImportArgs struct {
	RecordingID int64 `json:"recording_id"`
	// TokenID is the credential that asked for it, 0 for none.
	TokenID int64 `json:"token_id,omitempty"`
}

// Kind names the job.
func (ImportArgs) Kind() string { return "import_recording" }

// InsertOpts keeps files that somebody sends slowly from taking the places of transcriptions.
func (ImportArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: jobs.Imports} }

func (a ImportArgs) about(recordingID int64) river.JobArgs {
	a.RecordingID = recordingID
	return a
}

// unfetched reports whether a recording waits for its file, or never got it.
func unfetched(row models.Recording) bool {
	return given(row.Source) == sourceImport && row.StorageKey == "" && row.AudioDeletedAt == nil
}

// Import makes a recording whose file a job fetches. An address that may not be called is refused at once; it is judged
// again whenever it is called. A request with a key makes one recording however often it is sent.
func (s *Recordings) Import(ctx context.Context, p auth.Principal, wish ImportWish) (Uploaded, error) {
	said, err := wish.check()
	if err != nil {
		return Uploaded{}, err
	}
	same := hashed("import " + wish.Address)
	if wish.Key != "" {
		earlier, err := s.Keys.Bound(s.db.Read.WithContext(ctx), p.UserID(), wish.Key, same)
		if err != nil {
			return Uploaded{}, unavailable("look for an earlier import", err)
		}
		if earlier != 0 {
			return s.replay(ctx, p, earlier)
		}
	}
	if reason := s.Imports.Strangers.Judge(ctx, wish.Address, true); reason != "" {
		return Uploaded{}, problems.New(problems.InvalidParameter, "url is not called: %s.", reason.Meaning()).
			With("field", "url").With("reason", string(reason))
	}
	var accepted Uploaded
	row := s.awaited(p, wish.Address, said)
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := s.insert(ctx, tx, p, &row, said.wanted, &accepted, ImportArgs{TokenID: p.TokenID()}); err != nil {
			return err
		}
		address, err := s.Imports.Sealed.Seal(importPurpose, row.ID, wish.Address)
		if err != nil {
			return fmt.Errorf("seal the address: %w", err)
		}
		if err := tx.Create(&models.RecordingImport{RecordingID: row.ID, Address: address}).Error; err != nil {
			return fmt.Errorf("note the address: %w", err)
		}
		return s.bind(tx, &row, wish.Key, same)
	})
	if earlier := (replays{}); errors.As(err, &earlier) {
		return s.replay(ctx, p, earlier.recording)
	}
	if err != nil {
		return Uploaded{}, unavailable("queue the import", err)
	}
	return accepted, nil
}

// check holds what is said to the bounds of an upload.
func (w ImportWish) check() (about, error) {
	said := about{title: w.Title, notes: w.Notes, participants: w.Participants}
	for _, text := range []struct {
		name  string
		value string
		bound int
	}{
		{"title", w.Title, maxTitle}, {"notes", given(w.Notes), maxFieldBytes}, {"participants", given(w.Participants), maxParticipants},
	} {
		if err := problems.OfText(text.name, text.value, text.bound); err != nil {
			return about{}, err
		}
	}
	hints, err := w.Hints.check()
	if err != nil {
		return about{}, err
	}
	said.hints = hints
	if w.MeetingDate != "" {
		at, _, ok := ParseTime(w.MeetingDate)
		if !ok {
			return about{}, problems.New(problems.InvalidParameter, "meeting_date must be a date or date-time of ISO 8601.").With("field", "meeting_date")
		}
		said.meetingDate = &at
	}
	for _, id := range w.TagIDs {
		if !slices.Contains(said.wanted.tags, any(id)) {
			said.wanted.tags = append(said.wanted.tags, id)
		}
	}
	if w.FolderID != nil {
		said.wanted.folder = *w.FolderID
	}
	return said, checkTagIDs(w.TagIDs)
}

// awaited is the row of a recording whose file is still to be fetched. Its hash is nobody's: no other recording is a
// copy of it before there is anything to compare.
func (s *Recordings) awaited(p auth.Principal, address string, said about) models.Recording {
	var random [sha256.Size]byte
	rand.Read(random[:])
	now := s.moment()
	name := label("")
	if parsed, err := url.Parse(address); err == nil {
		name = label(path.Base(parsed.Path))
	}
	row := models.Recording{
		OrganizationID: p.OrganizationID(), UserID: p.UserID(), Source: optional(sourceImport),
		Title: &said.title, TitleByUser: said.title != "", Participants: said.participants, Notes: said.notes,
		Status: StatusPending, OriginalFilename: &name, SHA256: hex.EncodeToString(random[:]), MeetingDate: said.meetingDate,
		IsInbox: true, CreatedAt: now, UpdatedAt: now,
	}
	if said.title == "" {
		placeholder := shorten(placeholderTitle+name, maxTitle)
		row.Title = &placeholder
	}
	if row.MeetingDate == nil {
		row.MeetingDate = &now
	}
	applyHints(&row, said.hints)
	return row
}

// ImportProgress is how far the file of a recording is fetched.
type ImportProgress struct {
	Received int64
	// Total is nil while the other side has not said it.
	Total *int64
}

// importProgress is nil for a recording that waits for no file.
func (s *Recordings) importProgress(ctx context.Context, row models.Recording) (*ImportProgress, error) {
	if row.Status != StatusPending || !unfetched(row) {
		return nil, nil //nolint:nilnil // there is none, and that is no fault
	}
	var rows []models.RecordingImport
	err := s.db.Read.WithContext(ctx).Where("recording_id = ?", row.ID).Limit(1).Find(&rows).Error
	if err != nil {
		return nil, unavailable("ask how far the import is", err)
	}
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // it has just ended
	}
	return &ImportProgress{rows[0].ReceivedBytes, rows[0].TotalBytes}, nil
}
