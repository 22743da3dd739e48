package accounts

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// ResetPath is the page at which a link of a reset leads. Its token stands behind #, which browsers send to no server and
// no log.
const ResetPath = "/reset-password"

const (
	resetPrefix = "rst_"
	// maxResets is how many links an account is sent within an hour: a stranger who asks in its name fills no inbox.
	maxResets     = 3
	resetsWithin  = time.Hour
	forgottenLink = "This link is unknown, was used, or has expired. Ask for a new one."
)

// Forgot has a link sent to whoever has this address, if an account does and mail can be sent. That there is none shows
// nowhere: what is asked here is looked up by a job.
func (a *Accounts) Forgot(ctx context.Context, email string) error {
	email, err := emailOf(email)
	if err != nil {
		return err
	}
	if !a.sendsMail() {
		a.unsent.Do(func() {
			a.options.Logger.WarnContext(ctx, "a password was asked for that cannot be sent: reset by mail needs SMTP_URL and PUBLIC_URL")
		})
		return nil
	}
	err = a.db.Transaction(ctx, func(tx *gorm.DB) error {
		_, err := a.options.Queue.Enqueue(ctx, tx, SendResetArgs{Email: email, AskedAt: a.now()}, nil)
		return err
	})
	if err != nil {
		return failed("queue a mail", err)
	}
	return nil
}

// MakeReset is the token of a link by which who has it sets a new password of the account, once and for as long as
// ResetLife. It is for the operator's command, and for what is mailed.
func (a *Accounts) MakeReset(ctx context.Context, userID int64) (string, error) {
	token, _, err := a.makeReset(ctx, userID, func(*gorm.DB) (bool, error) { return true, nil })
	return token, err
}

// ResetLink is where a token of a reset is used; the token alone where the server does not know its own address.
func (a *Accounts) ResetLink(token string) string { return a.link(ResetPath, token) }

// makeReset makes a token if allowed says so, in the same transaction; else it is empty.
func (a *Accounts) makeReset(ctx context.Context, userID int64, allowed func(tx *gorm.DB) (bool, error)) (token string, id int64, err error) {
	row := models.PasswordReset{UserID: userID, CreatedAt: a.now(), ExpiresAt: a.now().Add(a.options.ResetLife)}
	made := newSecret(resetPrefix)
	row.TokenHash = hashOf(made)
	err = a.db.Transaction(ctx, func(tx *gorm.DB) error {
		// The account's row is held, so that two that count at once do not both find room.
		if err := lockUser(tx, a.db.Dialect, userID); err != nil {
			return err
		}
		may, err := allowed(tx)
		if err != nil || !may {
			return err
		}
		token = made
		return tx.Create(&row).Error
	})
	if err != nil {
		return "", 0, failed("make a link to reset a password", err)
	}
	return token, row.ID, nil
}

// roomForReset reports whether the account was sent fewer links lately than it may.
func (a *Accounts) roomForReset(tx *gorm.DB, userID int64) (bool, error) {
	var lately int64
	err := tx.Model(&models.PasswordReset{}).Where("user_id = ? AND created_at > ?", userID, a.now().Add(-resetsWithin)).Count(&lately).Error
	return lately < maxResets, err
}

// Reset sets the password that who has the token wants, ends all sessions of the account, and uses the token up.
func (a *Accounts) Reset(ctx context.Context, token, password string) (User, error) {
	row, user, err := a.openReset(ctx, token)
	if err != nil {
		return User{}, err
	}
	if err := passwordProblem(password, user.Email, user.Username); err != nil {
		return User{}, err
	}
	hash, err := a.hash(ctx, password)
	if err != nil {
		return User{}, err
	}
	err = a.db.Transaction(ctx, func(tx *gorm.DB) error {
		used := tx.Model(&models.PasswordReset{}).Where("id = ? AND used_at IS NULL AND expires_at > ?", row.ID, a.now()).
			UpdateColumn("used_at", a.now())
		if used.Error != nil {
			return used.Error
		}
		if used.RowsAffected == 0 {
			return problems.New(problems.InvalidLink, forgottenLink)
		}
		return setPassword(tx.Where("disabled_at IS NULL"), row.UserID, hash)
	})
	if err != nil {
		return User{}, failed("reset a password", err)
	}
	return user, nil
}

// openReset is the row of a token that can be used, and its account. It is judged again where it is used.
func (a *Accounts) openReset(ctx context.Context, token string) (row models.PasswordReset, user User, err error) {
	refused := problems.New(problems.InvalidLink, forgottenLink)
	if len(token) > maxSecret {
		return row, User{}, refused
	}
	var rows []models.PasswordReset
	err = a.db.Read.WithContext(ctx).Where("token_hash = ? AND used_at IS NULL AND expires_at > ?", hashOf(token), a.now()).
		Limit(1).Find(&rows).Error
	if err != nil {
		return row, User{}, failed("find a link to reset a password", err)
	}
	if len(rows) == 0 {
		return row, User{}, refused
	}
	var owners []models.User
	err = a.db.Read.WithContext(ctx).Where("id = ? AND disabled_at IS NULL", rows[0].UserID).Limit(1).Find(&owners).Error
	if err != nil {
		return row, User{}, failed("find whose password is reset", err)
	}
	if len(owners) == 0 {
		return row, User{}, refused
	}
	return rows[0], view(owners[0]), nil
}

// lockUser holds an account's row until the transaction ends. SQLite has one writer.
func lockUser(tx *gorm.DB, dialect models.Dialect, id int64) error {
	if dialect != models.Postgres {
		return nil
	}
	return tx.Exec("SELECT 1 FROM users WHERE id = ? FOR UPDATE", id).Error
}
