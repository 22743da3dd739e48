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
	// maxBelongings bounds the tags of an account, its folders, and those that an organization shares.
	maxBelongings   = 1000
	defaultTagColor = "#3B82F6"
)

// Tag is a tag as the caller sees it. Name and CustomPrompt are nil for one that may not read.
type Tag struct {
	Holding

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
	HoldingEdit
	ProtectFromDeletion Edit[bool]
}

// Tags lists the caller's own tags by name, then those of its organization; there are so few that they need no pages. A
// name that is not "" keeps those that are called so, in any case.
func (s *Recordings) Tags(ctx context.Context, p auth.Principal, name string) ([]Tag, error) {
	db := s.db.Read.WithContext(ctx)
	var rows []models.Tag
	if err := usable(db, p).Order("id").Limit(2 * maxBelongings).Find(&rows).Error; err != nil {
		return nil, unavailable("list the tags", err)
	}
	// Sorted here: the databases sort names each by its own rules.
	slices.SortStableFunc(rows, func(a, b models.Tag) int {
		return cmp.Or(ownFirst(a.OrganizationID, b.OrganizationID), byName(a.Name, b.Name))
	})
	if name != "" {
		rows = slices.DeleteFunc(rows, func(row models.Tag) bool { return !strings.EqualFold(row.Name, name) })
	}
	tags, err := tagsOf(db, p, rows)
	if err != nil {
		return nil, unavailable("list the tags", err)
	}
	return tags, nil
}

// ownFirst orders what is the account's own before what its organization shares.
func ownFirst(a, b *int64) int { return cmp.Compare(given(a), given(b)) }

// byName orders names as people read them: the same letters in another case stand together.
func byName(a, b string) int {
	return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
}

// CreateTag makes a tag, of the organization where a group is named. A name that is there already is an invalid_parameter,
// as the contract has it.
func (s *Recordings) CreateTag(ctx context.Context, p auth.Principal, edit TagEdit) (Tag, error) {
	to, err := holderFor(p, edit.GroupID.Value)
	if err != nil {
		return Tag{}, err
	}
	row := models.Tag{
		OrganizationID: to.group(), UserID: p.UserID(), AutoShareOnApply: true, ShareWithGroupLead: true, CreatedAt: s.moment(),
	}
	if err := edit.write(to, &row); err != nil {
		return Tag{}, err
	}
	var tag Tag
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := to.lock(tx); err != nil {
			return err
		}
		if err := keepRoom(tx, &models.Tag{}, to, "tags"); err != nil {
			return err
		}
		if err := freeName(tx, &models.Tag{}, to, 0, row.Name, problems.InvalidParameter); err != nil {
			return err
		}
		if err := tx.Create(&row).Error; err != nil {
			return fmt.Errorf("insert the tag: %w", err)
		}
		tag, err = tagOf(tx, p, row)
		return err
	})
	if err != nil {
		return Tag{}, unavailable("create the tag", err)
	}
	return tag, nil
}

// UpdateTag changes a tag of the caller's own or of its organization, and moves it between the two. A name that another of
// them has is a conflict. What is shared by it follows: in portions, and where that fails, asking again goes on from there.
func (s *Recordings) UpdateTag(ctx context.Context, p auth.Principal, id int64, edit TagEdit) (Tag, error) {
	var tag Tag
	write := func(tx *gorm.DB) error {
		from, to, err := changing(tx, p, &models.Tag{}, id, edit.GroupID, noTag())
		if err != nil {
			return err
		}
		row, err := lockTag(tx, from, id)
		if err != nil {
			return err
		}
		before := sharing{row.AutoShareOnApply, row.ShareWithGroupLead}
		if err := edit.write(to, &row); err != nil {
			return err
		}
		if err := s.mayWiden(p, from, to, before, sharing{row.AutoShareOnApply, row.ShareWithGroupLead}); err != nil {
			return err
		}
		if err := settle(tx, &models.Tag{}, from, to, id, row.Name, "tags"); err != nil {
			return err
		}
		if from != to {
			row.OrganizationID, row.UserID = to.group(), p.UserID()
		}
		if err := tx.Model(&row).Select("*").Omit("id", "created_at").UpdateColumns(row).Error; err != nil {
			return fmt.Errorf("update the row: %w", err)
		}
		tag, err = tagOf(tx, p, row)
		return err
	}
	var err error
	if edit.GroupID.Given && given(edit.GroupID.Value) == 0 {
		err = s.clearTag(ctx, p, id, edit.GroupID, othersThan(p), "change the tag", write)
	} else if err = s.db.Transaction(ctx, write); err != nil {
		err = unavailable("change the tag", err)
	}
	if err == nil && edit.HoldingEdit != (HoldingEdit{}) {
		err = s.reshareTagged(ctx, p, id)
	}
	if err != nil {
		return Tag{}, err
	}
	return tag, nil
}

// DeleteTag deletes a tag of the caller's own or of its organization, and takes it off every recording, which each thereby
// changes.
func (s *Recordings) DeleteTag(ctx context.Context, p auth.Principal, id int64) error {
	return s.clearTag(ctx, p, id, Edit[int64]{}, everybodys, "delete the tag", func(tx *gorm.DB) error {
		return tx.Delete(&models.Tag{}, id).Error
	})
}

// clearTag takes a tag off the recordings of some, in portions, and does the rest once there are none any more.
func (s *Recordings) clearTag(
	ctx context.Context, p auth.Principal, id int64, group Edit[int64], whose owners, attempt string, rest func(tx *gorm.DB) error,
) error {
	done := int64(0) // by id: what was passed leaves dead entries in the index, which no portion need pass again
	return s.inPortions(ctx, attempt, func(tx *gorm.DB) (left bool, err error) {
		from, _, err := changing(tx, p, &models.Tag{}, id, group, noTag())
		if err != nil {
			return false, err
		}
		var ids []int64
		links := whose(tx.Model(&models.RecordingTag{}), "recording_tags.recording_id").Where("tag_id = ?", id).Session(&gorm.Session{})
		err = links.Where("recording_id > ?", done).Order("recording_id").Limit(portion).Pluck("recording_id", &ids).Error
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
		if _, err := lockTag(tx, from, id); err != nil {
			return false, err
		}
		var more int64
		if err := links.Limit(1).Count(&more).Error; err != nil || more > 0 {
			return true, err
		}
		return false, rest(tx)
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
	if err := s.changedAll(tx, rows, nil, FieldTags); err != nil {
		return err
	}
	return s.followShares(tx, rows)
}

func (e TagEdit) write(to holder, row *models.Tag) error {
	e.HoldingEdit.write(to, &row.AutoShareOnApply, &row.ShareWithGroupLead)
	if e.ProtectFromDeletion.Given {
		row.ProtectFromDeletion = given(e.ProtectFromDeletion.Value)
	}
	return e.Preset.write(presetColumns{
		name: &row.Name, color: &row.Color, prompt: &row.CustomPrompt, language: &row.DefaultLanguage,
		minSpeakers: &row.DefaultMinSpeakers, maxSpeakers: &row.DefaultMaxSpeakers,
	}, defaultTagColor)
}

// lockTag finds a tag of the holder's, which stays as it is until the transaction is over.
func lockTag(tx *gorm.DB, of holder, id int64) (models.Tag, error) {
	var rows []models.Tag
	if err := of.things(locking(tx)).Where("id = ?", id).Limit(1).Find(&rows).Error; err != nil {
		return models.Tag{}, fmt.Errorf("find the tag: %w", err)
	}
	if len(rows) == 0 {
		return models.Tag{}, noTag()
	}
	return rows[0], nil
}

func noTag() *problems.Error {
	return problems.New(problems.NotFound, "There is no such tag.")
}

// tagsOf are the tags as the caller sees them.
func tagsOf(db *gorm.DB, p auth.Principal, rows []models.Tag) ([]Tag, error) {
	name := ""
	if slices.ContainsFunc(rows, func(row models.Tag) bool { return row.OrganizationID != nil }) {
		var err error
		if name, err = groupName(db, p); err != nil {
			return nil, err
		}
	}
	tags := make([]Tag, len(rows))
	for i, row := range rows {
		tags[i] = Tag{
			Holding: holdingOf(p, row.OrganizationID, name, row.AutoShareOnApply, row.ShareWithGroupLead),
			ID:      row.ID, Color: row.Color, DefaultLanguage: row.DefaultLanguage,
			MinSpeakers: row.DefaultMinSpeakers, MaxSpeakers: row.DefaultMaxSpeakers,
			ProtectFromDeletion: row.ProtectFromDeletion, CreatedAt: row.CreatedAt,
		}
		if p.MayRead() {
			tags[i].Name, tags[i].CustomPrompt = &row.Name, row.CustomPrompt
		}
	}
	return tags, nil
}

func tagOf(db *gorm.DB, p auth.Principal, row models.Tag) (Tag, error) {
	tags, err := tagsOf(db, p, []models.Tag{row})
	if err != nil {
		return Tag{}, err
	}
	return tags[0], nil
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
