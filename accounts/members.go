package accounts

import (
	"context"
	"crypto/rand"
	"strings"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// MaxPerPage is the most accounts of one page.
const MaxPerPage = 100

// maxMemberText bounds what is looked for in names and addresses, in characters.
const maxMemberText = 100

// Members says which accounts are asked for. What is zero narrows nothing.
type Members struct {
	OrganizationID int64
	// Text stands in the address or the name, in any case of its ASCII letters.
	Text, Role    string
	Disabled      *bool
	Page, PerPage int
}

// Members is a page of accounts, oldest first, and how many there are. What is being erased is gone.
func (a *Accounts) Members(ctx context.Context, asked Members) (page []User, total int64, err error) {
	text := strings.ToLower(strings.TrimSpace(asked.Text))
	if len([]rune(text)) > maxMemberText || !printable(asked.Text) {
		return nil, 0, problems.New(problems.InvalidParameter, "q must be at most %d printable characters.", maxMemberText)
	}
	query := a.db.Read.WithContext(ctx).Model(&models.User{}).Where("erasing_at IS NULL")
	if asked.OrganizationID != 0 {
		query = query.Where("organization_id = ?", asked.OrganizationID)
	}
	if text != "" {
		pattern := "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(text) + "%"
		query = query.Where("(email LIKE ? ESCAPE '!' OR lower(username) LIKE ? ESCAPE '!')", pattern, pattern)
	}
	if asked.Role != "" {
		query = query.Where("role = ?", asked.Role)
	}
	if asked.Disabled != nil {
		query = query.Where("(disabled_at IS NOT NULL) = ?", *asked.Disabled)
	}
	query = query.Session(&gorm.Session{})
	if err := query.Count(&total).Error; err != nil {
		return nil, 0, failed("count accounts", err)
	}
	var rows []models.User
	if err := query.Order("id").Limit(asked.PerPage).Offset((asked.Page - 1) * asked.PerPage).Find(&rows).Error; err != nil {
		return nil, 0, failed("list accounts", err)
	}
	for _, row := range rows {
		page = append(page, view(row))
	}
	return page, total, nil
}

// Member is an account of an organization, or of any where that is 0.
func (a *Accounts) Member(ctx context.Context, organizationID, id int64) (User, error) {
	query := a.db.Read.WithContext(ctx).Where("id = ? AND erasing_at IS NULL", id)
	if organizationID != 0 {
		query = query.Where("organization_id = ?", organizationID)
	}
	return a.found(query)
}

// CreateMember makes an account for who administers: in their own organization unless they administer the instance, and
// with no role beyond their own. Without a password nobody can sign in to it until one is set.
func (a *Accounts) CreateMember(ctx context.Context, by By, wish NewUser) (User, error) {
	if wish.Password == "" {
		wish.Password = rand.Text() + rand.Text() // told to nobody
	}
	wish.by = &by
	return a.make(ctx, wish, func(*gorm.DB) error { return nil })
}

// placeMember judges, with the others locked out, where an administrator puts a new account and with which role.
func placeMember(tx *gorm.DB, by By, row *models.User, wish NewUser) error {
	actor, err := administrator(tx, by)
	if err != nil {
		return err
	}
	if err := mayGive(by, actor, row.Role); err != nil {
		return err
	}
	row.OrganizationID = actor.OrganizationID
	if wish.OrganizationID != 0 && wish.OrganizationID != actor.OrganizationID {
		if !by.everywhere(actor) {
			return noSuchOrganization()
		}
		row.OrganizationID = wish.OrganizationID
	}
	var count int64
	err = tx.Model(&models.Organization{}).Where("id = ?", row.OrganizationID).Count(&count).Error
	if err == nil && count == 0 {
		err = noSuchOrganization()
	}
	return err
}

func noSuchOrganization() error {
	return problems.New(problems.NotFound, "There is no such organization.")
}
