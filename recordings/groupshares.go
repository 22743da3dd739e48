package recordings

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// sharePortion is how many recordings one transaction shares at most: each may be shared with every member.
const sharePortion = 50

// sharing is whom a tag or a folder shares with: every member, or those who administer the organization.
type sharing struct{ all, leads bool }

// sharer is a tag or a folder that shares the recordings under it.
type sharer struct {
	source string
	id     int64
	sharing
}

// syncGroupShares makes a recording, whose row the transaction has locked, shared with whom its group tags and its folder
// say, and with nobody else through them; shares by hand stay. It tells whether anybody sees it who did not. Nothing
// new is shared unless it may grow, is COMPLETED, and sharing is switched on; what a tag has shared ends with it all the
// same, lest it come back with the switch.
func (s *Recordings) syncGroupShares(tx *gorm.DB, row *models.Recording, grow bool) (shared bool, err error) {
	now, err := filed(tx, row.ID)
	if err != nil {
		return false, err
	}
	grants, err := groupGrants(tx, now)
	if err != nil {
		return false, err
	}
	wanted := make(map[int64]grant, len(grants))
	for _, g := range grants { // the first, but for one that gives more
		if first, twice := wanted[g.userID]; !twice || g.canEdit && !first.canEdit {
			wanted[g.userID] = g
		}
	}
	_, err = s.unshare(tx, row, func(share models.InternalShare) bool {
		_, stays := wanted[share.UserID]
		return share.Source != ByHand && !stays
	})
	if err != nil {
		return false, err
	}
	there, err := sharesOf(tx, row.ID)
	if err != nil {
		return false, err
	}
	for _, share := range there {
		if err := s.correct(tx, row, share, wanted[share.UserID]); err != nil {
			return false, err
		}
		delete(wanted, share.UserID)
	}
	if !grow || !s.InternalSharing || now.Status != StatusCompleted || len(wanted) == 0 {
		return false, nil
	}
	fresh := make([]grant, 0, len(wanted))
	for _, g := range grants {
		if wanted[g.userID] == g {
			fresh = append(fresh, g)
		}
	}
	return true, s.shareWith(tx, row, fresh)
}

// filed is the row with the owner's folder, which that of a caller who does not own it lacks.
func filed(tx *gorm.DB, id int64) (now models.Recording, err error) {
	err = tx.Select("id", "user_id", "organization_id", "status", "folder_id").Where("id = ?", id).Take(&now).Error
	if err != nil {
		return now, fmt.Errorf("read what is shared: %w", err)
	}
	return now, nil
}

// correct makes a share that stays say by which tag or folder, and how far.
func (s *Recordings) correct(tx *gorm.DB, row *models.Recording, share models.InternalShare, g grant) error {
	if share.Source == ByHand || share.Source == g.source && given(share.SourceID) == g.sourceID && share.CanEdit == g.canEdit {
		return nil
	}
	err := tx.Model(&models.InternalShare{}).Where("id = ?", share.ID).
		UpdateColumns(map[string]any{"source": g.source, "source_id": g.sourceID, "can_edit": g.canEdit}).Error
	if err != nil {
		return fmt.Errorf("correct an internal share: %w", err)
	}
	return s.move(tx, row)
}

// mayEdit reports whether a share lets the caller change the recording. By a tag or a folder that is for who administers the
// organization, and does now: a role that was taken away is felt at once.
func mayEdit(p auth.Principal, share models.InternalShare) bool {
	return share.CanEdit && (share.Source == ByHand || p.May(auth.AdministerMembers))
}

// groupGrants are what the tags and the folder of a recording grant, tags before the folder.
func groupGrants(tx *gorm.DB, row models.Recording) ([]grant, error) {
	sharers, err := sharersOf(tx, row)
	if err != nil || len(sharers) == 0 {
		return nil, err
	}
	var members []models.User
	err = tx.Select("id", "role").Where("organization_id = ? AND disabled_at IS NULL AND id <> ?", row.OrganizationID, row.UserID).
		Order("id").Find(&members).Error
	if err != nil {
		return nil, fmt.Errorf("read the members of the organization: %w", err)
	}
	var grants []grant
	for _, from := range sharers {
		for _, member := range members {
			lead := auth.RoleMay(member.Role, auth.AdministerMembers)
			if from.all || from.leads && lead {
				grants = append(grants, grant{
					userID: member.ID, grantedBy: row.UserID, canEdit: lead, source: from.source, sourceID: from.id,
				})
			}
		}
	}
	return grants, nil
}

// sharersOf are the tags, in their order, and the folder of a recording that share it.
func sharersOf(tx *gorm.DB, row models.Recording) ([]sharer, error) {
	those := func(db *gorm.DB, table string) *gorm.DB {
		return db.Table(table).Where(table+".organization_id = ?", row.OrganizationID).
			Where("(" + table + ".auto_share_on_apply OR " + table + ".share_with_group_lead)")
	}
	var tags []models.Tag
	err := those(tx, "tags").Joins("JOIN recording_tags ON recording_tags.tag_id = tags.id AND recording_tags.recording_id = ?", row.ID).
		Order("recording_tags.position, tags.id").Find(&tags).Error
	if err != nil {
		return nil, fmt.Errorf("read the tags that share: %w", err)
	}
	var folders []models.Folder
	if row.FolderID != nil {
		if err := those(tx, "folders").Where("id = ?", *row.FolderID).Find(&folders).Error; err != nil {
			return nil, fmt.Errorf("read the folder that shares: %w", err)
		}
	}
	var sharers []sharer
	for _, tag := range tags {
		sharers = append(sharers, sharer{ByTag, tag.ID, sharing{tag.AutoShareOnApply, tag.ShareWithGroupLead}})
	}
	for _, folder := range folders {
		sharers = append(sharers, sharer{ByFolder, folder.ID, sharing{folder.AutoShareOnApply, folder.ShareWithGroupLead}})
	}
	return sharers, nil
}

// shareAsFiled is syncGroupShares for what a caller has put under a tag or into a folder: who thereby shares it must be
// allowed to, or nothing is changed. Pending is what pending gave before the change.
func (s *Recordings) shareAsFiled(tx *gorm.DB, p auth.Principal, row *models.Recording, pending map[int64]bool) error {
	shared, err := s.syncGroupShares(tx, row, true)
	if err != nil {
		return err
	}
	after, err := s.pending(tx, p, row)
	if err != nil {
		return err
	}
	for person := range after {
		shared = shared || !pending[person]
	}
	if !shared {
		return nil
	}
	return p.Require(auth.Share) //nolint:wrapcheck // a refusal for the caller
}

// pending are whom a recording will be shared with once it is complete, for a caller that may not share. Else it could file
// a recording of which it has asked for a new transcription, and wait.
func (s *Recordings) pending(tx *gorm.DB, p auth.Principal, row *models.Recording) (map[int64]bool, error) {
	if !s.InternalSharing || p.Scopes().Has(auth.Share) || row.Status == StatusCompleted {
		return nil, nil
	}
	now, err := filed(tx, row.ID)
	if err != nil {
		return nil, err
	}
	grants, err := groupGrants(tx, now)
	if err != nil {
		return nil, err
	}
	people := make(map[int64]bool, len(grants))
	for _, g := range grants {
		people[g.userID] = true
	}
	return people, nil
}

// errTrial takes back what was only tried.
var errTrial = errors.New("only tried")

// mayShareAll refuses a batch by which any recording would come to be shared to who may not share, before anything is
// changed. Each change is tried and taken back; what else may be wrong with one is told in its turn.
func (s *Recordings) mayShareAll(ctx context.Context, p auth.Principal, ids []int64, change func(tx *gorm.DB, id int64) error) error {
	if !s.InternalSharing || p.Scopes().Has(auth.Share) {
		return nil
	}
	for _, id := range ids {
		err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
			if err := change(tx, id); err != nil {
				return err
			}
			return errTrial
		})
		if problems.Is(err, problems.InsufficientScope) {
			return err
		}
	}
	return nil
}

// followShares is syncGroupShares for recordings that have lost a tag or their folder.
func (s *Recordings) followShares(tx *gorm.DB, rows []models.Recording) error {
	if len(rows) == 0 {
		return nil
	}
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	var shared []int64
	err := tx.Model(&models.InternalShare{}).Where("recording_id IN ? AND source <> ?", ids, ByHand).
		Distinct().Pluck("recording_id", &shared).Error
	if err != nil {
		return fmt.Errorf("find what is shared: %w", err)
	}
	for i := range rows {
		if !slices.Contains(shared, rows[i].ID) {
			continue
		}
		if _, err := s.syncGroupShares(tx, &rows[i], false); err != nil {
			return err
		}
	}
	return nil
}

// mayWiden refuses a change of a tag or folder by which recordings may come to be shared to who may not share.
func (s *Recordings) mayWiden(p auth.Principal, from, to holder, before, after sharing) error {
	if from.groupID == 0 {
		before = sharing{}
	}
	if to.groupID == 0 || !s.InternalSharing || (!after.all || before.all) && (!after.leads || before.leads) {
		return nil
	}
	return p.Require(auth.Share) //nolint:wrapcheck // a refusal for the caller
}

// owners narrows a query to the recordings of some accounts; column is where it has the recording's id.
type owners func(db *gorm.DB, column string) *gorm.DB

func everybodys(db *gorm.DB, _ string) *gorm.DB { return db }

// othersThan are the recordings that the caller does not own.
func othersThan(p auth.Principal) owners {
	return func(db *gorm.DB, column string) *gorm.DB {
		return db.Where("EXISTS (SELECT 1 FROM recordings owned WHERE owned.id = "+column+" AND owned.user_id <> ?)", p.UserID())
	}
}

// reshareTagged shares the recordings that bear a tag as it says now.
func (s *Recordings) reshareTagged(ctx context.Context, p auth.Principal, id int64) error {
	return s.reshare(ctx, p, func(tx *gorm.DB, after int64) *gorm.DB {
		return tx.Model(&models.RecordingTag{}).Where("tag_id = ? AND recording_id > ?", id, after).Select("recording_id")
	})
}

// reshareFiled shares the recordings in a folder as it says now.
func (s *Recordings) reshareFiled(ctx context.Context, p auth.Principal, id int64) error {
	return s.reshare(ctx, p, func(tx *gorm.DB, after int64) *gorm.DB {
		return tx.Model(&models.Recording{}).Where("folder_id = ? AND id > ?", id, after).Select("id AS recording_id")
	})
}

func (s *Recordings) reshare(ctx context.Context, p auth.Principal, which func(tx *gorm.DB, after int64) *gorm.DB) error {
	after := int64(0)
	return s.inPortions(ctx, "share the recordings", func(tx *gorm.DB) (left bool, err error) {
		var ids []int64
		if err := which(tx, after).Order("recording_id").Limit(sharePortion).Scan(&ids).Error; err != nil {
			return false, fmt.Errorf("find the recordings: %w", err)
		}
		rows, err := lockAll(tx, ids)
		if err != nil {
			return false, err
		}
		for i := range rows {
			if _, err := s.syncGroupShares(tx, &rows[i], p.Scopes().Has(auth.Share)); err != nil {
				return false, err
			}
		}
		if len(ids) == sharePortion {
			after = ids[len(ids)-1]
			return true, nil
		}
		return false, nil
	})
}
