package accounts

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// InvitePath is the page at which the link of an invite leads; its token stands behind #.
const InvitePath = "/invite"

const (
	invitePrefix = "inv_"
	// MaxInviteDays is the longest that an invite is open.
	MaxInviteDays = 30
	// DefaultInviteDays is how long one is for which nobody says it.
	DefaultInviteDays = 7
	// maxOpenInvites is how many an organization may have open.
	maxOpenInvites = 1000
)

// Invite is an account that somebody may make for an address.
type Invite struct {
	ID, OrganizationID   int64
	InvitedBy            *int64 // nil for the operator
	Email, Role          string
	ExpiresAt, CreatedAt time.Time
	AcceptedAt           *time.Time
	// Mailed is true where it was just made and is mailed.
	Mailed bool
}

// NewInvite is an invite that is to be made.
type NewInvite struct {
	Email string
	// Role must be assignable and within the inviter's; empty means auth.DefaultRole.
	Role string
	// Days is how long it is open, 1 to MaxInviteDays; 0 means DefaultInviteDays.
	Days int64
	// OrganizationID is the organization that the operator invites to; others invite to their own.
	OrganizationID int64
}

// Invite makes an invite, and the link or token that is shown once. One that was open for the same address in the
// organization is void. The address is mailed to where mail can be sent, though not again and again.
func (a *Accounts) Invite(ctx context.Context, by By, wish NewInvite) (Invite, string, error) {
	row, err := a.judgedInvite(wish)
	if err != nil {
		return Invite{}, "", err
	}
	var token string
	var mailed bool
	err = a.db.Transaction(ctx, func(tx *gorm.DB) (err error) {
		if err := a.lockCreation(tx); err != nil {
			return err
		}
		actor, err := administrator(tx, by)
		if err != nil {
			return err
		}
		if err := mayGive(by, actor, row.Role); err != nil {
			return err
		}
		if row.OrganizationID = wish.OrganizationID; actor.ID != 0 {
			row.OrganizationID, row.InvitedBy = actor.OrganizationID, &actor.ID
		}
		if err := a.roomForInvite(tx, row); err != nil {
			return err
		}
		if token, err = a.signedInvite(tx, &row); err != nil {
			return err
		}
		mailed, err = a.mailInvite(ctx, tx, row)
		return err
	})
	if err != nil {
		return Invite{}, "", failed("make an invite", err)
	}
	made := viewInvite(row)
	made.Mailed = mailed
	return made, a.link(InvitePath, token), nil
}

func (a *Accounts) judgedInvite(wish NewInvite) (row models.TeamInvite, err error) {
	if row.Email, err = emailOf(wish.Email); err != nil {
		return row, err
	}
	if row.Role = wish.Role; row.Role == "" {
		row.Role = auth.DefaultRole
	}
	days := wish.Days
	if days == 0 {
		days = DefaultInviteDays
	}
	if days < 1 || days > MaxInviteDays {
		return row, problems.New(problems.InvalidParameter, "expires_in_days must be 1 to %d.", MaxInviteDays).With("field", "expires_in_days")
	}
	row.CreatedAt = a.now()
	row.ExpiresAt = row.CreatedAt.Add(time.Duration(days) * 24 * time.Hour)
	return row, roleProblem(row.Role)
}

// signedInvite writes the row and signs what it says, its id included.
func (a *Accounts) signedInvite(tx *gorm.DB, row *models.TeamInvite) (token string, err error) {
	row.TokenHash = hashOf(newSecret(invitePrefix)) // of no token: its own comes when the id is known
	if err := tx.Create(row).Error; err != nil {
		return "", err
	}
	if token, err = a.inviteToken(*row); err != nil {
		return "", err
	}
	row.TokenHash = hashOf(token)
	return token, tx.Model(row).UpdateColumn("token_hash", row.TokenHash).Error
}

// roomForInvite refuses what the inviter can see to be of no use. Whether the address has an account in another
// organization it must not learn: that shows to who accepts.
func (a *Accounts) roomForInvite(tx *gorm.DB, row models.TeamInvite) error {
	var members int64
	err := tx.Model(&models.User{}).Where("organization_id = ? AND email = ?", row.OrganizationID, row.Email).Count(&members).Error
	if err != nil {
		return err
	}
	if members > 0 {
		return problems.New(problems.Conflict, "There is an account of this organization with this e-mail address already.").With("field", "email")
	}
	err = tx.Where("organization_id = ? AND email = ? AND accepted_at IS NULL", row.OrganizationID, row.Email).Delete(&models.TeamInvite{}).Error
	if err != nil {
		return err
	}
	return a.roomAmongOpen(tx, row.OrganizationID)
}

// roomAmongOpen bounds how many invites an organization has open. Those that expired are listed until their place is needed.
func (a *Accounts) roomAmongOpen(tx *gorm.DB, organizationID int64) error {
	open := func() (count int64, err error) {
		err = tx.Model(&models.TeamInvite{}).Where("organization_id = ? AND accepted_at IS NULL", organizationID).Count(&count).Error
		return count, err
	}
	count, err := open()
	if err != nil || count < maxOpenInvites {
		return err
	}
	expired := tx.Where("organization_id = ? AND accepted_at IS NULL AND expires_at <= ?", organizationID, a.now())
	if err := expired.Delete(&models.TeamInvite{}).Error; err != nil {
		return err
	}
	if count, err = open(); err == nil && count >= maxOpenInvites {
		err = problems.New(problems.Conflict, "The organization has %d open invites, as many as it may. Withdraw one.", maxOpenInvites)
	}
	return err
}

// inviteToken is the token of an invite: it can be made by nobody without SECRET_KEY, and whoever changes the row makes
// it open nothing.
func (a *Accounts) inviteToken(row models.TeamInvite) (string, error) {
	var by int64
	if row.InvitedBy != nil {
		by = *row.InvitedBy
	}
	said := fmt.Sprintf("%d\n%d\n%d\n%d\n%d\n%s\n%s", row.ID, row.OrganizationID, by,
		row.CreatedAt.UnixMicro(), row.ExpiresAt.UnixMicro(), row.Role, row.Email)
	signed, err := a.signature(forInvites, said)
	if err != nil {
		return "", err
	}
	return invitePrefix + base64.RawURLEncoding.EncodeToString(signed), nil
}

// Invites are those of an organization, newest first, and how many there are.
func (a *Accounts) Invites(ctx context.Context, organizationID int64, offset, limit int) ([]Invite, int64, error) {
	var rows []models.TeamInvite
	var total int64
	own := a.db.Read.WithContext(ctx).Model(&models.TeamInvite{}).Where("organization_id = ?", organizationID)
	if err := own.Session(&gorm.Session{}).Count(&total).Error; err != nil {
		return nil, 0, failed("count invites", err)
	}
	if err := own.Session(&gorm.Session{}).Order("id DESC").Offset(offset).Limit(limit).Find(&rows).Error; err != nil {
		return nil, 0, failed("list invites", err)
	}
	invites := make([]Invite, 0, len(rows))
	for _, row := range rows {
		invites = append(invites, viewInvite(row))
	}
	return invites, total, nil
}

// Withdraw makes an invite void. One that was accepted, or that another organization has, is not there.
func (a *Accounts) Withdraw(ctx context.Context, organizationID, id int64) error {
	err := a.db.Transaction(ctx, func(tx *gorm.DB) error {
		gone := tx.Where("id = ? AND organization_id = ? AND accepted_at IS NULL", id, organizationID).Delete(&models.TeamInvite{})
		if gone.Error == nil && gone.RowsAffected == 0 {
			return problems.New(problems.NotFound, "There is no such invite.")
		}
		return gone.Error
	})
	if err != nil {
		return failed("withdraw an invite", err)
	}
	return nil
}

// Accept makes the account of an invite: its address and its role are the invite's, whatever else is said. Of several who
// race one makes it. An address that has an account by now is a conflict; that account is not moved.
func (a *Accounts) Accept(ctx context.Context, token, username, password string) (User, error) {
	invite, err := a.openInvite(a.db.Read.WithContext(ctx), token)
	if err != nil {
		return User{}, failed("accept an invite", err)
	}
	wish := NewUser{Email: invite.Email, Username: username, Password: password, Role: invite.Role, invitedTo: invite.OrganizationID}
	accept := func(tx *gorm.DB) error {
		now, err := a.openInvite(tx, token)
		if err != nil {
			return err
		}
		if err := mayStillInvite(tx, now); err != nil {
			return err
		}
		return tx.Model(&models.TeamInvite{}).Where("id = ?", now.ID).UpdateColumn("accepted_at", a.now()).Error
	}
	return a.make(ctx, wish, accept)
}

const voidInvite = "This invite is unknown, was accepted or withdrawn, or has expired. Ask for a new one."

// openInvite is the invite of a token that can be accepted.
func (a *Accounts) openInvite(tx *gorm.DB, token string) (models.TeamInvite, error) {
	refused := problems.New(problems.InvalidLink, voidInvite)
	if len(token) > maxSecret {
		return models.TeamInvite{}, refused
	}
	var row models.TeamInvite
	err := tx.Where("token_hash = ? AND accepted_at IS NULL AND expires_at > ?", hashOf(token), a.now()).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, refused
	}
	if err != nil {
		return row, err
	}
	signed, err := a.inviteToken(row)
	if err != nil {
		return row, err
	}
	if !hmac.Equal([]byte(signed), []byte(token)) {
		return row, refused
	}
	return row, nil
}

// mayStillInvite judges the inviter as it is now: who was disabled or may less by now has invited nobody.
func mayStillInvite(tx *gorm.DB, invite models.TeamInvite) error {
	if invite.InvitedBy == nil {
		return nil
	}
	var by models.User
	if err := tx.Take(&by, *invite.InvitedBy).Error; err != nil {
		return err
	}
	if !administers(by) || !auth.RoleWithin(invite.Role, by.Role) || by.OrganizationID != invite.OrganizationID {
		return problems.New(problems.InvalidLink, voidInvite)
	}
	return nil
}

func viewInvite(row models.TeamInvite) Invite {
	return Invite{
		ID: row.ID, OrganizationID: row.OrganizationID, InvitedBy: row.InvitedBy, Email: row.Email, Role: row.Role,
		ExpiresAt: row.ExpiresAt, CreatedAt: row.CreatedAt, AcceptedAt: row.AcceptedAt,
	}
}
