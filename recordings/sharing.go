package recordings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// maxInternalShares is with how many people a recording is shared by hand.
const maxInternalShares = 1000

// Person is somebody of an organization, by one of three names: the id, else the username, else the address.
type Person struct {
	ID              int64
	Username, Email string
}

// InternalShare is somebody who sees a recording. The first of a recording is its owner, with an ID of 0.
type InternalShare struct {
	ID                  int64
	Person              Person
	IsOwner             bool
	CanEdit, CanReshare bool
	Source              string
	GrantedBy           int64
	CreatedAt           time.Time
}

// InternalShareWish is whom a recording is to be shared with, and what they are to have of it.
type InternalShareWish struct {
	With                Person
	CanEdit, CanReshare bool
}

// Revoked is what ending a share has ended.
type Revoked struct {
	// Count is how many shares have ended, those that hung on it with it.
	Count int
}

// MayShareInternally refuses everything about internal shares where the operator wants none.
func (s *Recordings) MayShareInternally() error {
	if !s.InternalSharing {
		return problems.New(problems.FeatureDisabled, "Recordings are not shared between the accounts of this server.")
	}
	return nil
}

// ShareInternally shares a recording of the caller's own, or one that it may share on, with somebody of its organization.
// Nobody gives more than they have.
func (s *Recordings) ShareInternally(ctx context.Context, p auth.Principal, id int64, wish InternalShareWish) (InternalShare, error) {
	if err := s.MayShareInternally(); err != nil {
		return InternalShare{}, err
	}
	var made InternalShare
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		row, own, err := s.shareable(locking(tx), p, id)
		if err != nil {
			return err
		}
		if own != nil && wish.CanEdit && !own.CanEdit {
			return problems.New(problems.InsufficientPermission, "can_edit is more than you have of this recording.")
		}
		person, err := colleague(tx, p, wish.With)
		if err != nil {
			return err
		}
		if err := shareOnce(tx, &row, person, own == nil); err != nil {
			return err
		}
		err = s.shareWith(tx, &row, []grant{{
			userID: person.ID, grantedBy: p.UserID(), canEdit: wish.CanEdit, canReshare: wish.CanReshare, source: ByHand,
		}})
		if err != nil {
			return err
		}
		made, err = shareTold(tx, p, row.ID, person)
		return err
	})
	if err != nil {
		return InternalShare{}, unavailable("share the recording", err)
	}
	return made, nil
}

// shareable finds a recording whose shares the caller has a say in: its owner, with a nil share, and who may share it on.
func (s *Recordings) shareable(db *gorm.DB, p auth.Principal, id int64) (models.Recording, *models.InternalShare, error) {
	fresh := db.Session(&gorm.Session{NewDB: true})
	row, err := s.visible(db, p, id)
	if err != nil || row.UserID == p.UserID() {
		return row, nil, err
	}
	share, shared, err := shareOfCaller(fresh, p, row)
	if err != nil {
		return models.Recording{}, nil, unavailable("look whether the recording is shared", err)
	}
	if !shared || !share.CanReshare {
		return models.Recording{}, nil, problems.New(problems.InsufficientPermission, "The recording is not yours to share.")
	}
	return row, &share, nil
}

// colleague finds an active account of the caller's organization; all others are as if they did not exist.
func colleague(tx *gorm.DB, p auth.Principal, who Person) (models.User, error) {
	query := tx.Select("id", "username", "email").Where("organization_id = ? AND disabled_at IS NULL", p.OrganizationID())
	switch {
	case who.ID != 0:
		query = query.Where("id = ?", who.ID)
	case who.Username != "":
		query = query.Where("username = ?", who.Username)
	default:
		query = query.Where("email = ?", strings.ToLower(who.Email))
	}
	var users []models.User
	if err := query.Limit(1).Find(&users).Error; err != nil {
		return models.User{}, fmt.Errorf("find the person: %w", err)
	}
	if len(users) == 0 {
		return models.User{}, problems.New(problems.NotFound, "There is no such person in your organization.")
	}
	if users[0].ID == p.UserID() {
		return models.User{}, problems.New(problems.InvalidParameter, "A recording is shared with somebody else.")
	}
	return users[0], nil
}

// shareOnce refuses a person who sees the recording already. Where that is by what the organization shares, the owner may
// put a share by hand in its place.
func shareOnce(tx *gorm.DB, row *models.Recording, person models.User, byOwner bool) error {
	if person.ID == row.UserID {
		return problems.New(problems.Conflict, "The recording is this person's own.")
	}
	shares, err := sharesOf(tx, row.ID)
	if err != nil {
		return err
	}
	byHand := 0
	for _, share := range shares {
		if share.UserID == person.ID && (share.Source == ByHand || !byOwner) {
			return problems.New(problems.Conflict, "The recording is shared with this person already.")
		}
		if share.Source == ByHand {
			byHand++
		}
	}
	if byHand >= maxInternalShares {
		return problems.New(problems.Conflict, "A recording is shared with at most %d people.", maxInternalShares)
	}
	return nil
}

func shareTold(tx *gorm.DB, p auth.Principal, id int64, person models.User) (InternalShare, error) {
	var shares []models.InternalShare
	if err := tx.Where("recording_id = ? AND user_id = ?", id, person.ID).Limit(1).Find(&shares).Error; err != nil {
		return InternalShare{}, fmt.Errorf("read the new share: %w", err)
	}
	if len(shares) == 0 {
		return InternalShare{}, notFound()
	}
	return internalShareOf(p, shares[0], person), nil
}

// InternalShares lists who sees a recording, its owner first, for those who have a say in it.
func (s *Recordings) InternalShares(ctx context.Context, p auth.Principal, id int64) ([]InternalShare, error) {
	if err := s.MayShareInternally(); err != nil {
		return nil, err
	}
	db := s.db.Read.WithContext(ctx)
	row, _, err := s.shareable(db, p, id)
	if err != nil {
		return nil, err
	}
	shares, err := sharesOf(db, id)
	if err != nil {
		return nil, unavailable("list the shares", err)
	}
	ids := []int64{row.UserID}
	for _, share := range shares {
		ids = append(ids, share.UserID)
	}
	people, err := peopleNamed(db, ids)
	if err != nil {
		return nil, unavailable("read who sees the recording", err)
	}
	list := []InternalShare{{
		Person: personOf(p, people[row.UserID]), IsOwner: true, CanEdit: true, CanReshare: true, GrantedBy: row.UserID, CreatedAt: row.CreatedAt,
	}}
	for _, share := range shares {
		list = append(list, internalShareOf(p, share, people[share.UserID]))
	}
	return list, nil
}

// EndInternalShare ends a share that the caller gave, or any of a recording of its own, and those that its person gave on.
func (s *Recordings) EndInternalShare(ctx context.Context, p auth.Principal, id, shareID int64) (Revoked, error) {
	return s.endShare(ctx, p, id, func(share models.InternalShare) bool { return share.ID == shareID })
}

// EndInternalShareWith is EndInternalShare of the share that a person has.
func (s *Recordings) EndInternalShareWith(ctx context.Context, p auth.Principal, id, userID int64) (Revoked, error) {
	return s.endShare(ctx, p, id, func(share models.InternalShare) bool { return share.UserID == userID })
}

func (s *Recordings) endShare(ctx context.Context, p auth.Principal, id int64, which func(models.InternalShare) bool) (Revoked, error) {
	if err := s.MayShareInternally(); err != nil {
		return Revoked{}, err
	}
	var revoked Revoked
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		row, err := s.visible(locking(tx), p, id)
		if err != nil {
			return err
		}
		shares, err := sharesOf(tx, row.ID)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(shares, which)
		if at < 0 || row.UserID != p.UserID() && shares[at].GrantedBy != p.UserID() {
			return problems.New(problems.NotFound, "There is no such share, or it is not yours to end.")
		}
		if shares[at].Source != ByHand {
			return problems.New(problems.Conflict, "The recording is shared by its tag or folder; take it off to end that.")
		}
		ended, err := s.unshare(tx, &row, which)
		revoked.Count = len(ended)
		return err
	})
	if err != nil {
		return Revoked{}, unavailable("end the share", err)
	}
	return revoked, nil
}

func internalShareOf(p auth.Principal, share models.InternalShare, person models.User) InternalShare {
	return InternalShare{
		ID: share.ID, Person: personOf(p, person), CanEdit: share.CanEdit, CanReshare: share.CanReshare,
		Source: share.Source, GrantedBy: share.GrantedBy, CreatedAt: share.CreatedAt,
	}
}

// personOf names somebody to the caller; one that may not read is told the id alone.
func personOf(p auth.Principal, user models.User) Person {
	if !p.MayRead() {
		return Person{ID: user.ID}
	}
	return Person{user.ID, user.Username, user.Email}
}
