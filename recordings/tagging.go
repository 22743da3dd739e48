package recordings

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// maxTags bounds the tags of one recording, and how many one request names.
const maxTags = 100

// Tagged is what became of the tags that were to be put on a recording.
type Tagged struct {
	Added []TagMark
	// Unknown are ids of no tag of the account's, TooMany those for which the recording had no room.
	Unknown, TooMany []int64
}

// AddTags puts tags of the caller's own on a recording, after those that it has and in the order of the ids. Those
// that it has already are passed over in silence; those that are not to be had are told, and the others added all
// the same.
func (s *Recordings) AddTags(ctx context.Context, p auth.Principal, id int64, tagIDs []int64) (Tagged, error) {
	if err := checkTagIDs(tagIDs); err != nil {
		return Tagged{}, err
	}
	var tagged Tagged
	_, err := s.change(ctx, p, id, nil, "tag the recording", func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
		var err error
		tagged, err = putTags(tx, row, tagIDs)
		if err != nil || len(tagged.Added) == 0 {
			return nil, err
		}
		return []Field{FieldTags}, nil
	})
	tagged.Added = shownMarks(p, tagged.Added)
	return tagged, err
}

// Retagged is what became of the tags of a recording that were replaced.
type Retagged struct {
	Tags           []TagMark
	Added, Removed []int64
}

// ReplaceTags makes these the tags of a recording, in this order; an id named twice counts where it stands first.
// Ids of no tag of the account's refuse the whole, and the refusal lists them.
func (s *Recordings) ReplaceTags(ctx context.Context, p auth.Principal, id int64, match Match, tagIDs []int64) (Retagged, error) {
	if err := checkTagIDs(tagIDs); err != nil {
		return Retagged{}, err
	}
	var done Retagged
	_, err := s.change(ctx, p, id, match, "replace the tags", func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
		tags, unknown, err := keepTags(tx, row.UserID, tagIDs)
		if err != nil {
			return nil, err
		}
		if len(unknown) > 0 {
			return nil, problems.New(problems.InvalidParameter, "tag_ids names tags that do not exist; nothing was changed.").
				With("tag_ids", unknown)
		}
		var changed bool
		done, changed, err = swapTags(tx, row.ID, tags)
		if err != nil || !changed {
			return nil, err
		}
		return []Field{FieldTags}, nil
	})
	done.Tags = shownMarks(p, done.Tags)
	return done, err
}

// RemoveTag takes a tag off a recording. One that is not on it is not_found, whoever's it is.
func (s *Recordings) RemoveTag(ctx context.Context, p auth.Principal, id, tagID int64) error {
	_, err := s.change(ctx, p, id, nil, "take the tag off", func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
		removed, err := takeTags(tx, row.ID, []int64{tagID})
		if err != nil {
			return nil, err
		}
		if removed == 0 {
			return nil, problems.New(problems.NotFound, "The recording has no such tag.")
		}
		return []Field{FieldTags}, nil
	})
	return err
}

func checkTagIDs(ids []int64) error {
	if len(ids) > maxTags {
		return problems.New(problems.InvalidParameter, "tag_ids must be at most %d long.", maxTags)
	}
	return nil
}

// putTags adds tags to a recording whose row the transaction has locked.
func putTags(tx *gorm.DB, row *models.Recording, ids []int64) (Tagged, error) {
	tags, unknown, err := keepTags(tx, row.UserID, ids)
	if err != nil {
		return Tagged{}, err
	}
	links, err := linksOf(tx, row.ID)
	if err != nil {
		return Tagged{}, err
	}
	tagged := Tagged{Unknown: unknown}
	next := 0
	has := make(map[int64]bool, len(links))
	for _, link := range links {
		has[link.TagID], next = true, link.Position+1
	}
	var fresh []models.RecordingTag
	for _, tag := range tags {
		switch {
		case has[tag.ID]:
		case len(links)+len(fresh) == maxTags:
			tagged.TooMany = append(tagged.TooMany, tag.ID)
		default:
			fresh = append(fresh, models.RecordingTag{RecordingID: row.ID, TagID: tag.ID, Position: next + len(fresh)})
			tagged.Added = append(tagged.Added, TagMark{tag.ID, tag.Name, tag.Color})
		}
	}
	return tagged, putLinks(tx, fresh)
}

// takeTags removes tags from a recording and tells how many it had of them.
func takeTags(tx *gorm.DB, id int64, tagIDs []int64) (removed int64, err error) {
	gone := tx.Where("recording_id = ? AND tag_id IN ?", id, tagIDs).Delete(&models.RecordingTag{})
	if gone.Error != nil {
		return 0, fmt.Errorf("take tags off the recording: %w", gone.Error)
	}
	return gone.RowsAffected, nil
}

// swapTags makes these the tags of a recording. changed is false when they are that already, in this order.
func swapTags(tx *gorm.DB, id int64, tags []models.Tag) (done Retagged, changed bool, err error) {
	links, err := linksOf(tx, id)
	if err != nil {
		return Retagged{}, false, err
	}
	var before, after []int64
	for _, link := range links {
		before = append(before, link.TagID)
	}
	fresh := make([]models.RecordingTag, len(tags))
	for i, tag := range tags {
		after = append(after, tag.ID)
		fresh[i] = models.RecordingTag{RecordingID: id, TagID: tag.ID, Position: i}
		done.Tags = append(done.Tags, TagMark{tag.ID, tag.Name, tag.Color})
	}
	done.Added, done.Removed = without(after, before), without(before, after)
	if slices.Equal(before, after) {
		return done, false, nil
	}
	if _, err := takeTags(tx, id, before); err != nil {
		return Retagged{}, false, err
	}
	return done, true, putLinks(tx, fresh)
}

// without are the ids that are not among the others, in their order.
func without(ids, others []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return slices.Contains(others, id) })
}

// keepTags finds tags of the account in the order of the ids, each once, and keeps them from being deleted until the
// transaction is over. Ids of which the account has no tag are unknown: another's is one of them.
func keepTags(tx *gorm.DB, userID int64, ids []int64) (tags []models.Tag, unknown []int64, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	// By id: two that lock the same tags in another order would wait for each other.
	var found []models.Tag
	err = tx.Clauses(clause.Locking{Strength: "KEY SHARE"}).
		Where("user_id = ? AND id IN ?", userID, ids).Order("id").Find(&found).Error
	if err != nil {
		return nil, nil, fmt.Errorf("find the tags: %w", err)
	}
	seen := make(map[int64]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		at := slices.IndexFunc(found, func(tag models.Tag) bool { return tag.ID == id })
		if at < 0 {
			unknown = append(unknown, id)
			continue
		}
		tags = append(tags, found[at])
	}
	return tags, unknown, nil
}

// linksOf are the tags of a recording in the order in which they were attached.
func linksOf(tx *gorm.DB, id int64) ([]models.RecordingTag, error) {
	var links []models.RecordingTag
	if err := tx.Where("recording_id = ?", id).Order("position, tag_id").Find(&links).Error; err != nil {
		return nil, fmt.Errorf("find the tags of the recording: %w", err)
	}
	return links, nil
}

// putLinks attaches tags.
func putLinks(tx *gorm.DB, links []models.RecordingTag) error {
	if len(links) == 0 {
		return nil
	}
	if err := tx.Create(&links).Error; err != nil {
		return fmt.Errorf("attach tags to the recording: %w", err)
	}
	return nil
}

// shownMarks are the tags as the caller may see them: names are texts, which one that may not read does not get.
func shownMarks(p auth.Principal, marks []TagMark) []TagMark {
	if p.MayRead() {
		return marks
	}
	shown := make([]TagMark, len(marks))
	for i, mark := range marks {
		shown[i] = TagMark{ID: mark.ID, Color: mark.Color}
	}
	return shown
}
