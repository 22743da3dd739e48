package accounts

import (
	"context"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// ChangePassword sets a new password of a claimed account in place of the one that it has, else invalid_credentials. All
// its sessions end with it, also that of the caller: who stole one, or the old password, is out. Of two changes at once
// one counts.
func (a *Accounts) ChangePassword(ctx context.Context, claim Claim, current, password string) error {
	user, err := a.Verify(ctx, claim, current)
	if err != nil {
		return err
	}
	if err := passwordProblem(password, user.Email, user.Username); err != nil {
		return err
	}
	hash, err := a.hash(ctx, password)
	if err != nil {
		return err
	}
	err = a.db.Transaction(ctx, func(tx *gorm.DB) error {
		return setPassword(tx.Where("password_hash = ?", claim.row.PasswordHash), user.ID, hash)
	})
	if err != nil {
		return failed("change a password", err)
	}
	return nil
}

// ClaimOf is the claim of an account that is signed in already.
func (a *Accounts) ClaimOf(ctx context.Context, id int64) (Claim, error) {
	user, err := a.Find(ctx, id)
	if err != nil {
		return Claim{}, err
	}
	return a.Claim(ctx, user.Email)
}

// SetPassword sets a password without asking for the one before: it is for the operator's command.
func (a *Accounts) SetPassword(ctx context.Context, id int64, password string) error {
	user, err := a.Find(ctx, id)
	if err != nil {
		return err
	}
	if err := passwordProblem(password, user.Email, user.Username); err != nil {
		return err
	}
	hash, err := a.hash(ctx, password)
	if err != nil {
		return err
	}
	if err := a.db.Transaction(ctx, func(tx *gorm.DB) error { return setPassword(tx, id, hash) }); err != nil {
		return failed("set a password", err)
	}
	return nil
}

// setPassword writes a password and ends whatever the one before has opened: sessions, by the epoch also those that race
// with it, and links that were asked for with it.
func setPassword(which *gorm.DB, id int64, hash string) error {
	changed := which.Model(&models.User{}).Where("id = ?", id).UpdateColumns(map[string]any{
		"password_hash": hash, "session_epoch": gorm.Expr("session_epoch + 1"),
	})
	if changed.Error != nil {
		return changed.Error
	}
	if changed.RowsAffected == 0 {
		return problems.New(problems.InvalidCredentials, "The password was changed meanwhile.")
	}
	tx := which.Session(&gorm.Session{NewDB: true})
	if err := tx.Where("user_id = ?", id).Delete(&models.Session{}).Error; err != nil {
		return err
	}
	return tx.Where("user_id = ? AND used_at IS NULL", id).Delete(&models.PasswordReset{}).Error
}
