package recordings

import (
	"cmp"
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
	// Unknown are ids of no tag that the caller may use, TooMany those for which the recording had no room.
	Unknown, TooMany []int64
}

// AddTags puts tags on a recording, after those that it has and in the order of the ids. Those that it has already are
// passed over in silence; those that are not to be had are told, and the others added all the same.
func (s *Recordings) AddTags(ctx context.Context, p auth.Principal, id int64, tagIDs []int64) (Tagged, error) {
	if err := checkTagIDs(tagIDs); err != nil {
		return Tagged{}, err
	}
	var tagged Tagged
	err := s.change(ctx, p, id, nil, "tag the recording", func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
		var err error
		tagged, err = putTags(tx, p, row, tagIDs)
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

// ReplaceTags makes these the tags of a recording, in this order; an id named twice counts where it stands first. Tags that
// the caller cannot see stay, behind them. Ids of no tag that the caller may use refuse the whole, and the refusal lists
// them, unless the recording has them already.
func (s *Recordings) ReplaceTags(ctx context.Context, p auth.Principal, id int64, match Match, tagIDs []int64) (Retagged, error) {
	if err := checkTagIDs(tagIDs); err != nil {
		return Retagged{}, err
	}
	var done Retagged
	err := s.change(ctx, p, id, match, "replace the tags", func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
		tags, unknown, err := tagsToKeep(tx, p, row, tagIDs)
		if err != nil {
			return nil, err
		}
		if len(unknown) > 0 {
			return nil, problems.New(problems.InvalidParameter, "tag_ids names tags that do not exist; nothing was changed.").
				With("tag_ids", unknown)
		}
		var changed bool
		done, changed, err = swapTags(tx, p, row.ID, tags)
		if err != nil || !changed {
			return nil, err
		}
		return []Field{FieldTags}, nil
	})
	done.Tags = shownMarks(p, done.Tags)
	return done, err
}

// RemoveTag takes a tag off a recording. One that is not on it is not_found, and so is one that the caller cannot see.
func (s *Recordings) RemoveTag(ctx context.Context, p auth.Principal, id, tagID int64) error {
	err := s.change(ctx, p, id, nil, "take the tag off", func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
		removed, err := takeTags(tx, p, row.ID, []int64{tagID})
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
func putTags(tx *gorm.DB, p auth.Principal, row *models.Recording, ids []int64) (Tagged, error) {
	tags, unknown, err := keepTags(tx, p, row.UserID, ids)
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

// takeTags removes tags from a recording and tells how many it had of them that the caller can see.
func takeTags(tx *gorm.DB, p auth.Principal, id int64, tagIDs []int64) (removed int64, err error) {
	gone := tx.Where("recording_id = ? AND tag_id IN ?", id, tagIDs).
		Where("tag_id IN (?)", usable(tx.Session(&gorm.Session{NewDB: true}).Model(&models.Tag{}), p).Select("id")).
		Delete(&models.RecordingTag{})
	if gone.Error != nil {
		return 0, fmt.Errorf("take tags off the recording: %w", gone.Error)
	}
	return gone.RowsAffected, nil
}

// swapTags makes these the tags of a recording that the caller can see. changed is false when they are that already, in
// this order.
func swapTags(tx *gorm.DB, p auth.Principal, id int64, tags []models.Tag) (done Retagged, changed bool, err error) {
	links, err := linksOf(tx, id)
	if err != nil {
		return Retagged{}, false, err
	}
	var before, after []int64
	for _, link := range links {
		before = append(before, link.TagID)
	}
	for _, tag := range tags {
		after = append(after, tag.ID)
		done.Tags = append(done.Tags, TagMark{tag.ID, tag.Name, tag.Color})
	}
	unseen, err := unseenTags(tx, p, before)
	if err != nil {
		return Retagged{}, false, err
	}
	done.Added, done.Removed = without(after, before), without(without(before, after), unseen)
	after = append(after, unseen...)
	if slices.Equal(before, after) {
		return done, false, nil
	}
	if len(after) > maxTags {
		return Retagged{}, false, problems.New(problems.Conflict, "A recording has at most %d tags.", maxTags)
	}
	if err := tx.Where("recording_id = ?", id).Delete(&models.RecordingTag{}).Error; err != nil {
		return Retagged{}, false, fmt.Errorf("take tags off the recording: %w", err)
	}
	fresh := make([]models.RecordingTag, len(after))
	for i, tagID := range after {
		fresh[i] = models.RecordingTag{RecordingID: id, TagID: tagID, Position: i}
	}
	return done, true, putLinks(tx, fresh)
}

// unseenTags are those of the ids that are tags of others, in their order.
func unseenTags(tx *gorm.DB, p auth.Principal, ids []int64) ([]int64, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var seen []int64
	if err := usable(tx.Model(&models.Tag{}), p).Where("id IN ?", ids).Pluck("id", &seen).Error; err != nil {
		return nil, fmt.Errorf("look which tags the caller can see: %w", err)
	}
	return without(ids, seen), nil
}

// tagsToKeep are keepTags and those that the recording has already: who may not put a tag on may leave it where it is.
func tagsToKeep(tx *gorm.DB, p auth.Principal, row *models.Recording, ids []int64) (tags []models.Tag, unknown []int64, err error) {
	tags, unknown, err = keepTags(tx, p, row.UserID, ids)
	if err != nil || len(unknown) == 0 {
		return tags, unknown, err
	}
	var there []models.Tag
	err = usable(tx, p).Where("id IN ?", unknown).
		Where("id IN (?)", tx.Session(&gorm.Session{NewDB: true}).Model(&models.RecordingTag{}).Where("recording_id = ?", row.ID).Select("tag_id")).
		Find(&there).Error
	if err != nil {
		return nil, nil, fmt.Errorf("find the tags that stay: %w", err)
	}
	for _, tag := range there {
		unknown = without(unknown, []int64{tag.ID})
	}
	tags = append(tags, there...)
	slices.SortStableFunc(tags, func(a, b models.Tag) int { return cmp.Compare(slices.Index(ids, a.ID), slices.Index(ids, b.ID)) })
	return tags, unknown, nil
}

// without are the ids that are not among the others, in their order.
func without(ids, others []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return slices.Contains(others, id) })
}

// keepTags finds tags that the caller may put on a recording of the owner's, in the order of the ids and each once, and
// keeps them from being deleted until the transaction is over. The others are unknown: another's is one of them.
func keepTags(tx *gorm.DB, p auth.Principal, ownerID int64, ids []int64) (tags []models.Tag, unknown []int64, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	// By id: two that lock the same tags in another order would wait for each other.
	var found []models.Tag
	err = fileable(tx.Clauses(clause.Locking{Strength: "KEY SHARE"}), p, ownerID).Where("id IN ?", ids).Order("id").Find(&found).Error
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
