package accounts

import (
	"context"
	"errors"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

const (
	firstSlug = "default"
	timeZone  = "UTC"

	// maxOrganizationName is in characters.
	maxOrganizationName = 200

	// creationLock is PostgreSQL's advisory lock of making an account: "accounts" in ASCII.
	creationLock int64 = 0x6163636f756e7473
)

// NewUser is an account that is to be made.
type NewUser struct {
	// Email has one @ and at most 254 characters; it is kept in lower case.
	Email string
	// Username has 1 to 80 printable characters, none of them @.
	Username string
	// Password has 8 to 1024 bytes.
	Password string
	// Role must be assignable; empty means editor. The first account is admin, whatever is asked.
	Role string
	// OrganizationSlug is whose account it is; empty means the first organization.
	OrganizationSlug string
	// OrganizationID says the same by the id, in CreateMember alone.
	OrganizationID int64

	// by is the administrator who makes it; nil where it is the operator or the account itself.
	by *By
	// invitedTo is the organization of an invite; 0 without one.
	invitedTo int64
	// passwordless accounts sign in elsewhere: no password is theirs.
	passwordless bool
	// then is done in the transaction that makes the account.
	then func(tx *gorm.DB, row models.User) error
}

// Register makes an account as the policy allows, else registration_closed. Two that race to be the first make
// one. Role and organization are not the caller's to say.
func (a *Accounts) Register(ctx context.Context, wish NewUser) (User, error) {
	wish.Role, wish.OrganizationSlug = "", ""
	// Asked again where it counts; here it saves the work of hashing.
	if err := a.mayRegister(a.db.Read.WithContext(ctx)); err != nil {
		return User{}, failed("register an account", err)
	}
	return a.make(ctx, wish, a.mayRegister)
}

// Create makes an account, whatever the policy of registration: it is for the operator's command.
func (a *Accounts) Create(ctx context.Context, wish NewUser) (User, error) {
	return a.make(ctx, wish, func(*gorm.DB) error { return nil })
}

func (a *Accounts) mayRegister(tx *gorm.DB) error {
	closed := problems.New(problems.RegistrationClosed, "This server does not take registrations.")
	switch a.options.Registration {
	case Open:
		return nil
	case First:
		none, err := isFirst(tx)
		if err == nil && !none {
			return closed
		}
		return err
	default:
		return closed
	}
}

func (a *Accounts) make(ctx context.Context, wish NewUser, allowed func(*gorm.DB) error) (User, error) {
	row, err := judged(wish)
	if err != nil {
		return User{}, err
	}
	if !wish.passwordless {
		if row.PasswordHash, err = a.hash(ctx, wish.Password); err != nil {
			return User{}, err
		}
	}
	row.CreatedAt = a.now()
	err = a.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := a.lockCreation(tx); err != nil {
			return err
		}
		if err := allowed(tx); err != nil {
			return err
		}
		if err := taken(tx, row); err != nil {
			return err
		}
		switch {
		case wish.by != nil:
			err = placeMember(tx, *wish.by, &row, wish)
		case wish.invitedTo != 0:
			row.OrganizationID = wish.invitedTo
		default:
			err = place(tx, &row, wish.OrganizationSlug)
		}
		if err != nil {
			return err
		}
		if err := tx.Create(&row).Error; err != nil || wish.then == nil {
			return err
		}
		return wish.then(tx, row)
	})
	if err != nil {
		return User{}, failed("make an account", err)
	}
	return view(row), nil
}

// judged is the row of a wish whose every field may be.
func judged(wish NewUser) (row models.User, err error) {
	if row.Email, err = emailOf(wish.Email); err != nil {
		return row, err
	}
	if row.Username, err = usernameOf(wish.Username); err != nil {
		return row, err
	}
	if row.PasswordHash = nobodysHash; !wish.passwordless {
		if err = passwordProblem(wish.Password, row.Email, row.Username); err != nil {
			return row, err
		}
	}
	if row.Role = wish.Role; row.Role == "" {
		row.Role = auth.DefaultRole
	}
	return row, roleProblem(row.Role)
}

func roleProblem(name string) error {
	assignable := auth.AssignableRoles()
	if slices.Contains(assignable, name) {
		return nil
	}
	return problems.New(problems.InvalidParameter, "role must be one of %s.", strings.Join(assignable, ", "))
}

// lockCreation makes everyone who makes an account wait until the transaction ends, so that what was found of the
// others stays true. SQLite has one writer.
func (a *Accounts) lockCreation(tx *gorm.DB) error {
	if a.db.Dialect != models.Postgres {
		return nil
	}
	return tx.Exec("SELECT pg_advisory_xact_lock(?)", creationLock).Error
}

func isFirst(tx *gorm.DB) (bool, error) {
	var somebody models.User
	err := tx.Select("id").Take(&somebody).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return true, nil
	}
	return false, err
}

// taken is a conflict that names the field.
func taken(tx *gorm.DB, row models.User) error {
	for _, field := range []struct{ column, value, name string }{
		{"email", row.Email, "e-mail address"},
		{"username", row.Username, "username"},
	} {
		var count int64
		err := tx.Model(&models.User{}).Where(field.column+" = ?", field.value).Count(&count).Error
		if err != nil {
			return err
		}
		if count > 0 {
			return problems.New(problems.Conflict, "There is an account with this %s already.", field.name).
				With("field", field.column)
		}
	}
	return nil
}

// place gives the account its organization and, if it is the first, its rank. The first account brings the first
// organization with it.
func place(tx *gorm.DB, row *models.User, slug string) error {
	first, err := isFirst(tx)
	if err != nil {
		return err
	}
	if first {
		row.Role, row.InstanceAdmin = auth.RoleAdmin, true
	}
	query := tx.Order("id")
	if slug != "" {
		query = query.Where("slug = ?", slug)
	}
	var organization models.Organization
	err = query.Take(&organization).Error
	missing := errors.Is(err, gorm.ErrRecordNotFound)
	switch {
	case missing && first && (slug == "" || slug == firstSlug):
		organization = models.Organization{
			Slug: firstSlug, Name: organizationName(row.Email), TimeZone: timeZone, CreatedAt: row.CreatedAt,
		}
		err = tx.Create(&organization).Error
	case missing:
		err = problems.New(problems.InvalidParameter, "There is no organization with this slug.")
	}
	row.OrganizationID = organization.ID
	return err
}

// organizationName is the domain of an address.
func organizationName(email string) string {
	_, domain, _ := strings.Cut(email, "@")
	name := []rune(domain)
	return string(name[:min(len(name), maxOrganizationName)])
}
