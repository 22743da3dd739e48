package recordings

import (
	"context"
	"fmt"
	"maps"
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
	FieldApproval     Field = "summary_approval"
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

// change edits a recording that the caller may change in one transaction, and in it moves updated_at and announces the
// fields that edit says it has changed. Of two changes at once the second sees the first, so that no update is lost
// to a Match; when edit has changed nothing, nothing is told. The row that edit gets is locked; edit writes what it
// changes, in this table or others, and leaves updated_at alone.
func (s *Recordings) change(
	ctx context.Context, p auth.Principal, id int64, match Match, attempt string,
	edit func(tx *gorm.DB, row *models.Recording) ([]Field, error),
) error {
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		_, err := s.changeWithin(tx, p, id, editing, match, edit)
		return err
	})
	if err != nil {
		return unavailable(attempt, err)
	}
	return nil
}

// changeWithin is change in a transaction that has something else to do before the row is locked, for who has the right
// that is wanted.
func (s *Recordings) changeWithin(
	tx *gorm.DB, p auth.Principal, id int64, wanted right, match Match,
	edit func(tx *gorm.DB, row *models.Recording) ([]Field, error),
) (models.Recording, error) {
	row, err := s.reach(locking(tx), p, id, wanted)
	if err != nil {
		return models.Recording{}, err
	}
	if match != nil && !match(row.UpdatedAt) {
		return models.Recording{}, changedSince()
	}
	pending, err := s.pending(tx, p, &row)
	if err != nil {
		return row, err
	}
	fields, err := edit(tx, &row)
	if err != nil || len(fields) == 0 {
		return row, err
	}
	if slices.Contains(fields, FieldTags) || slices.Contains(fields, FieldFolder) {
		if err := s.shareAsFiled(tx, p, &row, pending); err != nil {
			return row, err
		}
	}
	if row.UserID != p.UserID() {
		if fields = slices.DeleteFunc(fields, isPersonal); len(fields) == 0 {
			return row, s.move(tx, &row)
		}
	}
	return row, s.changed(tx, &row, fields...)
}

// isPersonal reports whether everybody who sees a recording has this for themselves: the owner is not told of it.
func isPersonal(field Field) bool {
	return slices.Contains([]Field{FieldNotes, FieldInbox, FieldHighlighted, FieldArchived, FieldExternalRefs}, field)
}

func changedSince() *problems.Error {
	return problems.New(problems.PreconditionFailed, "The recording has been changed since; read it again.")
}

// changed moves updated_at of a recording that the transaction has changed, and announces the fields. Every change
// that callers can see goes through it: who asks for what is new since a moment misses nothing.
func (s *Recordings) changed(tx *gorm.DB, row *models.Recording, fields ...Field) error {
	row.UpdatedAt = later(row.UpdatedAt, s.moment())
	if err := moveTo(tx, row.UpdatedAt, nil, row.ID); err != nil {
		return err
	}
	return webhooks.Announce(tx, updated(row, fields))
}

// moveTo sets updated_at of recordings, and further columns.
func moveTo(tx *gorm.DB, at time.Time, columns map[string]any, ids ...int64) error {
	if len(ids) == 0 {
		return nil
	}
	all := map[string]any{"updated_at": at}
	maps.Copy(all, columns)
	if err := tx.Model(&models.Recording{}).Where("id IN ?", ids).UpdateColumns(all).Error; err != nil {
		return fmt.Errorf("move updated_at: %w", err)
	}
	return nil
}

// updated tells receivers which fields of the row were changed.
func updated(row *models.Recording, fields []Field) webhooks.Event {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = string(field)
	}
	slices.Sort(names)
	return webhooks.Event{
		Type: webhooks.RecordingUpdated, OrganizationID: row.OrganizationID, UserID: row.UserID, RecordingID: row.ID,
		Data: map[string]any{
			"recording_id": row.ID, "title": row.Title, "fields_changed": slices.Compact(names), "updated_at": row.UpdatedAt,
		},
		OccurredAt: row.UpdatedAt,
	}
}

// moved locks the row and gives its title and the moment of the change that the transaction is about to make of it,
// for work that announces its change under a name of its own; people go on editing what is worked on. ok is false
// when the recording is gone.
func (s *Recordings) moved(tx *gorm.DB, id int64) (title *string, at time.Time, ok bool, err error) {
	var rows []models.Recording
	err = locking(tx).Select("title", "updated_at").Where("id = ?", id).Limit(1).Find(&rows).Error
	if err != nil {
		return nil, time.Time{}, false, fmt.Errorf("lock the recording: %w", err)
	}
	if len(rows) == 0 {
		return nil, time.Time{}, false, nil
	}
	return rows[0].Title, later(rows[0].UpdatedAt, s.moment()), true, nil
}

// locking is tx for the one query that follows, whose rows nobody else changes until the transaction is over.
func locking(tx *gorm.DB) *gorm.DB {
	return tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
}

// later is now, or just after before where the clock did not move on: two changes never bear the same moment.
func later(before, now time.Time) time.Time {
	if now.After(before) {
		return now
	}
	return before.UTC().Add(time.Microsecond)
}
