package integrations_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/integrations"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/sealed"
)

// rig is a database with integrations, under a clock that tests set.
type rig struct {
	t   *testing.T
	db  *models.DB
	all *integrations.Integrations
	now time.Time
}

func each(t *testing.T, test func(r *rig)) {
	t.Helper()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		keys, err := sealed.New("a secret of tests")
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t: t, db: db, now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
		r.all = integrations.New(db, keys, func() time.Time { return r.now })
		test(r)
	})
}

// member is an account of the organization, made if need be, with a role.
func (r *rig) member(organization, name, role string) auth.Principal {
	r.t.Helper()
	user := modelstest.Account(r.t, r.db, organization, name, role)
	return authtest.By(r.t, auth.Token{ID: 1, UserID: user.ID, OrganizationID: user.OrganizationID, Role: role, Scopes: auth.FullScopes()})
}

func (r *rig) make(p auth.Principal, scope string) (integrations.Integration, string) {
	r.t.Helper()
	made, secret, err := r.all.Create(r.t.Context(), p, integrations.Wish{Name: "Room", Scope: &scope})
	if err != nil {
		r.t.Fatal(err)
	}
	return made, secret
}

func (r *rig) secrets(made integrations.Integration) []string {
	r.t.Helper()
	key, ok, err := r.all.FindKey(r.t.Context(), made.PublicID)
	if err != nil {
		r.t.Fatal(err)
	}
	if !ok {
		return nil
	}
	var texts []string
	for _, secret := range key.Secrets {
		texts = append(texts, string(secret))
	}
	return texts
}

// Rule: what is an account's own exists for it alone; what is the organization's for whoever may manage_integrations.
func TestWhoMayManage(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		ctx := r.t.Context()
		admin, other := r.member("a", "admin", auth.RoleAdmin), r.member("a", "other", auth.RoleAdmin)
		editor, stranger := r.member("a", "editor", auth.RoleEditor), r.member("b", "stranger", auth.RoleAdmin)
		shared, _ := r.make(admin, integrations.ScopeOrganization)
		own, _ := r.make(editor, integrations.ScopeMember)
		if _, _, err := r.all.Create(ctx, editor, integrations.Wish{Name: "x", Scope: new(integrations.ScopeOrganization)}); !problems.Is(err, problems.InsufficientPermission) {
			r.t.Errorf("an editor makes one of the organization: %v", err)
		}
		for name, row := range map[string]struct {
			p    auth.Principal
			sees []int64
		}{"admin": {admin, []int64{shared.ID}}, "another admin": {other, []int64{shared.ID}}, "editor": {editor, []int64{own.ID}}, "stranger": {stranger, nil}} {
			list, err := r.all.List(ctx, row.p)
			if err != nil || len(list) != len(row.sees) || len(list) == 1 && list[0].ID != row.sees[0] {
				r.t.Errorf("%s sees %+v, %v", name, list, err)
			}
		}
		off := false
		for name, try := range map[string]struct {
			p  auth.Principal
			id int64
		}{"editor, shared": {editor, shared.ID}, "stranger, shared": {stranger, shared.ID}, "admin, an editor's": {admin, own.ID}} {
			_, altered := r.all.Alter(ctx, try.p, try.id, integrations.Change{Enabled: &off})
			_, _, rotated := r.all.Rotate(ctx, try.p, try.id, 0)
			_, deleted := r.all.Delete(ctx, try.p, try.id)
			for _, err := range []error{altered, rotated, deleted} {
				if !problems.Is(err, problems.NotFound) {
					r.t.Errorf("%s: %v", name, err)
				}
			}
		}
		if _, err := r.all.Delete(ctx, other, shared.ID); err != nil {
			r.t.Error(err)
		}
	})
}

// Rule: a key is stored encrypted, shown once, and counts beside its successor for as long as its owner wants. It counts
// for nobody who is disabled, and not while its integration is off.
func TestKeys(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		ctx, p := r.t.Context(), r.member("a", "ada", auth.RoleViewer)
		made, first := r.make(p, integrations.ScopeMember)
		var stored models.Integration
		if err := r.db.Read.Take(&stored, made.ID).Error; err != nil || stored.Secret == "" || strings.Contains(stored.Secret, first) {
			r.t.Errorf("stored is %q, %v", stored.Secret, err)
		}
		_, second, err := r.all.Rotate(ctx, p, made.ID, time.Hour)
		if got := r.secrets(made); err != nil || len(got) != 2 || got[0] != second || got[1] != first {
			r.t.Errorf("during a rotation %v, %v", got, err)
		}
		r.now = r.now.Add(time.Hour)
		if got := r.secrets(made); len(got) != 1 || got[0] != second {
			r.t.Errorf("after it %v", got)
		}
		if _, _, err := r.all.Rotate(ctx, p, made.ID, integrations.MaxOverlap+time.Hour); !problems.Is(err, problems.InvalidParameter) {
			r.t.Errorf("an overlap beyond its bound: %v", err)
		}
		for _, on := range []bool{false, true} {
			if _, err := r.all.Alter(ctx, p, made.ID, integrations.Change{Enabled: &on}); err != nil {
				r.t.Fatal(err)
			}
			if got := r.secrets(made); len(got) == 1 != on {
				r.t.Errorf("enabled %v: %v", on, got)
			}
		}
		err = r.db.Transaction(ctx, func(tx *gorm.DB) error {
			return tx.Model(&models.User{}).Where("id = ?", p.UserID()).UpdateColumn("disabled_at", r.now).Error
		})
		if got := r.secrets(made); err != nil || got != nil {
			r.t.Errorf("of a disabled account: %v, %v", got, err)
		}
	})
}

// Rule: there are at most so many, also where two are made at once; a name has its bounds.
func TestIntegrationsAreBounded(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		p := r.member("a", "ada", auth.RoleAdmin)
		for range integrations.MaxEach - 1 {
			r.make(p, integrations.ScopeMember)
		}
		var racers sync.WaitGroup
		for range 3 {
			racers.Go(func() {
				_, _, err := r.all.Create(context.WithoutCancel(r.t.Context()), p, integrations.Wish{Name: "last"})
				if err != nil && !problems.Is(err, problems.Conflict) {
					r.t.Error(err)
				}
			})
		}
		racers.Wait()
		if list, err := r.all.List(r.t.Context(), p); err != nil || len(list) != integrations.MaxEach {
			r.t.Errorf("%d, %v", len(list), err)
		}
		r.make(p, integrations.ScopeOrganization)
		for _, wish := range []integrations.Wish{{Name: " "}, {Name: strings.Repeat("x", 101)}, {Name: "a\nb"}, {Name: "\xff"}, {Name: "a", Scope: new("world")}, {Name: "a", Scope: new("")}} {
			if _, _, err := r.all.Create(r.t.Context(), p, wish); !problems.Is(err, problems.InvalidParameter) {
				r.t.Errorf("%+v: %v", wish, err)
			}
		}
	})
}
