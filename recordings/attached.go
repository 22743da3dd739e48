package recordings

import (
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// TagMark is a tag as it stands on a recording.
type TagMark struct {
	ID    int64
	Name  string
	Color string
}

// FolderMark is the folder that a recording is in.
type FolderMark struct {
	ID   int64
	Name string
}

// ExternalRef is what a recording is called in another system. URL and Label are nil for none.
type ExternalRef struct {
	ID                int64
	System, Kind, Ref string
	URL, Label        *string
	CreatedAt         time.Time
}

// attach fills in what hangs on the recordings of one answer, with one query for each kind: tags that the caller sees, in the
// order in which they were attached, the folder, and the caller's references by id. Names and references are texts, which a
// caller that may not read does not get.
func attach(db *gorm.DB, p auth.Principal, shown []Recording) error {
	if len(shown) == 0 || !p.MayRead() {
		return nil
	}
	ids := make([]int64, len(shown))
	at := make(map[int64]*Recording, len(shown))
	for i := range shown {
		ids[i], at[shown[i].ID] = shown[i].ID, &shown[i]
	}
	if err := attachTags(db, p, ids, at); err != nil {
		return err
	}
	if err := attachFolders(db, shown); err != nil {
		return err
	}
	return attachRefs(db, p, ids, at)
}

func attachTags(db *gorm.DB, p auth.Principal, ids []int64, at map[int64]*Recording) error {
	var marks []struct {
		RecordingID, ID int64
		Name, Color     string
	}
	err := db.Table("recording_tags").Joins("JOIN tags t ON t.id = recording_tags.tag_id").
		Select("recording_tags.recording_id, t.id, t.name, t.color").
		Where("recording_tags.recording_id IN ? AND "+visibleTag, ids, p.UserID(), p.OrganizationID()).
		Order("recording_tags.recording_id, recording_tags.position, t.id").Scan(&marks).Error
	if err != nil {
		return unavailable("read the tags of recordings", err)
	}
	for _, mark := range marks {
		r := at[mark.RecordingID]
		r.Tags = append(r.Tags, TagMark{mark.ID, mark.Name, mark.Color})
	}
	return nil
}

func attachFolders(db *gorm.DB, shown []Recording) error {
	var ids []int64
	for _, r := range shown {
		if r.FolderID != nil {
			ids = append(ids, *r.FolderID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var folders []models.Folder
	if err := db.Select("id", "name").Where("id IN ?", ids).Find(&folders).Error; err != nil {
		return unavailable("read the folders of recordings", err)
	}
	for i := range shown {
		for _, folder := range folders {
			if shown[i].FolderID != nil && *shown[i].FolderID == folder.ID {
				shown[i].Folder = &FolderMark{folder.ID, folder.Name}
			}
		}
	}
	return nil
}

func attachRefs(db *gorm.DB, p auth.Principal, ids []int64, at map[int64]*Recording) error {
	var rows []models.ExternalRef
	err := db.Where("recording_id IN ? AND user_id = ?", ids, p.UserID()).Order("recording_id, id").Find(&rows).Error
	if err != nil {
		return unavailable("read the references of recordings", err)
	}
	for _, row := range rows {
		r := at[row.RecordingID]
		r.ExternalRefs = append(r.ExternalRefs, refOf(row))
	}
	return nil
}

func refOf(row models.ExternalRef) ExternalRef {
	return ExternalRef{
		ID: row.ID, System: row.System, Kind: row.Kind, Ref: row.Ref, URL: row.URL, Label: row.Label, CreatedAt: row.CreatedAt,
	}
}
