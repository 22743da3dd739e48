package accounts

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// By is who administers. Its entry says who it is and from where, for the audit log; without an ActorID it is the operator,
// by a command, who may do all of it.
type By struct {
	audit.Entry
	// Instance is true where the credential administers the whole instance.
	Instance bool
}

// Operator is who gives commands on the server's own machine.
func Operator() By { return By{Entry: audit.Entry{Address: audit.Command}, Instance: true} }

// Alteration is what becomes of an account. What is nil stays.
type Alteration struct {
	Role          *string
	Disabled      *bool
	InstanceAdmin *bool
}

// Alter changes what an account may do, all that is asked or nothing, and ends its sessions; its tokens are judged anew at
// their next request. Who asks is looked up again within the transaction: of two administrators who demote each other at
// once, one is refused. An account of another organization does not exist for who does not administer the instance, and
// one that does administer the instance is changed by its like alone.
func (a *Accounts) Alter(ctx context.Context, by By, id int64, change Alteration) (User, error) {
	var row models.User
	err := a.administering(ctx, by, id, func(tx *gorm.DB, actor, found models.User) (err error) {
		row = found
		done, err := change.apply(by, actor, &row, a)
		if err != nil || len(done) == 0 {
			return err
		}
		if err := keepsAdministrators(tx, actor, found, row); err != nil {
			return err
		}
		err = tx.Model(&models.User{}).Where("id = ?", id).UpdateColumns(map[string]any{
			"role": row.Role, "disabled_at": row.DisabledAt, "instance_admin": row.InstanceAdmin, "session_epoch": gorm.Expr("session_epoch + 1"),
		}).Error
		for _, action := range done {
			if err == nil {
				err = by.note(tx, action, row)
			}
		}
		return err
	})
	if err != nil {
		return User{}, failed("change an account", err)
	}
	return view(row), nil
}

// SignOut ends every session of an account.
func (a *Accounts) SignOut(ctx context.Context, by By, id int64) error {
	err := a.administering(ctx, by, id, func(tx *gorm.DB, _, row models.User) error {
		err := tx.Model(&models.User{}).Where("id = ?", id).UpdateColumn("session_epoch", gorm.Expr("session_epoch + 1")).Error
		if err != nil {
			return err
		}
		return by.note(tx, "user.sessions.ended", row)
	})
	if err != nil {
		return failed("end the sessions of an account", err)
	}
	return nil
}

// Delete begins to erase an account, as BeginErase does, for who administers it.
func (a *Accounts) Delete(ctx context.Context, by By, id int64) error {
	return a.beginErase(ctx, id, func(tx *gorm.DB, row models.User) error {
		actor, err := administrator(tx, by)
		if err != nil {
			return err
		}
		if err := reaches(by, actor, row); err != nil {
			return err
		}
		gone := row
		gone.DisabledAt = new(a.now())
		if err := keepsAdministrators(tx, actor, row, gone); err != nil {
			return err
		}
		return by.note(tx, "user.erasing", row)
	})
}

// administering runs a change of an account while nobody else changes who there is.
func (a *Accounts) administering(ctx context.Context, by By, id int64, change func(tx *gorm.DB, actor, row models.User) error) error {
	return a.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := a.lockCreation(tx); err != nil {
			return err
		}
		actor, err := administrator(tx, by)
		if err != nil {
			return err
		}
		var row models.User
		err = tx.Take(&row, id).Error
		if errors.Is(err, gorm.ErrRecordNotFound) || err == nil && row.ErasingAt != nil {
			return noSuchAccount()
		}
		if err != nil {
			return err
		}
		if err := reaches(by, actor, row); err != nil {
			return err
		}
		return change(tx, actor, row)
	})
}

// administrator is who asks, as it is now; the zero row for the operator.
func administrator(tx *gorm.DB, by By) (actor models.User, err error) {
	if by.ActorID == 0 {
		return actor, nil
	}
	err = tx.Take(&actor, by.ActorID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) || err == nil && !administers(actor) {
		return actor, problems.New(problems.InsufficientPermission, "The account does not administer anything any more.").
			With("required_permission", auth.AdministerMembers.Name())
	}
	return actor, err
}

// administers reports whether an account administers its organization.
func administers(row models.User) bool {
	return row.DisabledAt == nil && auth.RoleMay(row.Role, auth.AdministerMembers)
}

// everywhere reports whether who asks administers the whole instance.
func (by By) everywhere(actor models.User) bool {
	return by.Instance && (by.ActorID == 0 || actor.InstanceAdmin)
}

// reaches refuses what is another organization's, as if it did not exist, and an account of higher rank.
func reaches(by By, actor, row models.User) error {
	if by.everywhere(actor) {
		return nil
	}
	if row.OrganizationID != actor.OrganizationID {
		return noSuchAccount()
	}
	if row.InstanceAdmin {
		return problems.New(problems.InsufficientPermission, "The account administers the instance: only its like change it.").
			With("required_permission", auth.AdministerMembers.Name())
	}
	return nil
}

// apply changes the row as asked and names each change that it is.
func (change Alteration) apply(by By, actor models.User, row *models.User, a *Accounts) (done []string, err error) {
	if change.Role != nil && *change.Role != row.Role {
		if err := mayGive(by, actor, *change.Role); err != nil {
			return nil, err
		}
		row.Role = *change.Role
		done = append(done, "user.role."+row.Role)
	}
	if change.Disabled != nil && *change.Disabled != (row.DisabledAt != nil) {
		if row.DisabledAt = nil; *change.Disabled {
			row.DisabledAt = new(a.now())
			done = append(done, "user.disabled")
		} else {
			done = append(done, "user.enabled")
		}
	}
	if change.InstanceAdmin == nil {
		if deposed(row) {
			done = append(done, "user.instance_admin.taken")
		}
		return done, nil
	}
	if !by.everywhere(actor) {
		return nil, problems.New(problems.InsufficientPermission, "Who administers the instance is said by its administrators alone.").
			With("required_permission", auth.AdministerMembers.Name())
	}
	if *change.InstanceAdmin && !auth.RoleMay(row.Role, auth.AdministerMembers) {
		return nil, problems.New(problems.InvalidParameter, "instance_admin takes a role that administers: %s.", auth.RoleAdmin)
	}
	if *change.InstanceAdmin != row.InstanceAdmin {
		if row.InstanceAdmin = *change.InstanceAdmin; row.InstanceAdmin {
			done = append(done, "user.instance_admin.given")
		} else {
			done = append(done, "user.instance_admin.taken")
		}
	}
	return done, nil
}

// deposed takes the instance from an account whose role administers nothing any more, and reports whether it had it: else
// whoever gave it a role again would give it that too, and no administrator of its organization could disable it.
func deposed(row *models.User) bool {
	had := row.InstanceAdmin
	row.InstanceAdmin = had && auth.RoleMay(row.Role, auth.AdministerMembers)
	return had && !row.InstanceAdmin
}

// mayGive refuses a role that cannot be assigned, and one that may do what who gives it may not.
func mayGive(by By, actor models.User, role string) error {
	if err := roleProblem(role); err != nil {
		return err
	}
	if by.ActorID != 0 && !auth.RoleWithin(role, actor.Role) {
		return problems.New(problems.InsufficientPermission, "The role may do more than the one who gives it.").
			With("required_permission", auth.AdministerMembers.Name())
	}
	return nil
}

// keepsAdministrators is a conflict where the instance would have no administrator after the change, or where who asks
// locks themselves out as the last one of their organization. The caller holds the lock of all who change who there is.
func keepsAdministrators(tx *gorm.DB, actor, before, after models.User) error {
	if before.InstanceAdmin && administers(before) && !(after.InstanceAdmin && administers(after)) {
		if err := othersAdminister(tx, before); err != nil {
			return err
		}
	}
	if actor.ID != before.ID || administers(after) {
		return nil
	}
	others, err := administrators(tx.Where("organization_id = ? AND id <> ?", before.OrganizationID, before.ID))
	if err == nil && others == 0 {
		err = problems.New(problems.Conflict, "You are the last administrator of the organization: make another one first.")
	}
	return err
}

// administrators counts the enabled accounts of a query whose role administers.
func administrators(query *gorm.DB) (count int64, err error) {
	err = query.Model(&models.User{}).Where("disabled_at IS NULL AND role IN ?", auth.RolesThatMay(auth.AdministerMembers)).Count(&count).Error
	return count, err
}

// note writes what was done to an account into the audit log, with who did it.
func (by By) note(tx *gorm.DB, action string, row models.User) error {
	entry := by.Entry
	entry.Action, entry.Object, entry.OrganizationID = action, audit.Object("user", row.ID), row.OrganizationID
	return audit.Write(tx, entry) //nolint:wrapcheck // it says what was attempted
}
