package recordings

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

const (
	// maxBelongings bounds the tags of an account, and its folders.
	maxBelongings   = 1000
	defaultTagColor = "#3B82F6"
)

// Tag is a tag as its account sees it. Name and CustomPrompt are nil for a caller that may not read.
type Tag struct {
	ID                       int64
	Name                     *string
	Color                    string
	CustomPrompt             *string
	DefaultLanguage          *string
	MinSpeakers, MaxSpeakers *int
	ProtectFromDeletion      bool
	CreatedAt                time.Time
}

// TagEdit is what becomes of a tag.
type TagEdit struct {
	Preset
	ProtectFromDeletion Edit[bool]
}

// Tags lists the caller's tags by name; there are so few that they need no pages. A name that is not "" keeps those
// that are called so, in any case.
func (s *Recordings) Tags(ctx context.Context, p auth.Principal, name string) ([]Tag, error) {
	var rows []models.Tag
	if err := s.db.Read.WithContext(ctx).Where("user_id = ?", p.UserID()).Order("id").Limit(maxBelongings).Find(&rows).Error; err != nil {
		return nil, unavailable("list the tags", err)
	}
	// Sorted here: the databases sort names each by its own rules.
	slices.SortStableFunc(rows, func(a, b models.Tag) int { return byName(a.Name, b.Name) })
	tags := []Tag{}
	for _, row := range rows {
		if name == "" || strings.EqualFold(row.Name, name) {
			tags = append(tags, tagOf(p, row))
		}
	}
	return tags, nil
}

// byName orders names as people read them: the same letters in another case stand together.
func byName(a, b string) int {
	return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
}

// CreateTag makes a tag. A name that the account has already is an invalid_parameter, as the contract has it.
func (s *Recordings) CreateTag(ctx context.Context, p auth.Principal, edit TagEdit) (Tag, error) {
	row := models.Tag{UserID: p.UserID(), CreatedAt: s.moment()}
	if err := edit.write(&row); err != nil {
		return Tag{}, err
	}
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := keepRoom(tx, &models.Tag{}, p.UserID(), "tags"); err != nil {
			return err
		}
		if err := freeName(tx, &models.Tag{}, row.UserID, 0, row.Name, problems.InvalidParameter); err != nil {
			return err
		}
		return tx.Create(&row).Error
	})
	if err != nil {
		return Tag{}, unavailable("create the tag", err)
	}
	return tagOf(p, row), nil
}

// UpdateTag changes a tag of the caller's own. A name that another of them has is a conflict.
func (s *Recordings) UpdateTag(ctx context.Context, p auth.Principal, id int64, edit TagEdit) (Tag, error) {
	var row models.Tag
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lockAccount(tx, p.UserID()); err != nil {
			return err
		}
		var err error
		if row, err = lockTag(tx, p.UserID(), id); err != nil {
			return err
		}
		if err := edit.write(&row); err != nil {
			return err
		}
		if err := freeName(tx, &models.Tag{}, row.UserID, row.ID, row.Name, problems.Conflict); err != nil {
			return err
		}
		return tx.Model(&row).Select("*").Omit("id", "user_id", "created_at").UpdateColumns(row).Error
	})
	if err != nil {
		return Tag{}, unavailable("change the tag", err)
	}
	return tagOf(p, row), nil
}

// DeleteTag deletes a tag of the caller's own and takes it off every recording, which each thereby changes.
func (s *Recordings) DeleteTag(ctx context.Context, p auth.Principal, id int64) error {
	done := int64(0) // by id: what was passed leaves dead entries in the index, which no portion need pass again
	return s.inPortions(ctx, "delete the tag", func(tx *gorm.DB) (left bool, err error) {
		var ids []int64
		err = tx.Table("recording_tags").Joins("JOIN tags ON tags.id = recording_tags.tag_id").
			Where("tag_id = ? AND recording_id > ? AND tags.user_id = ?", id, done, p.UserID()).
			Order("recording_id").Limit(portion).Pluck("recording_id", &ids).Error
		if err != nil {
			return false, fmt.Errorf("find the recordings of the tag: %w", err)
		}
		if err := s.untag(tx, id, ids); err != nil {
			return false, err
		}
		if len(ids) == portion {
			done = ids[portion-1]
			return true, nil
		}
		done = 0
		// Recordings are locked before tags by whoever locks both. What was tagged since is seen under the lock.
		if _, err := lockTag(tx, p.UserID(), id); err != nil {
			return false, err
		}
		var more int64
		if err := tx.Model(&models.RecordingTag{}).Where("tag_id = ?", id).Limit(1).Count(&more).Error; err != nil || more > 0 {
			return true, err
		}
		return false, tx.Delete(&models.Tag{}, id).Error
	})
}

// untag takes a tag off a portion of recordings.
func (s *Recordings) untag(tx *gorm.DB, tagID int64, ids []int64) error {
	rows, err := lockAll(tx, ids)
	if err != nil || len(rows) == 0 {
		return err
	}
	var tagged []int64
	links := tx.Model(&models.RecordingTag{}).Where("tag_id = ? AND recording_id IN ?", tagID, ids)
	if err := links.Session(&gorm.Session{}).Pluck("recording_id", &tagged).Error; err != nil {
		return fmt.Errorf("find the recordings of the tag: %w", err)
	}
	// Another may have taken it off some before they were locked.
	rows = slices.DeleteFunc(rows, func(row models.Recording) bool { return !slices.Contains(tagged, row.ID) })
	if err := links.Delete(&models.RecordingTag{}).Error; err != nil {
		return fmt.Errorf("take the tag off: %w", err)
	}
	return s.changedAll(tx, rows, nil, FieldTags)
}

func (e TagEdit) write(row *models.Tag) error {
	if e.ProtectFromDeletion.Given {
		row.ProtectFromDeletion = given(e.ProtectFromDeletion.Value)
	}
	return e.Preset.write(presetColumns{
		name: &row.Name, color: &row.Color, prompt: &row.CustomPrompt, language: &row.DefaultLanguage,
		minSpeakers: &row.DefaultMinSpeakers, maxSpeakers: &row.DefaultMaxSpeakers,
	}, defaultTagColor)
}

// lockTag finds a tag of the account, which stays as it is until the transaction is over.
func lockTag(tx *gorm.DB, userID, id int64) (models.Tag, error) {
	var rows []models.Tag
	if err := locking(tx).Where("id = ? AND user_id = ?", id, userID).Limit(1).Find(&rows).Error; err != nil {
		return models.Tag{}, fmt.Errorf("find the tag: %w", err)
	}
	if len(rows) == 0 {
		return models.Tag{}, problems.New(problems.NotFound, "There is no such tag.")
	}
	return rows[0], nil
}

func tagOf(p auth.Principal, row models.Tag) Tag {
	tag := Tag{
		ID: row.ID, Color: row.Color, DefaultLanguage: row.DefaultLanguage,
		MinSpeakers: row.DefaultMinSpeakers, MaxSpeakers: row.DefaultMaxSpeakers,
		ProtectFromDeletion: row.ProtectFromDeletion, CreatedAt: row.CreatedAt,
	}
	if p.MayRead() {
		tag.Name, tag.CustomPrompt = &row.Name, row.CustomPrompt
	}
	return tag
}

// lockAccount makes changes of what one account may have only so many of, or only one of a name, wait for each other
// until the transaction is over. SQLite has one writer and ignores the lock; rows that merely refer to the account do
// not wait for it.
func lockAccount(tx *gorm.DB, userID int64) error {
	err := tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Select("id").Take(&models.User{}, userID).Error
	if err != nil {
		return fmt.Errorf("lock the account: %w", err)
	}
	return nil
}

// keepRoom locks the account and refuses when it has as many of them as it may.
func keepRoom(tx *gorm.DB, of any, userID int64, what string) error {
	if err := lockAccount(tx, userID); err != nil {
		return err
	}
	var count int64
	if err := tx.Model(of).Where("user_id = ?", userID).Count(&count).Error; err != nil {
		return fmt.Errorf("count the %s: %w", what, err)
	}
	if count >= maxBelongings {
		return problems.New(problems.Conflict, "An account has at most %d %s.", maxBelongings, what)
	}
	return nil
}

// freeName refuses a name that another than the one with this id has; the account is locked.
func freeName(tx *gorm.DB, of any, userID, id int64, name string, kind problems.Kind) error {
	var taken int64
	if err := tx.Model(of).Where("user_id = ? AND name = ? AND id <> ?", userID, name, id).Count(&taken).Error; err != nil {
		return fmt.Errorf("look whether the name is taken: %w", err)
	}
	if taken > 0 {
		return problems.New(kind, "name: there is one of this name already.")
	}
	return nil
}
