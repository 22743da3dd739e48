package recordings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// uploadKey is the key of an upload, from the header and from the form's field, of which one is enough.
func uploadKey(header string, fields form) (string, error) {
	field := fields.text("idempotency_key")
	if err := problems.OfText("idempotency_key", field, idempotency.MaxKey); err != nil {
		return "", err
	}
	if header != "" && field != "" && header != field {
		return "", problems.New(problems.InvalidParameter, "Idempotency-Key and idempotency_key are different keys.")
	}
	if field != "" {
		return field, nil
	}
	return header, nil
}

// fingerprint knows an upload by its bytes alone: a client that tries again may have learned a better title or time.
func fingerprint(file *incoming) string {
	hash := sha256.Sum256([]byte("upload " + file.sum()))
	return hex.EncodeToString(hash[:])
}

// replays ends the transaction of an upload whose key another has used: nothing of it is kept.
type replays struct{ recording int64 }

func (r replays) Error() string {
	return fmt.Sprintf("recording %d was made under this key", r.recording)
}

// bind ties the key of an upload to the recording that it makes, or ends the transaction where there is one already.
func (s *Recordings) bind(tx *gorm.DB, row *models.Recording, key, fingerprint string) error {
	if key == "" {
		return nil
	}
	bound, err := s.Keys.Bind(tx, row.UserID, key, fingerprint, row.ID)
	if err != nil {
		return err
	}
	if bound != row.ID {
		return replays{bound}
	}
	return nil
}

// replay answers an upload by the recording that an earlier one of the same key and bytes has made, as it is now.
func (s *Recordings) replay(ctx context.Context, p auth.Principal, id int64) (Uploaded, error) {
	told, err := s.told(ctx, p, id)
	told.Replayed = true
	return told, err
}

// told is a recording as the answer to its upload tells of it.
func (s *Recordings) told(ctx context.Context, p auth.Principal, id int64) (Uploaded, error) {
	db := s.db.Read.WithContext(ctx)
	row, err := s.visible(db, p, id)
	if err != nil {
		return Uploaded{}, err
	}
	at, err := placedAt(db, row)
	if err != nil {
		return Uploaded{}, unavailable("read where the recording is", err)
	}
	heard, err := s.heardAs(db, row, at)
	if err != nil {
		return Uploaded{}, unavailable("read what the recording was heard by", err)
	}
	shown := []Recording{view(p, heard)}
	if err := attach(db, p, shown); err != nil {
		return Uploaded{}, err
	}
	told := Uploaded{Recording: shown[0]}
	if err := at.tell(db, p, &told); err != nil {
		return Uploaded{}, unavailable("read where the recording is", err)
	}
	told.Copies, err = copies(db, p, row)
	return told, err
}
