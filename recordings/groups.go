package recordings

import (
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// A group of the contract is the caller's organization. What it shares is used by every member and changed by those who may
// publish; another organization does not exist.

// holder is whose a tag or a folder is: an account's own, or, with a groupID, what an organization shares.
type holder struct{ userID, groupID int64 }

func holderOf(userID int64, organizationID *int64) holder {
	return holder{userID: userID, groupID: given(organizationID)}
}

// group is the organization's id as rows have it.
func (h holder) group() *int64 {
	if h.groupID == 0 {
		return nil
	}
	return &h.groupID
}

// things narrows a query of tags or folders to the holder's.
func (h holder) things(db *gorm.DB) *gorm.DB {
	if h.groupID != 0 {
		return db.Where("organization_id = ?", h.groupID)
	}
	return db.Where("user_id = ? AND organization_id IS NULL", h.userID)
}

// called is whom a refusal is about.
func (h holder) called() string {
	if h.groupID != 0 {
		return "An organization"
	}
	return "An account"
}

// usable are the tags, or the folders, that the caller sees: its own and those of its organization.
func usable(db *gorm.DB, p auth.Principal) *gorm.DB {
	return db.Where("((user_id = ? AND organization_id IS NULL) OR organization_id = ?)", p.UserID(), p.OrganizationID())
}

// fileable are the tags, or the folders, that the caller may put a recording of the owner's under: on its own recordings
// all that it has, on those of others, if it administers the organization, what the organization shares.
func fileable(db *gorm.DB, p auth.Principal, ownerID int64) *gorm.DB {
	switch {
	case ownerID == p.UserID():
		return usable(db, p)
	case p.May(auth.AdministerMembers):
		return db.Where("organization_id = ?", p.OrganizationID())
	}
	return db.Where("1 = 0")
}

// holderFor is whose the caller makes what it makes with a group_id: nil and 0 are its own.
func holderFor(p auth.Principal, groupID *int64) (holder, error) {
	switch given(groupID) {
	case 0:
		return holder{userID: p.UserID()}, nil
	case p.OrganizationID():
		return holder{p.UserID(), p.OrganizationID()}, p.Permit(auth.Publish)
	}
	return holder{}, problems.New(problems.NotFound, "There is no such group.")
}

// changing finds whose a tag or folder is that the caller wants to change, refuses who may not, and locks what the change
// is counted and named among: the account before the organization, lest two wait for each other.
func changing(tx *gorm.DB, p auth.Principal, of any, id int64, group Edit[int64], none *problems.Error) (from, to holder, err error) {
	var found []struct {
		UserID         int64
		OrganizationID *int64
	}
	if err := usable(tx.Model(of), p).Where("id = ?", id).Limit(1).Scan(&found).Error; err != nil {
		return holder{}, holder{}, fmt.Errorf("find whose it is: %w", err)
	}
	if len(found) == 0 {
		return holder{}, holder{}, none
	}
	from = holderOf(p.UserID(), found[0].OrganizationID)
	if from.groupID != 0 {
		if err := p.Permit(auth.Publish); err != nil {
			return holder{}, holder{}, err //nolint:wrapcheck // a refusal for the caller
		}
	}
	to = from
	if group.Given {
		if to, err = holderFor(p, group.Value); err != nil {
			return holder{}, holder{}, err
		}
	}
	if from.groupID == 0 || to.groupID == 0 {
		if err := lockAccount(tx, p.UserID()); err != nil {
			return holder{}, holder{}, err
		}
	}
	if shared := max(from.groupID, to.groupID); shared != 0 {
		err = lockOrganization(tx, shared)
	}
	return from, to, err
}

// lock makes changes of what one holder may have only so many of, or only one of a name, wait for each other.
func (h holder) lock(tx *gorm.DB) error {
	if h.groupID != 0 {
		return lockOrganization(tx, h.groupID)
	}
	return lockAccount(tx, h.userID)
}

// lockOrganization is lockAccount for what an organization shares.
func lockOrganization(tx *gorm.DB, id int64) error {
	err := tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Select("id").Take(&models.Organization{}, id).Error
	if err != nil {
		return fmt.Errorf("lock the organization: %w", err)
	}
	return nil
}

// keepRoom refuses when the holder, who is locked, has as many of them as it may.
func keepRoom(tx *gorm.DB, of any, h holder, what string) error {
	var count int64
	if err := h.things(tx.Model(of)).Count(&count).Error; err != nil {
		return fmt.Errorf("count the %s: %w", what, err)
	}
	if count >= maxBelongings {
		return problems.New(problems.Conflict, "%s has at most %d %s.", h.called(), maxBelongings, what)
	}
	return nil
}

// freeName refuses a name that another than the one with this id has; the holder is locked.
func freeName(tx *gorm.DB, of any, h holder, id int64, name string, kind problems.Kind) error {
	var taken int64
	if err := h.things(tx.Model(of)).Where("name = ? AND id <> ?", name, id).Count(&taken).Error; err != nil {
		return fmt.Errorf("look whether the name is taken: %w", err)
	}
	if taken > 0 {
		return problems.New(kind, "name: there is one of this name already.")
	}
	return nil
}

// settle is keepRoom where a thing comes to another holder, and freeName in any case.
func settle(tx *gorm.DB, of any, from, to holder, id int64, name, what string) error {
	if from != to {
		if err := keepRoom(tx, of, to, what); err != nil {
			return err
		}
	}
	return freeName(tx, of, to, id, name, problems.Conflict)
}

// Holding says whose a tag or a folder is, and how the organization shares by it. GroupID is nil for the account's own.
type Holding struct {
	GroupID *int64
	// GroupName is nil for a caller that may not read, too.
	GroupName *string
	// AutoShare shares recordings with every member, ShareWithLead with those who administer the organization.
	AutoShare, ShareWithLead bool
	// CanEdit tells whether the caller may change it; Lead whether it administers the organization.
	CanEdit, Lead bool
}

// HoldingEdit is what becomes of it. A GroupID of nil or 0 makes it the caller's own.
type HoldingEdit struct {
	GroupID                  Edit[int64]
	AutoShare, ShareWithLead Edit[bool]
}

// write sets how the holder shares: an account's own has the flags of the contract, which count for nothing.
func (e HoldingEdit) write(to holder, autoShare, withLead *bool) {
	for _, flag := range []struct {
		edit Edit[bool]
		now  *bool
	}{{e.AutoShare, autoShare}, {e.ShareWithLead, withLead}} {
		switch {
		case to.groupID == 0:
			*flag.now = true
		case flag.edit.Given:
			*flag.now = flag.edit.Value == nil || *flag.edit.Value
		}
	}
}

func holdingOf(p auth.Principal, organizationID *int64, name string, autoShare, withLead bool) Holding {
	held := Holding{AutoShare: true, ShareWithLead: true, CanEdit: true}
	if organizationID == nil {
		return held
	}
	held = Holding{
		GroupID: organizationID, AutoShare: autoShare, ShareWithLead: withLead,
		CanEdit: p.May(auth.Publish), Lead: p.May(auth.AdministerMembers),
	}
	if p.MayRead() {
		held.GroupName = &name
	}
	return held
}

// groupName is what the caller's organization is called, as its groups are; every group that a caller sees is that one.
func groupName(db *gorm.DB, p auth.Principal) (string, error) {
	var names []string
	if err := db.Model(&models.Organization{}).Where("id = ?", p.OrganizationID()).Pluck("name", &names).Error; err != nil {
		return "", fmt.Errorf("read the name of the organization: %w", err)
	}
	if len(names) == 0 {
		return "", nil
	}
	return names[0], nil
}
