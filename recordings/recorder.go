package recordings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/spool"
)

const (
	sourceRecorder = "asr_voice_recorder"
	// maxRecorderName bounds a recorder's file name, its extension included.
	maxRecorderName = 180
	// millisecondsFrom is the least number that is a time in milliseconds: as seconds it lies in the year 5138.
	millisecondsFrom = 1e11
)

// Admission finds who a secret belongs to, and takes the room of their limits.
type Admission func(ctx context.Context, secret string) (auth.Principal, error)

// Recorded is the answer to a phone recorder.
type Recorded struct {
	Uploaded
	// Test tells that nothing was sent but a good secret.
	Test bool
}

// Record takes the form of a phone recorder, whose sender is known by the field secret. Where that comes before the file,
// nothing of the file is stored unless its sender is let in; where it comes after, the file waits in the spool. A file
// that is sent again with the same name, note and date is the recording that it made before.
func (s *Recordings) Record(ctx context.Context, body io.Reader, boundary string, admit Admission) (Recorded, error) {
	r := recorder{s: s, admit: admit}
	defer r.close(ctx)
	fields, err := readForm(body, boundary, func(part filePart, before form) error { return r.receive(ctx, part, before) })
	if err != nil {
		return Recorded{}, err
	}
	if err := r.enter(ctx, fields); err != nil {
		return Recorded{}, err
	}
	// Let in before the file came, which may have taken hours: what was sent before is not told to who is out by now.
	if _, err := r.caller.Present(ctx); err != nil {
		return Recorded{}, err //nolint:wrapcheck // the guard's refusal is the answer
	}
	said, err := readRecorder(fields, r.name)
	if err != nil {
		return Recorded{}, err
	}
	if r.spooled != nil {
		if r.file, err = s.receive(ctx, filePart{r.name, r.spooled.Reader()}); err != nil {
			return Recorded{}, err
		}
	}
	if r.file == nil {
		if said.any {
			return Recorded{}, noFile()
		}
		return Recorded{Test: true}, nil
	}
	r.file.name = said.name
	accepted, err := r.accept(ctx, said)
	return Recorded{Uploaded: accepted}, err
}

// recorder is one form of a phone recorder under way.
type recorder struct {
	s     *Recordings
	admit Admission
	// caller is zero until somebody is let in.
	caller auth.Principal
	// name is that of the file as sent; the file is stored or spooled, or there is none.
	name    string
	file    *incoming
	spooled *spool.File
	kept    bool
}

// enter lets the sender in, unless that was done.
func (r *recorder) enter(ctx context.Context, fields form) (err error) {
	if r.caller.UserID() == 0 {
		r.caller, err = r.admit(ctx, fields["secret"])
	}
	return err
}

// receive takes the file, after its sender is let in if the secret is there already. Browsers send a part without a name
// and bytes for a file that was not chosen.
func (r *recorder) receive(ctx context.Context, part filePart, before form) (err error) {
	if _, sent := before["secret"]; sent {
		if err := r.enter(ctx, before); err != nil {
			return err
		}
	}
	first := make([]byte, 1)
	if n, err := io.ReadFull(part.Reader, first); n == 0 && part.name == "" {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	} else if n == 1 {
		part.Reader = io.MultiReader(strings.NewReader(string(first)), part.Reader)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	r.name = part.name
	if r.caller.UserID() != 0 {
		if _, err := readRecorder(before, part.name); err != nil {
			return err
		}
		r.file, err = r.s.receive(ctx, part)
		return err
	}
	if r.spooled, err = r.s.Spool.Create(-1); err != nil {
		return err
	}
	_, err = r.s.pour(r.spooled, part)
	return err
}

// close leaves nothing behind that no recording refers to.
func (r *recorder) close(ctx context.Context) {
	if r.spooled != nil {
		if err := r.spooled.Close(); err != nil {
			r.s.Logger.WarnContext(ctx, "a spooled file could not be removed", "error", err.Error())
		}
	}
	switch {
	case r.file == nil:
	case r.kept:
		r.file.forget()
	default:
		r.file.discard(ctx)
	}
}

// accept makes a recording of the file, or finds the one that it made before.
func (r *recorder) accept(ctx context.Context, said recorderFields) (accepted Uploaded, err error) {
	s, key, same := r.s, said.key(r.file), fingerprint(r.file)
	earlier, err := s.Keys.Bound(s.db.Read.WithContext(ctx), r.caller.UserID(), key, same)
	if err == nil && earlier == 0 && said.date != nil {
		earlier, err = s.recordedOn(ctx, r.caller, r.file, said)
	}
	if err != nil {
		return Uploaded{}, unavailable("look for an earlier recording", err)
	}
	if earlier != 0 {
		return s.resumed(ctx, r.caller, earlier)
	}
	about := about{notes: said.note, meetingDate: said.date}
	accepted, r.kept, err = s.take(ctx, r.caller, arrival{r.file, about, sourceRecorder}, func(tx *gorm.DB, row *models.Recording) error {
		return s.bind(tx, row, key, same)
	})
	if earlier := (replays{}); errors.As(err, &earlier) {
		r.kept = false
		return s.resumed(ctx, r.caller, earlier.recording)
	}
	return accepted, err
}

// recordedOn finds a recording of the same bytes, name, note and date of any age; 0 for none.
func (s *Recordings) recordedOn(ctx context.Context, p auth.Principal, file *incoming, said recorderFields) (int64, error) {
	var rows []models.Recording
	err := s.db.Read.WithContext(ctx).Select("id", "original_filename", "notes", "meeting_date").
		Where("user_id = ? AND sha256 = ? AND source = ?", p.UserID(), file.sum(), sourceRecorder).
		Order("id DESC").Limit(maxCopies).Find(&rows).Error
	if err != nil {
		return 0, fmt.Errorf("find earlier recordings: %w", err)
	}
	for _, row := range rows {
		if given(row.OriginalFilename) == said.name && given(row.Notes) == given(said.note) && row.MeetingDate != nil && row.MeetingDate.Equal(*said.date) {
			return row.ID, nil
		}
	}
	return 0, nil
}

// resumed answers by the recording that was made before. One that waits for a job which is not there any more gets
// another: nobody else would see that.
func (s *Recordings) resumed(ctx context.Context, p auth.Principal, id int64) (Uploaded, error) {
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		row, err := s.owned(locking(tx), p, id)
		if err != nil || row.Status != StatusPending && row.Status != StatusQueued || !hasAudio(row) {
			return err
		}
		there, err := s.Queue.Unfinished(ctx, tx, row.JobID)
		if err != nil || there {
			return err
		}
		return s.enqueue(ctx, tx, &row, askerOf(p).transcription())
	})
	if err != nil {
		return Uploaded{}, unavailable("look after the recording", err)
	}
	return s.replay(ctx, p, id)
}

// recorderFields are what a recorder says of its file. any is whether it says anything.
type recorderFields struct {
	name string
	note *string
	date *time.Time
	any  bool
}

func readRecorder(fields form, fileName string) (recorderFields, error) {
	said := recorderFields{date: readRecorderDate(fields.text("date"))}
	// A file that is sent without a name is a field to the form: it is not dropped with the answer that all is well.
	for _, name := range []string{"file", "file_name", "date", "duration", "note"} {
		said.any = said.any || fields.text(name) != ""
	}
	if note := fields["note"]; strings.TrimSpace(note) != "" {
		if err := problems.OfText("note", note, maxFieldBytes); err != nil {
			return recorderFields{}, err
		}
		said.note = &note
	}
	if given := fields.text("file_name"); given != "" {
		fileName = given
	}
	said.name = shorten(label(fileName), maxRecorderName)
	return said, nil
}

// readRecorderDate reads seconds or milliseconds since 1970. What is neither is no date, as the contract has it.
func readRecorderDate(text string) *time.Time {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) || number < 0 {
		return nil
	}
	if number <= millisecondsFrom {
		number *= 1000
	}
	if number > 1e15 {
		return nil
	}
	if at := time.UnixMilli(int64(number)).UTC(); storable(at) {
		return &at
	}
	return nil
}

// key is what two attempts at the same recording have in common and others do not.
func (f recorderFields) key(file *incoming) string {
	parts, _ := json.Marshal([]any{file.sum(), f.name, f.note, f.date}) // texts and a time are always written
	hash := sha256.Sum256(parts)
	return sourceRecorder + ":" + hex.EncodeToString(hash[:])
}
