package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// maxIdentifier is the longest address in bytes, with room for blanks around it.
const maxIdentifier = 4*maxEmail + 64

// Claim is somebody who says to be an account, looked up and not yet verified. That there may be no such account
// shows neither in what a Claim does nor in how long it takes.
type Claim struct {
	row  models.User
	name string
}

// Claim looks up what somebody calls itself: an e-mail address if it has an @, else a username.
func (a *Accounts) Claim(ctx context.Context, name string) (Claim, error) {
	claim := Claim{name: foldEmail(name)}
	if len(name) > maxIdentifier || !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return claim, nil // no account has such a name, and the database would refuse some of the questions
	}
	query := a.db.Read.WithContext(ctx)
	if strings.Contains(name, "@") {
		query = query.Where("email = ?", claim.name)
	} else {
		query = query.Where("username = ?", strings.TrimSpace(name))
	}
	if err := query.Take(&claim.row).Error; err != nil && !errors.Is(err, gorm.ErrRecordNotFound) {
		return Claim{}, failed("look up who signs in", err)
	}
	return claim, nil
}

// UserID is the account that it is a claim of; 0 where there is none.
func (c Claim) UserID() int64 { return c.row.ID }

// OrganizationID is whose account it is; 0 where there is none.
func (c Claim) OrganizationID() int64 { return c.row.OrganizationID }

// Part tells the account apart from others in the count of failures: the same whether it is called by its address
// or by its name, and of the same form when there is none. It is never 0.
func (c Claim) Part() uint64 {
	subject := "name:" + c.name
	if c.row.ID != 0 {
		subject = "account:" + strconv.FormatInt(c.row.ID, 10)
	}
	sum := sha256.Sum256([]byte(subject))
	return max(1, binary.BigEndian.Uint64(sum[:]))
}

// Verify is the account, if the password is its own and it is not disabled; else invalid_credentials.
func (a *Accounts) Verify(ctx context.Context, claim Claim, password string) (User, error) {
	hash := nobodysHash
	if claim.row.ID != 0 {
		hash = claim.row.PasswordHash
	}
	// A password that is too long is nobody's; how long it is, the caller knows.
	matches := false
	if len(password) <= maxPassword {
		var err error
		if matches, err = a.matches(ctx, password, hash); err != nil {
			return User{}, err
		}
	}
	if !matches || claim.row.ID == 0 || claim.row.DisabledAt != nil {
		return User{}, problems.New(problems.InvalidCredentials, "The e-mail address or the password is wrong.")
	}
	return view(claim.row), nil
}
