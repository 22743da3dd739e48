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
)

// Edit is what becomes of one field: nothing unless Given, and nothing is in it any more when Value is nil.
type Edit[T any] struct {
	Given bool
	Value *T
}

// Patch is what becomes of a recording. Flags that are nil stay.
type Patch struct {
	Title, Participants, Notes, Summary Edit[string]
	MeetingDate                         Edit[time.Time]
	IsInbox, IsHighlighted, IsArchived  *bool
	FolderID                            Edit[int64]
}

// Patch changes a recording that the caller may change, all that is asked or nothing. Notes and flags everybody has for
// themselves: of these, whoever sees the recording changes their own. What already is as asked is no change, and a change
// of nothing is not told to anybody. A folder that the caller has not is not_found.
func (s *Recordings) Patch(ctx context.Context, p auth.Principal, id int64, match Match, patch Patch) (Recording, error) {
	if err := patch.check(); err != nil {
		return Recording{}, err
	}
	var row models.Recording
	err := s.db.Transaction(ctx, func(tx *gorm.DB) (err error) {
		row, err = s.changeWithin(tx, p, id, patch.wants(), match, func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
			return patch.apply(tx, p, row)
		})
		return err
	})
	if err != nil {
		return Recording{}, unavailable("change the recording", err)
	}
	return view(p, row), nil
}

// wants is the right without which nothing of it is done.
func (patch Patch) wants() right {
	if patch.Title.Given || patch.Participants.Given || patch.Summary.Given || patch.MeetingDate.Given || patch.FolderID.Given {
		return editing
	}
	return seeing
}

// check holds what is given to its bounds.
func (patch Patch) check() error {
	for _, text := range []struct {
		name  string
		given *string
		check func(name, value string, bound int) error
		bound int
	}{
		{"title", patch.Title.Value, problems.OfText, maxTitle},
		{"participants", patch.Participants.Value, problems.OfText, maxParticipants},
		{"notes", patch.Notes.Value, checkBytes, maxTextBytes},
		{"summary", patch.Summary.Value, checkBytes, maxTextBytes},
	} {
		if text.given == nil {
			continue
		}
		if err := text.check(text.name, *text.given, text.bound); err != nil {
			return err
		}
	}
	return nil
}

// apply writes what differs into the row, in memory and in the table, and names it.
func (patch Patch) apply(tx *gorm.DB, p auth.Principal, row *models.Recording) ([]Field, error) {
	var changed []Field
	columns := map[string]any{}
	for _, text := range []struct {
		field Field
		edit  Edit[string]
		now   **string
	}{
		{FieldTitle, patch.Title, &row.Title},
		{FieldParticipants, patch.Participants, &row.Participants},
		{FieldNotes, patch.Notes, &row.Notes},
		{FieldSummary, patch.Summary, &row.Summary},
	} {
		if differs(text.edit, *text.now, func(a, b string) bool { return a == b }) {
			*text.now, columns[string(text.field)] = text.edit.Value, text.edit.Value
			changed = append(changed, text.field)
		}
	}
	if slices.Contains(changed, FieldTitle) {
		row.TitleByUser, columns["title_by_user"] = true, true
	}
	if slices.Contains(changed, FieldSummary) && approved(*row) { // it is no longer the text that was approved
		maps.Copy(columns, unapprove(row))
		changed = append(changed, FieldApproval)
	}
	if differs(patch.MeetingDate, row.MeetingDate, time.Time.Equal) {
		row.MeetingDate, columns["meeting_date"] = patch.MeetingDate.Value, patch.MeetingDate.Value
		changed = append(changed, FieldMeetingDate)
	}
	for _, flag := range []struct {
		field Field
		given *bool
		now   *bool
	}{
		{FieldInbox, patch.IsInbox, &row.IsInbox},
		{FieldHighlighted, patch.IsHighlighted, &row.IsHighlighted},
		{FieldArchived, patch.IsArchived, &row.IsArchived},
	} {
		if flag.given != nil && *flag.given != *flag.now {
			*flag.now, columns[string(flag.field)] = *flag.given, *flag.given
			changed = append(changed, flag.field)
		}
	}
	if differs(patch.FolderID, row.FolderID, func(a, b int64) bool { return a == b }) {
		if err := keepFolder(tx, p, row.UserID, patch.FolderID.Value); err != nil {
			return nil, err
		}
		row.FolderID, columns["folder_id"] = patch.FolderID.Value, patch.FolderID.Value
		changed = append(changed, FieldFolder)
	}
	if len(changed) == 0 {
		return nil, nil
	}
	if err := keepState(tx, p, row, columns); err != nil {
		return nil, err
	}
	if len(columns) == 0 {
		return changed, nil
	}
	if err := tx.Model(&models.Recording{}).Where("id = ?", row.ID).UpdateColumns(columns).Error; err != nil {
		return nil, fmt.Errorf("update the row: %w", err)
	}
	return changed, nil
}

// differs reports whether the edit makes something else of what is there now.
func differs[T any](edit Edit[T], now *T, same func(a, b T) bool) bool {
	switch {
	case !edit.Given:
		return false
	case edit.Value == nil || now == nil:
		return edit.Value != now
	}
	return !same(*edit.Value, *now)
}

// keepFolder finds a folder that the caller may put a recording of the owner's into, and keeps it from being deleted until
// the transaction is over; nil is no folder and always there.
func keepFolder(tx *gorm.DB, p auth.Principal, ownerID int64, id *int64) error {
	if id == nil {
		return nil
	}
	var found []models.Folder
	err := fileable(tx.Clauses(clause.Locking{Strength: "KEY SHARE"}), p, ownerID).Select("id").
		Where("id = ?", *id).Limit(1).Find(&found).Error
	if err != nil {
		return fmt.Errorf("find the folder: %w", err)
	}
	if len(found) == 0 {
		return noFolder()
	}
	return nil
}

func noFolder() *problems.Error {
	return problems.New(problems.NotFound, "There is no such folder.")
}
