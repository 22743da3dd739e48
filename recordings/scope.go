package recordings

import (
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// Scope is whose recordings are asked for.
type Scope string

// The scopes; the empty one is the first.
const (
	ScopeOwn    Scope = "own"
	ScopeShared Scope = "shared"
	ScopeAll    Scope = "all"
)

// own and shared tell which of the two a scope has on this server: where nothing is shared, all is the caller's own.
func (s *Recordings) own(scope Scope) bool { return scope != ScopeShared }

func (s *Recordings) shared(scope Scope) bool {
	return s.InternalSharing && (scope == ScopeShared || scope == ScopeAll)
}

// othersShared are the complete recordings of others that a caller sees. Its arguments are the account and its
// organization.
func othersShared(p auth.Principal) string {
	return "status = 'COMPLETED' AND id IN (SELECT s.recording_id FROM internal_shares s WHERE s.user_id = ?" + andHolds(p) + ") AND organization_id = ? " +
		"AND NOT EXISTS (SELECT 1 FROM users owner WHERE owner.id = recordings.user_id AND owner.disabled_at IS NOT NULL)"
}

// andHolds narrows the shares s of the caller to those that its role of now lets it have.
func andHolds(p auth.Principal) string {
	if p.May(auth.AdministerMembers) {
		return ""
	}
	return " AND " + models.SharedWithEverybody
}

// sharedWith keeps the complete recordings of others that are shared with the caller.
func sharedWith(query *gorm.DB, p auth.Principal) *gorm.DB {
	return query.Where(othersShared(p), p.UserID(), p.OrganizationID())
}

// inScope keeps the recordings of a scope.
func (s *Recordings) inScope(query *gorm.DB, p auth.Principal, scope Scope) *gorm.DB {
	switch own, shared := s.own(scope), s.shared(scope); {
	case own && shared:
		return query.Where("(user_id = ? OR ("+othersShared(p)+"))", p.UserID(), p.UserID(), p.OrganizationID())
	case shared:
		return sharedWith(query, p)
	case own:
		return query.Where("user_id = ?", p.UserID())
	}
	return query.Where("1 = 0")
}

// visibleTag is true of a tag t that the caller sees: its own, or the organization's. Its arguments are both ids.
const visibleTag = "(t.user_id = ? AND t.organization_id IS NULL OR t.organization_id = ?)"

// tagged keeps recordings that have one of the tags, of those that the caller sees.
func tagged(query *gorm.DB, p auth.Principal, ids ...int64) *gorm.DB {
	return query.Where("id IN (SELECT g.recording_id FROM recording_tags g JOIN tags t ON t.id = g.tag_id WHERE g.tag_id IN ? AND "+
		visibleTag+")", ids, p.UserID(), p.OrganizationID())
}

// taggedEach is tagged where recordings are looked at one after the other in another order.
func taggedEach(query *gorm.DB, p auth.Principal, ids ...int64) *gorm.DB {
	return query.Where("EXISTS (SELECT 1 FROM recording_tags g JOIN tags t ON t.id = g.tag_id WHERE g.recording_id = recordings.id AND "+
		"g.tag_id IN ? AND "+visibleTag+")", ids, p.UserID(), p.OrganizationID())
}

// groupFolders are the folders that everybody in the caller's organization sees.
const groupFolders = "(SELECT id FROM folders WHERE organization_id = ?)"

// keptOfOthers is kept for recordings that are shared with the caller: marks are the caller's, and folders those of the
// organization.
func (s *Recordings) keptOfOthers(query *gorm.DB, p auth.Principal, f Filter) *gorm.DB {
	if len(f.Statuses) > 0 {
		query = query.Where("status IN ?", f.Statuses)
	}
	if f.Text != "" {
		query = query.Where(named, likeInside(f.Text), likeInside(f.Text))
	}
	for column, wanted := range f.flags() {
		query = query.Where("COALESCE((SELECT k."+column+" FROM recording_states k WHERE k.recording_id = recordings.id AND k.user_id = ?), ?) = ?",
			p.UserID(), column == string(FieldInbox), wanted)
	}
	folder, noFolder := f.Folder, f.NoFolder
	f.Folder, f.NoFolder = 0, false
	if folder != 0 {
		query = query.Where("folder_id = ? AND folder_id IN "+groupFolders, folder, p.OrganizationID())
	}
	if noFolder {
		query = query.Where("(folder_id IS NULL OR folder_id NOT IN "+groupFolders+")", p.OrganizationID())
	}
	return f.applyBelongings(f.applyDates(query), p)
}

// union is a page of two queries in one order. Each gives no more than the page can need, by its own index: over both at
// once the database would sort all that the account has.
func union(db, one, other *gorm.DB, filter Filter, skip, most int) *gorm.DB {
	const columns = "id, created_at, updated_at, meeting_date, title, file_size, status"
	part := func(query *gorm.DB) *gorm.DB {
		return query.Select(columns).Order(filter.order()).Limit(skip + most)
	}
	return db.Raw("SELECT id FROM (SELECT * FROM (?) AS mine UNION ALL SELECT * FROM (?) AS theirs) AS listed ORDER BY "+
		filter.order()+" LIMIT ? OFFSET ?", part(one), part(other), most, skip)
}

// Owner is whose a recording is. Username is nil where lists name nobody.
type Owner struct {
	ID       int64
	Username *string
}

// SharedWithCaller is the share by which a caller sees a recording.
type SharedWithCaller struct {
	ID                  int64
	CanEdit, CanReshare bool
	Source              string
	At                  time.Time
}

// attachShares tells of recordings of others whose they are and how they are shared with the caller.
func (s *Recordings) attachShares(db *gorm.DB, p auth.Principal, shown []Recording) error {
	var ids, owners []int64
	for _, r := range shown {
		if r.UserID != p.UserID() {
			ids, owners = append(ids, r.ID), append(owners, r.UserID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var shares []models.InternalShare
	if err := db.Where("user_id = ? AND recording_id IN ?", p.UserID(), ids).Find(&shares).Error; err != nil {
		return err
	}
	by := make(map[int64]*SharedWithCaller, len(shares))
	for _, share := range shares {
		by[share.RecordingID] = &SharedWithCaller{share.ID, mayEdit(p, share), share.CanReshare, share.Source, share.CreatedAt}
	}
	names := map[int64]*string{}
	if s.ShowUsernames && p.MayRead() {
		people, err := peopleNamed(db, owners)
		if err != nil {
			return err
		}
		for id, person := range people {
			names[id] = &person.Username
		}
	}
	for i := range shown {
		if r := &shown[i]; r.UserID != p.UserID() {
			r.Owner, r.Share = &Owner{r.UserID, names[r.UserID]}, by[r.ID]
		}
	}
	return nil
}

// peopleNamed reads what accounts are called, by id.
func peopleNamed(db *gorm.DB, ids []int64) (map[int64]models.User, error) {
	var users []models.User
	if err := db.Select("id", "username", "email").Where("id IN ?", ids).Find(&users).Error; err != nil {
		return nil, err
	}
	by := make(map[int64]models.User, len(users))
	for _, user := range users {
		by[user.ID] = user
	}
	return by, nil
}
