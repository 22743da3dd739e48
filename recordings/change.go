package recordings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/webhooks"
)

// Field is a part of a recording that can change, as receivers of recording.updated know it.
type Field string

// The fields.
const (
	FieldTitle        Field = "title"
	FieldParticipants Field = "participants"
	FieldNotes        Field = "notes"
	FieldSummary      Field = "summary"
	FieldTranscript   Field = "transcript"
	FieldMeetingDate  Field = "meeting_date"
	FieldFolder       Field = "folder_id"
	FieldInbox        Field = "is_inbox"
	FieldHighlighted  Field = "is_highlighted"
	FieldArchived     Field = "is_archived"
	FieldSpeakers     Field = "speakers"
	FieldAudio        Field = "audio"
	FieldTags         Field = "tags"
	FieldEvents       Field = "events"
	FieldExternalRefs Field = "external_refs"
)

// Match tells whether a recording that was last changed at that moment is the one that the caller has seen. A nil
// Match accepts any.
type Match func(updatedAt time.Time) bool

// change edits a recording of the caller's own in one transaction, and in it moves updated_at and announces the
// fields that edit says it has changed. Of two changes at once the second sees the first, so that no update is lost
// to a Match; when edit has changed nothing, nothing is told. The row that edit gets is locked; edit writes what it
// changes, in this table or others, and leaves updated_at alone.
func (s *Recordings) change(
	ctx context.Context, p auth.Principal, id int64, match Match, attempt string,
	edit func(tx *gorm.DB, row *models.Recording) ([]Field, error),
) (models.Recording, error) {
	var row models.Recording
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var err error
		if row, err = s.owned(tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}), p, id); err != nil {
			return err
		}
		if match != nil && !match(row.UpdatedAt) {
			return problems.New(problems.PreconditionFailed, "The recording has been changed since; read it again.")
		}
		fields, err := edit(tx, &row)
		if err != nil || len(fields) == 0 {
			return err
		}
		return s.changed(tx, &row, fields...)
	})
	if err != nil {
		return models.Recording{}, unavailable(attempt, err)
	}
	return row, nil
}

// changed moves updated_at of a recording that the transaction has changed, and announces the fields. Every change
// that callers can see goes through it: who asks for what is new since a moment misses nothing.
func (s *Recordings) changed(tx *gorm.DB, row *models.Recording, fields ...Field) error {
	row.UpdatedAt = later(row.UpdatedAt, s.moment())
	err := tx.Model(&models.Recording{}).Where("id = ?", row.ID).UpdateColumn("updated_at", row.UpdatedAt).Error
	if err != nil {
		return fmt.Errorf("move updated_at: %w", err)
	}
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = string(field)
	}
	slices.Sort(names)
	return webhooks.Announce(tx, webhooks.Event{
		Type: webhooks.RecordingUpdated, OrganizationID: row.OrganizationID, UserID: row.UserID, RecordingID: row.ID,
		Data: map[string]any{
			"recording_id": row.ID, "title": row.Title, "fields_changed": slices.Compact(names), "updated_at": row.UpdatedAt,
		},
		OccurredAt: row.UpdatedAt,
	})
}

// later is now, or just after before where the clock did not move on: two changes never bear the same moment.
func later(before, now time.Time) time.Time {
	if now.After(before) {
		return now
	}
	return before.UTC().Add(time.Microsecond)
}
