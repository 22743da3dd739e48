package accounts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Arrival is somebody whom an issuer of OpenID Connect vouches for.
type Arrival struct {
	// Issuer and Subject together are who it is, and nothing else is.
	Issuer, Subject string
	Email           string
	// EmailDenied is true where the issuer says that the address is not known to be the person's.
	EmailDenied bool
	// Name is what it calls itself.
	Name string
	// Governed is whether its claims give the role; Role is which one, empty for none.
	Governed bool
	Role     string
}

// The bounds of what an issuer says, in bytes.
const (
	maxIssuer  = 500
	maxSubject = 255
)

// Admit is the account of who arrives: the one that this identity has, or a new one where newcomers are taken. An account
// that merely has the same address is never it. Where claims govern the role it is judged anew, and a change ends the
// account's sessions; the last administrator of the instance stays one, whatever the issuer says.
func (a *Accounts) Admit(ctx context.Context, who Arrival, newcomers bool) (User, error) {
	if err := who.check(); err != nil {
		return User{}, err
	}
	user, known, err := a.known(ctx, who)
	if err != nil || known {
		return user, err
	}
	if !newcomers {
		return User{}, problems.New(problems.OIDCRefused, "There is no account for this sign-in; ask your administrator for an invite, and link it then.")
	}
	return a.welcome(ctx, who)
}

func (who Arrival) check() error {
	if who.Issuer == "" || who.Subject == "" || len(who.Issuer) > maxIssuer || len(who.Subject) > maxSubject {
		return problems.New(problems.OIDCRefused, "The issuer says in no usable way who signs in.")
	}
	return nil
}

// known is the account of an identity that was linked, with the role that it has now.
func (a *Accounts) known(ctx context.Context, who Arrival) (user User, known bool, err error) {
	err = a.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := a.lockCreation(tx); err != nil {
			return err
		}
		row, err := identified(tx, who)
		if err != nil || row.ID == 0 {
			return err
		}
		known = true
		if row.DisabledAt != nil {
			return problems.New(problems.OIDCRefused, "The account is disabled.")
		}
		if err := who.govern(tx, &row); err != nil {
			return err
		}
		user = view(row)
		return nil
	})
	if err != nil {
		return User{}, known, failed("find the account of a sign-in", err)
	}
	return user, known, nil
}

// identified is the account of an identity; the zero row where there is none.
func identified(tx *gorm.DB, who Arrival) (row models.User, err error) {
	var identity models.Identity
	err = tx.Where("issuer = ? AND subject = ?", who.Issuer, who.Subject).Take(&identity).Error
	if err == nil {
		err = tx.Take(&row, identity.UserID).Error
	}
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return models.User{}, nil
	}
	return row, err
}

// role is what claims give: who has none of the mapped values has no verb.
func (who Arrival) role() string {
	switch {
	case !who.Governed:
		return auth.DefaultRole
	case who.Role == "":
		return auth.RoleViewer
	}
	return who.Role
}

// govern gives the account the role of its claims. The caller holds the lock of all who change who administers.
func (who Arrival) govern(tx *gorm.DB, row *models.User) error {
	role := who.role()
	if !who.Governed || role == row.Role {
		return nil
	}
	if !auth.RoleMay(role, auth.AdministerMembers) {
		last := othersAdminister(tx, *row)
		if problems.Is(last, problems.Conflict) {
			return nil
		}
		if last != nil {
			return last
		}
	}
	row.Role = role
	row.SessionEpoch++
	deposed(row)
	return tx.Model(&models.User{}).Where("id = ?", row.ID).UpdateColumns(map[string]any{
		"role": role, "instance_admin": row.InstanceAdmin, "session_epoch": gorm.Expr("session_epoch + 1"),
	}).Error
}

// welcome makes an account for who arrives for the first time.
func (a *Accounts) welcome(ctx context.Context, who Arrival) (User, error) {
	if who.Email == "" || who.EmailDenied {
		return User{}, problems.New(problems.OIDCRefused, "The issuer names no e-mail address that it knows to be yours, which a new account needs.")
	}
	email, err := emailOf(who.Email)
	if err != nil {
		return User{}, problems.New(problems.OIDCRefused, "The issuer names an e-mail address that cannot be used.").Because(err)
	}
	user, err := a.makeFor(ctx, who, email)
	if err == nil || !problems.Is(err, problems.Conflict) {
		return user, err
	}
	// Of two first arrivals of one person at once the other made the account.
	if user, known, again := a.known(ctx, who); known || again != nil {
		return user, again
	}
	return User{}, problems.New(problems.Conflict, "There is an account with your e-mail address already. Sign in to it as before, and link it to this sign-in then.").
		With("field", "email").Because(err)
}

// makeFor makes the account with a name that is free. Somebody else may take that meanwhile: then another one is.
func (a *Accounts) makeFor(ctx context.Context, who Arrival, email string) (user User, err error) {
	for range 3 {
		username, failure := a.freeUsername(ctx, who.Name, email)
		if failure != nil {
			return User{}, failure
		}
		user, err = a.make(ctx, NewUser{
			Email: email, Username: username, Role: who.role(), passwordless: true,
			then: func(tx *gorm.DB, row models.User) error { return a.identify(tx, row.ID, who) },
		}, who.mayBegin)
		if err == nil || !problems.Is(err, problems.Conflict) || problems.Of(err).Fields["field"] != "username" {
			break
		}
	}
	return user, err
}

// mayBegin refuses the first account of all, which administers the instance, to whom no claim makes an administrator: else
// it would be that of whoever of the issuer's people came by first.
func (who Arrival) mayBegin(tx *gorm.DB) error {
	first, err := isFirst(tx)
	if err != nil || !first || who.Governed && auth.RoleMay(who.Role, auth.AdministerMembers) {
		return err
	}
	return problems.New(problems.OIDCRefused, "This server has no account yet. The first one administers it: its operator makes that by command, or maps a claim to %s.", auth.RoleAdmin)
}

// freeUsername is the name that who arrives calls itself, or one near it that nobody has.
func (a *Accounts) freeUsername(ctx context.Context, name, email string) (string, error) {
	local, _, _ := strings.Cut(email, "@")
	base := plainName(name)
	if base == "" {
		base = plainName(local)
	}
	if base == "" {
		base = "user"
	}
	for attempt := 1; attempt <= 20; attempt++ {
		candidate := base
		if attempt > 1 {
			candidate = fmt.Sprintf("%s-%d", base, attempt)
		}
		var count int64
		if err := a.db.Read.WithContext(ctx).Model(&models.User{}).Where("username = ?", candidate).Count(&count).Error; err != nil {
			return "", failed("look for a free username", err)
		}
		if count == 0 {
			return candidate, nil
		}
	}
	return base + "-" + strings.ToLower(rand.Text()[:8]), nil
}

// plainName is what of a name can be a username, with room for a number behind it.
func plainName(name string) string {
	kept := strings.Map(func(r rune) rune {
		if r == '@' || r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
	runes := []rune(strings.TrimSpace(kept))
	return strings.TrimSpace(string(runes[:min(len(runes), maxUsername-10)]))
}

// Link makes an identity that of an account whose owner is signed in. One that is another's is a conflict, as is a second
// one of the same issuer. Once linked it may be linked again.
func (a *Accounts) Link(ctx context.Context, userID int64, who Arrival) (User, error) {
	if err := who.check(); err != nil {
		return User{}, err
	}
	var user User
	err := a.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := a.lockCreation(tx); err != nil {
			return err
		}
		owner, err := identified(tx, who)
		if err != nil {
			return err
		}
		if owner.ID != 0 && owner.ID != userID {
			return problems.New(problems.Conflict, "This sign-in belongs to another account.").With("field", "subject")
		}
		var row models.User
		if err := tx.Take(&row, userID).Error; err != nil {
			return err
		}
		if owner.ID == 0 {
			if err := a.identify(tx, userID, who); err != nil {
				return err
			}
		}
		user = view(row)
		return nil
	})
	if err != nil {
		return User{}, failed("link a sign-in", err)
	}
	return user, nil
}

// identify writes whose identity it is.
func (a *Accounts) identify(tx *gorm.DB, userID int64, who Arrival) error {
	var others int64
	if err := tx.Model(&models.Identity{}).Where("user_id = ? AND issuer = ?", userID, who.Issuer).Count(&others).Error; err != nil {
		return err
	}
	if others > 0 {
		return problems.New(problems.Conflict, "The account is linked to another sign-in of this issuer.").With("field", "subject")
	}
	return tx.Create(&models.Identity{UserID: userID, Issuer: who.Issuer, Subject: who.Subject, CreatedAt: a.now()}).Error
}

// SignsInBy is the issuer by which an account signs in; empty for one that has a password alone.
func (a *Accounts) SignsInBy(ctx context.Context, userID int64) (string, error) {
	var issuers []string
	err := a.db.Read.WithContext(ctx).Model(&models.Identity{}).Where("user_id = ?", userID).Order("id").Limit(1).Pluck("issuer", &issuers).Error
	if err != nil {
		return "", failed("look up by whom an account signs in", err)
	}
	if len(issuers) == 0 {
		return "", nil
	}
	return issuers[0], nil
}
