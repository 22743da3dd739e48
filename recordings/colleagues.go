package recordings

import (
	"context"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// maxColleagues is how many people one search gives.
const maxColleagues = 20

// Colleagues finds people of the caller's organization to share with, by what stands in their username or address, in any
// case: the first ones by username, without those who are disabled and the caller.
func (s *Recordings) Colleagues(ctx context.Context, p auth.Principal, text string) ([]Person, error) {
	if err := s.MayShareInternally(); err != nil {
		return nil, err
	}
	if !p.MayRead() {
		return []Person{}, nil
	}
	inside := likeInside(text)
	var users []models.User
	err := s.db.Read.WithContext(ctx).Select("id", "username", "email").
		Where("organization_id = ? AND disabled_at IS NULL AND id <> ?", p.OrganizationID(), p.UserID()).
		Where(`(LOWER(username) LIKE LOWER(?) ESCAPE '\' OR LOWER(email) LIKE LOWER(?) ESCAPE '\')`, inside, inside).
		Order("username, id").Limit(maxColleagues).Find(&users).Error
	if err != nil {
		return nil, unavailable("search the organization's people", err)
	}
	people := make([]Person, len(users))
	for i, user := range users {
		people[i] = personOf(p, user)
	}
	return people, nil
}
