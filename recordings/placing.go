package recordings

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Ignored is what an upload asked for and did not get: tags and folders that the caller has not. Ids that are
// numbers are numbers, others text as sent.
type Ignored struct {
	TagIDs   []any
	FolderID any
}

// wanted is where an upload is to be put, ids as in Ignored and nil for none.
type wanted struct {
	// tags stand in tag_ids without a gap, beyond after the first gap, where the contract does not look any more.
	tags, beyond []any
	// tag counts when none of tags is to be had.
	tag    any
	folder any
	// strict refuses what would be ignored.
	strict bool
}

// placed is where an upload is put.
type placed struct {
	tags    []models.Tag
	folder  *models.Folder
	ignored Ignored
}

func readWanted(fields form) wanted {
	id := func(name string) any {
		text := fields.text(name)
		if text == "" {
			return nil
		}
		if number, err := strconv.ParseInt(text, 10, 64); err == nil {
			return number
		}
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	asked := wanted{tag: id("tag_id"), folder: id("folder_id"), strict: strings.EqualFold(fields.text("strict"), "true")}
	gap := false
	for n := range maxTags {
		switch tag := id("tag_ids[" + strconv.Itoa(n) + "]"); {
		case tag == nil:
			gap = true
		case gap:
			asked.beyond = append(asked.beyond, tag)
		default:
			asked.tags = append(asked.tags, tag)
		}
	}
	return asked
}

// placeable refuses, where an upload is strict, what would be ignored: before gigabytes are taken.
func (s *Recordings) placeable(ctx context.Context, p auth.Principal, asked wanted) error {
	if !asked.strict {
		return nil
	}
	if _, err := locate(s.db.Read.WithContext(ctx), p, asked); err != nil {
		return unavailable("look for the tags and the folder", err)
	}
	return nil
}

// locate finds the tags and the folder that the caller has. In a transaction they stay until it is over.
func locate(db *gorm.DB, p auth.Principal, asked wanted) (found placed, err error) {
	found.ignored.TagIDs = []any{}
	for _, ids := range [][]any{asked.tags, {asked.tag}} {
		if len(found.tags) > 0 || len(ids) == 0 || ids[0] == nil {
			continue
		}
		if found.tags, _, err = keepTags(db, p, p.UserID(), numbers(ids)); err != nil {
			return placed{}, err
		}
		for _, id := range ids {
			if !slices.ContainsFunc(found.tags, func(tag models.Tag) bool { return id == tag.ID }) {
				found.ignored.TagIDs = append(found.ignored.TagIDs, id)
			}
		}
	}
	found.ignored.TagIDs = append(found.ignored.TagIDs, asked.beyond...)
	var folders []models.Folder
	err = usable(db.Clauses(clause.Locking{Strength: "KEY SHARE"}), p).
		Where("id IN ?", numbers([]any{asked.folder})).Limit(1).Find(&folders).Error
	if err != nil {
		return placed{}, fmt.Errorf("find the folder: %w", err)
	}
	if len(folders) > 0 {
		found.folder = &folders[0]
	} else {
		found.ignored.FolderID = asked.folder
	}
	if asked.strict && (len(found.ignored.TagIDs) > 0 || found.ignored.FolderID != nil) {
		return placed{}, problems.New(problems.InvalidParameter, "The tags or the folder do not exist, and strict is true.").
			With("ignored", map[string]any{"tag_ids": found.ignored.TagIDs, "folder_id": found.ignored.FolderID})
	}
	return found, nil
}

// numbers are the ids that can be ids.
func numbers(ids []any) []int64 {
	var found []int64
	for _, id := range ids {
		if number, is := id.(int64); is {
			found = append(found, number)
		}
	}
	return found
}

// put writes the tags of a new recording and tells the answer.
func (at placed) put(tx *gorm.DB, p auth.Principal, id int64, accepted *Uploaded) error {
	links := make([]models.RecordingTag, len(at.tags))
	for i, tag := range at.tags {
		links[i] = models.RecordingTag{RecordingID: id, TagID: tag.ID, Position: i}
	}
	accepted.Ignored = at.ignored
	if err := putLinks(tx, links); err != nil {
		return err
	}
	return at.tell(tx, p, accepted)
}

// tell tells the answer of the tags and the folder that the caller sees; one that may not read gets none.
func (at placed) tell(db *gorm.DB, p auth.Principal, accepted *Uploaded) error {
	if !p.MayRead() {
		return nil
	}
	at = at.seenBy(p)
	var err error
	if accepted.Tags, err = tagsOf(db, p, at.tags); err != nil || at.folder == nil {
		return err
	}
	folder, err := findFolder(db, p, at.folder.ID)
	accepted.Folder = &folder
	return err
}
