package recordings

import (
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// right is what somebody may do with a recording; each holds those before it.
type right int

// The rights. The zero right holds nothing, and nobody asks for it.
const (
	seeing right = iota + 1
	editing
	owning
)

// visible finds a recording that the caller may see, as the caller sees it; every other one is not_found.
func (s *Recordings) visible(db *gorm.DB, p auth.Principal, id int64) (models.Recording, error) {
	return s.reach(db, p, id, seeing)
}

// editable is visible for who may change the recording too; who may only see it is told so.
func (s *Recordings) editable(db *gorm.DB, p auth.Principal, id int64) (models.Recording, error) {
	return s.reach(db, p, id, editing)
}

// disposable is visible for its owner, who alone ends it; whoever else sees it is told so.
func (s *Recordings) disposable(db *gorm.DB, p auth.Principal, id int64) (models.Recording, error) {
	return s.reach(db, p, id, owning)
}

// owned finds a recording of the caller's own account; every other one is not_found, seen or not.
func (s *Recordings) owned(db *gorm.DB, p auth.Principal, id int64) (models.Recording, error) {
	row, err := s.visible(db, p, id)
	if err == nil && row.UserID != p.UserID() {
		return models.Recording{}, notFound()
	}
	return row, err
}

// reach finds a recording to which the caller has a right. It is the one place that decides so. Of another's the row
// bears what the caller keeps of it: notes and flags, and no folder that is not the organization's; it is never written
// back as a whole.
func (s *Recordings) reach(db *gorm.DB, p auth.Principal, id int64, wanted right) (models.Recording, error) {
	fresh := db.Session(&gorm.Session{NewDB: true}) // db may bear a lock, which is for the recording's row alone
	among, whose := "user_id", p.UserID()
	if s.InternalSharing {
		among, whose = "organization_id", p.OrganizationID()
	}
	var rows []models.Recording
	if err := db.Where("id = ? AND "+among+" = ?", id, whose).Limit(1).Find(&rows).Error; err != nil {
		return models.Recording{}, unavailable("find the recording", err)
	}
	if len(rows) == 0 {
		return models.Recording{}, notFound()
	}
	if rows[0].UserID == p.UserID() {
		return rows[0], nil
	}
	// After the row: a lock on it has waited for whoever was ending the share.
	share, shared, err := shareOfCaller(fresh, p, rows[0])
	switch {
	case err != nil:
		return models.Recording{}, unavailable("look whether the recording is shared", err)
	case !shared:
		return models.Recording{}, notFound()
	case wanted == owning, wanted == editing && !mayEdit(p, share):
		return models.Recording{}, notYours(wanted)
	}
	if err := asSeen(fresh, p, rows); err != nil {
		return models.Recording{}, unavailable("read what the caller keeps of the recording", err)
	}
	return rows[0], nil
}

// shareOfCaller finds the share by which the caller sees a recording: none of an owner who is disabled, and none that is for who
// administers the organization, where the caller does no more.
func shareOfCaller(db *gorm.DB, p auth.Principal, row models.Recording) (share models.InternalShare, ok bool, err error) {
	var shares []models.InternalShare
	err = db.Table("internal_shares AS s").Where("s.recording_id = ? AND s.user_id = ?"+andHolds(p), row.ID, p.UserID()).
		Where("EXISTS (SELECT 1 FROM users WHERE id = ? AND disabled_at IS NULL)", row.UserID).
		Where("EXISTS (SELECT 1 FROM users WHERE id = ? AND disabled_at IS NULL)", p.UserID()).
		Limit(1).Find(&shares).Error
	if err != nil || len(shares) == 0 {
		return models.InternalShare{}, false, err
	}
	return shares[0], true, nil
}

func notYours(wanted right) *problems.Error {
	if wanted == owning {
		return problems.New(problems.InsufficientPermission, "Only the owner of the recording may do this.")
	}
	return problems.New(problems.InsufficientPermission, "The recording is shared with you to be seen, not to be changed.")
}

// asSeen makes of rows of others what the caller sees of them.
func asSeen(db *gorm.DB, p auth.Principal, rows []models.Recording) error {
	var ids, folders []int64
	for _, row := range rows {
		if row.UserID == p.UserID() {
			continue
		}
		ids = append(ids, row.ID)
		if row.FolderID != nil {
			folders = append(folders, *row.FolderID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	states, err := statesOf(db, p, ids)
	if err != nil {
		return err
	}
	var common []int64 // folders that the organization has in common
	if len(folders) > 0 {
		err := db.Model(&models.Folder{}).Where("id IN ? AND organization_id = ?", folders, p.OrganizationID()).Pluck("id", &common).Error
		if err != nil {
			return err
		}
	}
	known := set(common)
	for i := range rows {
		row := &rows[i]
		if row.UserID == p.UserID() {
			continue
		}
		if row.FolderID != nil && !known[*row.FolderID] {
			row.FolderID = nil
		}
		state := stateIn(states, p, row.ID)
		row.Notes, row.IsInbox, row.IsHighlighted, row.IsArchived = state.Notes, state.IsInbox, state.IsHighlighted, state.IsArchived
	}
	return nil
}

// statesOf are what the caller keeps of recordings of others, by recording.
func statesOf(db *gorm.DB, p auth.Principal, ids []int64) (map[int64]models.RecordingState, error) {
	var rows []models.RecordingState
	if err := db.Where("user_id = ? AND recording_id IN ?", p.UserID(), ids).Find(&rows).Error; err != nil {
		return nil, err
	}
	states := make(map[int64]models.RecordingState, len(rows))
	for _, row := range rows {
		states[row.RecordingID] = row
	}
	return states, nil
}

// stateIn is that of one recording; who has kept nothing has it in the inbox.
func stateIn(states map[int64]models.RecordingState, p auth.Principal, id int64) models.RecordingState {
	if state, kept := states[id]; kept {
		return state
	}
	return models.RecordingState{RecordingID: id, UserID: p.UserID(), IsInbox: true}
}

// keepState takes what everybody has for themselves out of the columns that are to be written of another's recording, and
// keeps it for the caller.
func keepState(tx *gorm.DB, p auth.Principal, row *models.Recording, columns map[string]any) error {
	if row.UserID == p.UserID() {
		return nil
	}
	all := len(columns)
	for _, field := range []Field{FieldNotes, FieldInbox, FieldHighlighted, FieldArchived} {
		delete(columns, string(field))
	}
	if len(columns) == all {
		return nil
	}
	state := models.RecordingState{
		RecordingID: row.ID, UserID: p.UserID(), Notes: row.Notes,
		IsInbox: row.IsInbox, IsHighlighted: row.IsHighlighted, IsArchived: row.IsArchived,
	}
	if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&state).Error; err != nil {
		return fmt.Errorf("keep what the caller has of the recording: %w", err)
	}
	return nil
}
