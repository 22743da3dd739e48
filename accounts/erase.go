package accounts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// BeginErase disables an account for good, gives its address and its name back to whoever wants them, and has all of
// it removed by work that outlives this process. It may be called again: work that was given up begins anew. What the
// account spent and what was audited stays, under a number that nobody else ever gets. The last administrator of the
// instance is a conflict.
func (a *Accounts) BeginErase(ctx context.Context, id int64) error {
	return a.beginErase(ctx, id, func(*gorm.DB, models.User) error { return nil })
}

// beginErase is BeginErase where somebody may object, with the account before them and all others who change accounts
// locked out.
func (a *Accounts) beginErase(ctx context.Context, id int64, object func(*gorm.DB, models.User) error) error {
	if a.options.Erase == nil {
		return errors.New("begin to erase an account: nobody was named who does it")
	}
	err := a.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := a.lockCreation(tx); err != nil {
			return err
		}
		var row models.User
		err := tx.Take(&row, id).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return noSuchAccount()
		}
		if err != nil {
			return err
		}
		if err := object(tx, row); err != nil {
			return err
		}
		if err := a.markErasing(tx, row); err != nil {
			return err
		}
		return a.options.Erase(ctx, tx, id)
	})
	if err != nil {
		return failed("begin to erase an account", err)
	}
	return nil
}

// markErasing makes the account nobody's. Its row stays until all that refers to it is gone.
func (a *Accounts) markErasing(tx *gorm.DB, row models.User) error {
	if row.ErasingAt != nil {
		return nil
	}
	if err := othersAdminister(tx, row); err != nil {
		return err
	}
	now := a.now()
	columns := map[string]any{"erasing_at": now, "session_epoch": gorm.Expr("session_epoch + 1"), "instance_admin": false}
	if row.DisabledAt == nil {
		columns["disabled_at"] = now
	}
	// Nobody else can have this name, nor take it beforehand.
	name := fmt.Sprintf("erased-%d-%s", row.ID, strings.ToLower(rand.Text()))
	columns["username"], columns["email"] = name, name+"@erased.invalid"
	return tx.Model(&models.User{}).Where("id = ?", row.ID).UpdateColumns(columns).Error
}

// othersAdminister is a conflict where the account is the last that administers the instance. The caller holds the lock
// of all who change who does.
func othersAdminister(tx *gorm.DB, row models.User) error {
	if !row.InstanceAdmin || !administers(row) {
		return nil
	}
	others, err := administrators(tx.Where("instance_admin AND id <> ?", row.ID))
	if err == nil && others == 0 {
		err = problems.New(problems.Conflict, "This is the last administrator of the instance.")
	}
	return err
}
