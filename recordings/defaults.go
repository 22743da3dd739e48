package recordings

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/speech"
)

// hinted is the row with what its tags, its folder and its organization tell the engine where nobody has: the first tag
// that has a hint gives it, else the folder. It is asked when the work begins, so that a tag which was put on or corrected
// while the recording waited counts.
func (s *Recordings) hinted(ctx context.Context, row models.Recording) (models.Recording, error) {
	db := s.db.Read.WithContext(ctx)
	at, err := placedAt(db, row)
	if err != nil {
		return models.Recording{}, s.later(ctx, "read the tags and the folder", err)
	}
	heard, err := s.heardAs(db, row, at)
	if err != nil {
		return models.Recording{}, s.later(ctx, "read what the organization says", err)
	}
	return heard, nil
}

// placedAt is where a recording is.
func placedAt(db *gorm.DB, row models.Recording) (at placed, err error) {
	err = db.Joins("JOIN recording_tags ON recording_tags.tag_id = tags.id").
		Where("recording_tags.recording_id = ?", row.ID).Order("recording_tags.position, tags.id").Find(&at.tags).Error
	if err != nil {
		return placed{}, fmt.Errorf("read the tags: %w", err)
	}
	if row.FolderID == nil {
		return at, nil
	}
	var folders []models.Folder
	if err := db.Where("id = ?", *row.FolderID).Limit(1).Find(&folders).Error; err != nil {
		return placed{}, fmt.Errorf("read the folder: %w", err)
	}
	if len(folders) > 0 {
		at.folder = &folders[0]
	}
	return at, nil
}

// seenBy is where the caller sees it: tags and folders of others are not there.
func (at placed) seenBy(p auth.Principal) placed {
	sees := func(userID int64, organizationID *int64) bool {
		if organizationID == nil {
			return userID == p.UserID()
		}
		return *organizationID == p.OrganizationID()
	}
	at.tags = slices.DeleteFunc(slices.Clone(at.tags), func(tag models.Tag) bool { return !sees(tag.UserID, tag.OrganizationID) })
	if at.folder != nil && !sees(at.folder.UserID, at.folder.OrganizationID) {
		at.folder = nil
	}
	return at
}

// withDefaults fills the hints of a row that are nil; one that is blank was told to be none.
func withDefaults(row models.Recording, tags []models.Tag, folder *models.Folder) models.Recording {
	for _, tag := range tags {
		row = defaulting(row, Hints{Language: tag.DefaultLanguage, MinSpeakers: tag.DefaultMinSpeakers, MaxSpeakers: tag.DefaultMaxSpeakers})
	}
	if folder != nil {
		row = defaulting(row, Hints{
			Language: folder.DefaultLanguage, MinSpeakers: folder.DefaultMinSpeakers, MaxSpeakers: folder.DefaultMaxSpeakers,
			Hotwords: folder.DefaultHotwords, InitialPrompt: folder.DefaultInitialPrompt, Model: folder.DefaultTranscriptionModel,
		})
	}
	return row
}

// defaulting fills what is still nil from one source. A number of speakers that contradicts one from before it is
// left out: engines refuse a least above the most.
func defaulting(row models.Recording, from Hints) models.Recording {
	if from.Language != nil && row.Language == nil {
		row.Language = optional(speech.Language(*from.Language))
	}
	for _, hint := range []struct{ to, from **string }{
		{&row.Hotwords, &from.Hotwords}, {&row.InitialPrompt, &from.InitialPrompt}, {&row.Model, &from.Model},
	} {
		if *hint.to == nil {
			*hint.to = *hint.from
		}
	}
	least, most := row.MinSpeakers, row.MaxSpeakers
	if least == nil && from.MinSpeakers != nil && (most == nil || *from.MinSpeakers <= *most) {
		row.MinSpeakers = from.MinSpeakers
	}
	if most == nil && from.MaxSpeakers != nil && (least == nil || *from.MaxSpeakers >= *least) {
		row.MaxSpeakers = from.MaxSpeakers
	}
	return row
}
