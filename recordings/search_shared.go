package recordings

import (
	"slices"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// sharedCandidates proposes recordings of others: of the newest maxScan that are shared with the caller those that have
// all terms, and those of which nobody knows, because they are behind or the caller has notes of them. The index has what
// the owner wrote, so that the caller's notes are looked through and the owner's are not.
func (s *Recordings) sharedCandidates(db *gorm.DB, p auth.Principal, q Query, wanted []string) ([]candidate, error) {
	var recent []int64
	err := q.narrow(sharedWith(db.Model(&models.Recording{}), p), p).Limit(maxScan).Pluck("id", &recent).Error
	if err != nil || len(recent) == 0 {
		return nil, err
	}
	among := func() *gorm.DB {
		return db.Model(&models.Recording{}).Where("id IN ?", recent).Order(q.order())
	}
	notes := map[int64]*string{}
	if slices.Contains(q.Fields, FieldNotes) {
		states, err := statesOf(db, p, recent)
		if err != nil {
			return nil, err
		}
		for id, state := range states {
			if state.Notes != nil {
				notes[id] = state.Notes
			}
		}
	}
	var noted []int64
	for id := range notes {
		noted = append(noted, id)
	}
	var unsure, found []candidate
	err = among().Where("(id IN (SELECT recording_id FROM search_marks) OR id IN ?)", noted).Limit(maxCandidates).Find(&unsure).Error
	if err != nil {
		return nil, err
	}
	q.Fields = withoutNotes(q.Fields)
	if err := s.having(among(), q, wanted).Find(&found).Error; err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(c candidate) bool {
		return slices.ContainsFunc(unsure, func(other candidate) bool { return other.ID == c.ID })
	})
	for i := range unsure {
		unsure[i].behind = true
	}
	found = append(found, unsure...)
	for i := range found {
		found[i].foreign, found[i].notes = true, notes[found[i].ID]
	}
	return found, nil
}

func withoutNotes(fields []Field) []Field {
	return slices.DeleteFunc(slices.Clone(fields), func(field Field) bool { return field == FieldNotes })
}

// partsOfOthers are partsOf another's recording that is behind: all but the owner's notes, in whose place are the caller's.
func partsOfOthers(db *gorm.DB, in candidate, fields []Field) ([]models.SearchText, error) {
	parts, err := foldedTexts(db, in.ID)
	if err != nil {
		return nil, err
	}
	own := folding{of: models.SearchText{RecordingID: in.ID}}
	own.addLines(FieldNotes, given(in.notes))
	own.end()
	return slices.DeleteFunc(append(parts, own.parts...), func(part models.SearchText) bool {
		return !slices.Contains(fields, Field(part.Field)) || Field(part.Field) == FieldNotes && part.UserID != 0
	}), nil
}
