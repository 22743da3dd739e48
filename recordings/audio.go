package recordings

import (
	"context"
	"fmt"
	"io"
	"time"

	"gocloud.dev/gcerrors"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Audio is the stored file of a recording, open for reading at any place.
type Audio struct {
	io.ReadSeekCloser
	Size int64
	// Name is the label under which it was uploaded; MimeType was found in its bytes.
	Name     string
	MimeType string
	// SHA256 is lower-case hex.
	SHA256   string
	StoredAt time.Time
}

// OpenAudio opens the file of a recording that the caller may see, which the caller closes. Audio that was removed is
// not_found. No connection to the database is held while it is read.
func (s *Recordings) OpenAudio(ctx context.Context, p auth.Principal, id int64) (*Audio, error) {
	row, err := s.visible(s.db.Read.WithContext(ctx), p, id)
	if err != nil {
		return nil, err
	}
	return s.openAudio(ctx, row)
}

func (s *Recordings) openAudio(ctx context.Context, row models.Recording) (*Audio, error) {
	if !hasAudio(row) {
		return nil, noAudio()
	}
	reader, err := s.Files.NewReader(ctx, row.StorageKey, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		s.Logger.ErrorContext(ctx, "the audio of a recording is missing from the storage", "recording", row.ID, "key", row.StorageKey)
		return nil, noAudio()
	}
	if err != nil {
		return nil, storageProblem("open the audio", err)
	}
	audio := audioOf(row)
	audio.ReadSeekCloser, audio.Size = reader, reader.Size()
	return &audio, nil
}

// AudioAddress is where the storage itself gives the file of a recording that the caller may see, for a minute and
// under the name and type that as makes of what is known of it; "" where the server sends it.
func (s *Recordings) AudioAddress(
	ctx context.Context, p auth.Principal, id int64, as func(audio Audio) (disposition, mimeType string),
) (string, error) {
	if s.SignAudio == nil {
		return "", nil
	}
	row, err := s.visible(s.db.Read.WithContext(ctx), p, id)
	if err != nil {
		return "", err
	}
	if !hasAudio(row) {
		return "", noAudio()
	}
	disposition, mimeType := as(audioOf(row))
	address, err := s.SignAudio(ctx, row.StorageKey, disposition, mimeType)
	if err != nil {
		return "", storageProblem("sign the address of the audio", err)
	}
	return address, nil
}

func hasAudio(row models.Recording) bool { return row.StorageKey != "" && row.AudioDeletedAt == nil }

// audioOf is what is known of the file before it is opened.
func audioOf(row models.Recording) Audio {
	audio := Audio{
		SHA256: row.SHA256, StoredAt: row.CreatedAt,
		Name: fmt.Sprintf("recording-%d", row.ID), MimeType: "application/octet-stream",
	}
	if row.OriginalFilename != nil {
		audio.Name = *row.OriginalFilename
	}
	if row.MimeType != nil {
		audio.MimeType = *row.MimeType
	}
	return audio
}

func noAudio() *problems.Error {
	return problems.New(problems.NotFound, "The audio of this recording is not there any more.")
}
