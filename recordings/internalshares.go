package recordings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// The sources of an internal share.
const (
	ByHand   = "manual"
	ByTag    = "group_tag"
	ByFolder = "group_folder"
)

// sharesAtOne is how many rows of shares one statement writes.
const sharesAtOne = 500

// grant is what a person is to be given of a recording of another.
type grant struct {
	userID, grantedBy   int64
	canEdit, canReshare bool
	source              string
	sourceID            int64 // the tag or the folder; 0 for ByHand
}

// sharesOf are all internal shares of a recording, by id.
func sharesOf(tx *gorm.DB, recordingID int64) ([]models.InternalShare, error) {
	var shares []models.InternalShare
	if err := tx.Where("recording_id = ?", recordingID).Order("id").Find(&shares).Error; err != nil {
		return nil, fmt.Errorf("read the internal shares: %w", err)
	}
	return shares, nil
}

// shareWith gives people a recording whose row the transaction has locked, and makes it arrive in the feeds of those who
// are new. Each has one share of it: one by hand stands in the place of any other, and one of a tag or folder in the
// place of another such that gives less. The owner is passed over. What is as it should be moves nothing.
//
// Who the grants are for are active members of the owner's organization: the caller has seen to that.
func (s *Recordings) shareWith(tx *gorm.DB, row *models.Recording, grants []grant) error {
	shares, err := sharesOf(tx, row.ID)
	if err != nil {
		return err
	}
	has := make(map[int64]int, len(shares))
	for i, share := range shares {
		has[share.UserID] = i
	}
	now := s.moment()
	var fresh, changed []models.InternalShare
	for _, g := range grants {
		wanted := g.share(row.ID, now)
		at, shared := has[g.userID]
		switch {
		case g.userID == row.UserID:
		case !shared:
			has[g.userID] = len(shares)
			shares, fresh = append(shares, wanted), append(fresh, wanted)
		case outweighs(wanted, shares[at]) && shares[at].ID != 0:
			wanted.ID, wanted.CreatedAt = shares[at].ID, shares[at].CreatedAt
			shares[at], changed = wanted, append(changed, wanted)
		}
	}
	if len(fresh) == 0 && len(changed) == 0 {
		return nil
	}
	if len(fresh) > 0 {
		if err := tx.CreateInBatches(&fresh, sharesAtOne).Error; err != nil {
			return fmt.Errorf("write the internal shares: %w", err)
		}
	}
	for _, share := range changed {
		if err := tx.Save(&share).Error; err != nil {
			return fmt.Errorf("change an internal share: %w", err)
		}
	}
	return s.move(tx, row)
}

func (g grant) share(recordingID int64, now time.Time) models.InternalShare {
	share := models.InternalShare{
		RecordingID: recordingID, UserID: g.userID, GrantedBy: g.grantedBy,
		CanEdit: g.canEdit, CanReshare: g.canReshare, Source: g.source, CreatedAt: now,
	}
	if g.source != ByHand {
		share.SourceID = &g.sourceID
	}
	return share
}

// outweighs reports whether a share is to stand in the place of one that is there.
func outweighs(wanted, there models.InternalShare) bool {
	if wanted.Source == ByHand || there.Source == ByHand {
		return wanted.Source == ByHand && there.Source != ByHand
	}
	return wanted.CanEdit && !there.CanEdit || wanted.CanReshare && !there.CanReshare
}

// unshare ends those internal shares of a recording whose row the transaction has locked that which names, and those
// that their people gave on in turn. Each that ends is told to its person's feed. It gives what has ended; of a share that
// a tag or folder gives as well, the caller calls shareWith for that one again.
func (s *Recordings) unshare(tx *gorm.DB, row *models.Recording, which func(models.InternalShare) bool) ([]models.InternalShare, error) {
	shares, err := sharesOf(tx, row.ID)
	if err != nil {
		return nil, err
	}
	ended := ending(shares, which)
	if len(ended) == 0 {
		return nil, nil
	}
	for some := range slices.Chunk(ended, sharesAtOne) {
		ids := make([]int64, len(some))
		for i, share := range some {
			ids[i] = share.ID
		}
		if err := tx.Where("id IN ?", ids).Delete(&models.InternalShare{}).Error; err != nil {
			return nil, fmt.Errorf("end internal shares: %w", err)
		}
	}
	if err := s.move(tx, row); err != nil {
		return nil, err
	}
	people := make([]int64, len(ended))
	for i, share := range ended {
		people[i] = share.UserID
	}
	return ended, tell(tx, row.ID, people, ReasonAccessRevoked, row.UpdatedAt)
}

// ending are the shares that which names, and all that hang on them: given by somebody whose own share ends.
func ending(shares []models.InternalShare, which func(models.InternalShare) bool) []models.InternalShare {
	var ended []models.InternalShare
	over := map[int64]bool{} // people whose share ends
	for more := true; more; {
		more = false
		shares = slices.DeleteFunc(slices.Clone(shares), func(share models.InternalShare) bool {
			if !which(share) && (share.Source != ByHand || !over[share.GrantedBy]) {
				return false
			}
			ended, over[share.UserID], more = append(ended, share), true, true
			return true
		})
	}
	return ended
}

// move moves updated_at for what callers see and receivers of webhooks are not told.
func (s *Recordings) move(tx *gorm.DB, row *models.Recording) error {
	row.UpdatedAt = later(row.UpdatedAt, s.moment())
	return moveTo(tx, row.UpdatedAt, nil, row.ID)
}

// endSharesOf ends what an account gave and what it was given, recording by recording: it is about to go, and what the
// database would take with it nobody's feed would tell.
func (s *Recordings) endSharesOf(ctx context.Context, userID int64) error {
	for {
		var ids []int64
		err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
			err := tx.Model(&models.InternalShare{}).Where("user_id = ? OR granted_by = ?", userID, userID).
				Distinct("recording_id").Order("recording_id").Limit(eraseRecordings).Pluck("recording_id", &ids).Error
			if err != nil || len(ids) == 0 {
				return err
			}
			var rows []models.Recording
			if err := locking(tx).Where("id IN ?", ids).Order("id").Find(&rows).Error; err != nil {
				return err
			}
			for i := 0; i < len(rows) && err == nil; i++ {
				_, err = s.unshare(tx, &rows[i], func(share models.InternalShare) bool {
					return share.UserID == userID || share.GrantedBy == userID
				})
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("end the shares of account %d: %w", userID, err)
		}
		if len(ids) == 0 {
			return nil
		}
	}
}
