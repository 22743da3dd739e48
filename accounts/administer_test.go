package accounts_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

// town has two organizations: ann administers the instance and the first one, ada the first, eve the second; bob and mel
// are members of them.
type town struct {
	t                       testing.TB
	db                      *models.DB
	store                   *accounts.Accounts
	ann, ada, bob, eve, mel models.User
}

func newTown(t testing.TB, db *models.DB) *town {
	t.Helper()
	v := &town{t: t, db: db, store: accounts.New(db, accounts.Options{
		Erase: func(context.Context, *gorm.DB, int64) error { return nil },
	})}
	write(t, db, func(tx *gorm.DB) error {
		first := models.Organization{Slug: "first", Name: "First", TimeZone: "UTC", CreatedAt: time.Now()}
		second := models.Organization{Slug: "second", Name: "Second", TimeZone: "UTC", CreatedAt: time.Now()}
		for _, org := range []*models.Organization{&first, &second} {
			if err := tx.Create(org).Error; err != nil {
				return err
			}
		}
		for _, row := range []struct {
			name, role string
			of         int64
			instance   bool
			into       *models.User
		}{
			{"ann", "admin", first.ID, true, &v.ann},
			{"ada", "admin", first.ID, false, &v.ada},
			{"bob", "editor", first.ID, false, &v.bob},
			{"eve", "admin", second.ID, false, &v.eve},
			{"mel", "viewer", second.ID, false, &v.mel},
		} {
			*row.into = models.User{
				OrganizationID: row.of, Email: row.name + "@example.com", Username: row.name, PasswordHash: "-", Role: row.role,
				InstanceAdmin: row.instance, CreatedAt: time.Now(),
			}
			if err := tx.Create(row.into).Error; err != nil {
				return err
			}
		}
		return nil
	})
	return v
}

// by is who administers, as the door makes it of a marked token.
func by(user models.User) accounts.By {
	return accounts.By{Entry: audit.Entry{ActorID: user.ID, TokenID: 9, Address: "203.0.113.7", RequestID: "r"}, Instance: user.InstanceAdmin}
}

func (v *town) alter(who accounts.By, whom models.User, change accounts.Alteration) error {
	_, err := v.store.Alter(v.t.Context(), who, whom.ID, change)
	return err //nolint:wrapcheck // a test's
}

func (v *town) now(user models.User) models.User {
	v.t.Helper()
	var row models.User
	if err := v.db.Read.Take(&row, user.ID).Error; err != nil {
		v.t.Fatal(err)
	}
	return row
}

func disabled(yes bool) accounts.Alteration      { return accounts.Alteration{Disabled: &yes} }
func role(name string) accounts.Alteration       { return accounts.Alteration{Role: &name} }
func instanceAdmin(yes bool) accounts.Alteration { return accounts.Alteration{InstanceAdmin: &yes} }

// Rule: an administrator changes role and standing within the own organization; sessions end and every process hears that
// credentials changed; the audit log says what was done. What changes nothing does none of it.
func TestAnAccountIsAltered(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		v := newTown(t, db)
		log := audit.New(db, audit.Options{})
		counter := func() int64 {
			var row models.ChangeCounter
			if err := db.Read.Where("name = ?", "credentials").Take(&row).Error; err != nil {
				t.Fatal(err)
			}
			return row.Value
		}
		for _, step := range []struct {
			who    models.User
			whom   *models.User
			change accounts.Alteration
			action string
		}{
			{v.ada, &v.bob, role("viewer"), "user.role.viewer"},
			{v.ada, &v.bob, role("viewer"), ""},
			{v.ada, &v.bob, disabled(true), "user.disabled"},
			{v.ada, &v.bob, disabled(false), "user.enabled"},
			{v.ann, &v.mel, role("admin"), "user.role.admin"},
			{v.ann, &v.mel, instanceAdmin(true), "user.instance_admin.given"},
			{v.ann, &v.mel, instanceAdmin(false), "user.instance_admin.taken"},
		} {
			before, heard := v.now(*step.whom), counter()
			if err := v.alter(by(step.who), *step.whom, step.change); err != nil {
				t.Fatalf("%s: %v", step.action, err)
			}
			after := v.now(*step.whom)
			if step.action == "" {
				if after.SessionEpoch != before.SessionEpoch || counter() != heard {
					t.Error("what changes nothing ends sessions")
				}
				continue
			}
			if after.SessionEpoch != before.SessionEpoch+1 || counter() == heard {
				t.Errorf("%s: the epoch goes from %d to %d, the counter from %d", step.action, before.SessionEpoch, after.SessionEpoch, heard)
			}
			list, err := log.List(t.Context(), audit.Query{Limit: 1})
			if err != nil || len(list) != 1 || list[0].Action != step.action || list[0].ActorID != step.who.ID ||
				list[0].OrganizationID != step.whom.OrganizationID || list[0].Object != audit.Object("user", step.whom.ID) || list[0].Outcome != audit.Done {
				t.Errorf("%s is in the log as %+v, %v", step.action, list, err)
			}
		}
	})
}

// Rule: who gets a role that administers nothing loses the instance with it, and does not get it back with the role.
func TestARoleTakesTheInstanceWithIt(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		v := newTown(t, db)
		for _, change := range []accounts.Alteration{role("admin"), instanceAdmin(true), role("editor")} {
			if err := v.alter(by(v.ann), v.mel, change); err != nil {
				t.Fatal(err)
			}
		}
		list, err := audit.New(db, audit.Options{}).List(t.Context(), audit.Query{Limit: 1})
		if err != nil || len(list) != 1 || list[0].Action != "user.instance_admin.taken" || v.now(v.mel).InstanceAdmin {
			t.Errorf("after the role mel is %+v, in the log is %+v, %v", v.now(v.mel), list, err)
		}
		for _, change := range []accounts.Alteration{role("admin"), disabled(true)} {
			if err := v.alter(by(v.eve), v.mel, change); err != nil {
				t.Errorf("the organization's administrator: %v", err)
			}
		}
		if v.now(v.mel).InstanceAdmin {
			t.Error("the role brought the instance back")
		}
	})
}

// Rule: nobody gives more than they have, changes who is of higher rank or of another organization, or a role that is not
// assignable; nobody who is disabled or demoted meanwhile changes anything. A refused change leaves all as it was.
func TestWhatAnAdministratorMayNot(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		v := newTown(t, db)
		forged := by(v.ada)
		forged.Instance = true
		unmarked := by(v.ann)
		unmarked.Instance = false
		for about, row := range map[string]struct {
			who    accounts.By
			whom   models.User
			change accounts.Alteration
			kind   problems.Kind
		}{
			"another organization's":           {by(v.ada), v.mel, disabled(true), problems.NotFound},
			"nobody":                           {by(v.ann), models.User{ID: 99_999}, disabled(true), problems.NotFound},
			"the instance's administrator":     {by(v.ada), v.ann, disabled(true), problems.InsufficientPermission},
			"rank of the instance":             {by(v.ada), v.ada, instanceAdmin(true), problems.InsufficientPermission},
			"a claim to the instance":          {forged, v.ada, instanceAdmin(true), problems.InsufficientPermission},
			"a claim to the instance, abroad":  {forged, v.mel, disabled(true), problems.NotFound},
			"without the instance's own claim": {unmarked, v.mel, disabled(true), problems.NotFound},
			"an editor":                        {by(v.bob), v.bob, role("admin"), problems.InsufficientPermission},
			"an editor over another":           {by(v.bob), v.ada, disabled(true), problems.InsufficientPermission},
			"somebody who is gone":             {by(models.User{ID: 99_999}), v.bob, disabled(true), problems.InsufficientPermission},
			"a role that is none":              {by(v.ann), v.bob, role("superuser"), problems.InvalidParameter},
			"a role that is not assignable":    {by(v.ann), v.bob, role("owner"), problems.InvalidParameter},
			"rank without a role that has it":  {by(v.ann), v.bob, instanceAdmin(true), problems.InvalidParameter},
			"themselves, the last":             {by(v.eve), v.eve, role("editor"), problems.Conflict},
			"themselves, the last, disabled":   {by(v.eve), v.eve, disabled(true), problems.Conflict},
			"the last of the instance":         {by(v.ann), v.ann, instanceAdmin(false), problems.Conflict},
			"the last of the instance, out":    {by(v.ann), v.ann, disabled(true), problems.Conflict},
			"the last of the instance, lower":  {by(v.ann), v.ann, role("editor"), problems.Conflict},
			"the last, by the operator":        {accounts.Operator(), v.ann, role("viewer"), problems.Conflict},
		} {
			before := v.now(v.ann)
			expectProblem(t, v.alter(row.who, row.whom, row.change), row.kind, about)
			if after := v.now(v.ann); after.Role != before.Role || after.SessionEpoch != before.SessionEpoch {
				t.Errorf("%s: changed is %+v", about, after)
			}
		}
		if err := v.alter(accounts.Operator(), v.ada, disabled(true)); err != nil {
			t.Fatal(err)
		}
		expectProblem(t, v.alter(by(v.ada), v.bob, disabled(true)), problems.InsufficientPermission, "a disabled administrator")
		expectProblem(t, v.store.SignOut(t.Context(), by(v.ada), v.bob.ID), problems.InsufficientPermission, "a disabled administrator")
		expectProblem(t, v.store.SignOut(t.Context(), by(v.eve), v.bob.ID), problems.NotFound, "another organization's")
		if err := v.alter(by(v.ann), v.eve, disabled(true)); err != nil {
			t.Errorf("the instance's administrator may leave an organization without one: %v", err)
		}
		if got := v.now(v.bob); got.DisabledAt != nil || got.SessionEpoch != 0 {
			t.Errorf("bob is %+v", got)
		}
	})
}

// Rule: an instance has an administrator, whoever acts at once: of two who demote each other, or themselves, one is
// refused, and so it is with those of an organization.
func TestRacesLeaveAnAdministrator(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		v := newTown(t, db)
		if err := v.alter(accounts.Operator(), v.ada, instanceAdmin(true)); err != nil {
			t.Fatal(err)
		}
		v.ada.InstanceAdmin = true
		for range 4 {
			for _, race := range [][2]func() error{
				{func() error { return v.alter(by(v.ann), v.ann, instanceAdmin(false)) }, func() error { return v.alter(by(v.ada), v.ada, instanceAdmin(false)) }},
				{func() error { return v.alter(by(v.ann), v.ada, disabled(true)) }, func() error { return v.alter(by(v.ada), v.ann, disabled(true)) }},
				{func() error { return v.alter(by(v.ann), v.ada, role("viewer")) }, func() error { return v.store.Delete(context.Background(), by(v.ada), v.ada.ID) }},
			} {
				var both sync.WaitGroup
				for _, act := range race {
					both.Go(func() { _ = act() })
				}
				both.Wait()
				var left int64
				err := db.Read.Model(&models.User{}).Where("instance_admin AND disabled_at IS NULL AND role = 'admin'").Count(&left).Error
				if err != nil || left == 0 {
					t.Fatalf("%d administer the instance, %v", left, err)
				}
				restored := map[string]any{"instance_admin": true, "disabled_at": nil, "erasing_at": nil, "role": "admin"}
				write(t, db, func(tx *gorm.DB) error {
					return tx.Model(&models.User{}).Where("id IN ?", []int64{v.ann.ID, v.ada.ID}).UpdateColumns(restored).Error
				})
			}
		}
		if err := v.alter(accounts.Operator(), v.mel, role("admin")); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() { _ = v.alter(by(v.eve), v.mel, role("viewer")) })
		both.Go(func() { _ = v.alter(by(v.mel), v.eve, role("viewer")) })
		both.Wait()
		if one, other := v.now(v.eve).Role == auth.RoleAdmin, v.now(v.mel).Role == auth.RoleAdmin; one == other {
			t.Errorf("of two who demote each other at once %t and %t stay administrators", one, other)
		}
	})
}

// Rule: deleting follows the rules of altering, and what is being erased is gone for administrators.
func TestWhoDeletesAnAccount(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		v, ctx := newTown(t, db), t.Context()
		expectProblem(t, v.store.Delete(ctx, by(v.ada), v.mel.ID), problems.NotFound, "another organization's")
		expectProblem(t, v.store.Delete(ctx, by(v.ada), v.ann.ID), problems.InsufficientPermission, "of higher rank")
		expectProblem(t, v.store.Delete(ctx, by(v.bob), v.bob.ID), problems.InsufficientPermission, "an editor")
		expectProblem(t, v.store.Delete(ctx, by(v.eve), v.eve.ID), problems.Conflict, "themselves, the last")
		expectProblem(t, v.store.Delete(ctx, by(v.ann), v.ann.ID), problems.Conflict, "the last of the instance")
		if err := v.store.Delete(ctx, by(v.ada), v.bob.ID); err != nil {
			t.Fatal(err)
		}
		expectProblem(t, v.alter(by(v.ada), v.bob, disabled(false)), problems.NotFound, "an erased account")
		if _, err := v.store.Member(ctx, 0, v.bob.ID); !problems.Is(err, problems.NotFound) {
			t.Errorf("it is found: %v", err)
		}
		if page, total, err := v.store.Members(ctx, accounts.Members{OrganizationID: v.bob.OrganizationID, Page: 1, PerPage: 10}); err != nil || total != 2 || len(page) != 2 {
			t.Errorf("it is listed: %d, %v", total, err)
		}
	})
}
