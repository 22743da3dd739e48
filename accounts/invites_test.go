package accounts_test

import (
	"context"
	"strings"
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
	"github.com/stenometer/stenometer/tests/clocktest"
)

// inviting is a store that signs, with an administrator, and a clock of its own.
func inviting(t *testing.T, db *models.DB) (*accounts.Accounts, *clocktest.Clock, accounts.User) {
	t.Helper()
	time := newClock()
	store := accounts.New(db, accounts.Options{Registration: accounts.ByInvite, SecretKey: "0123456789abcdef", Now: time.Now})
	boss, err := store.Create(context.Background(), wish("boss"))
	if err != nil {
		t.Fatal(err)
	}
	return store, time, boss
}

func as(user accounts.User) accounts.By {
	return accounts.By{Entry: audit.Entry{ActorID: user.ID}, Instance: user.InstanceAdmin}
}

func invite(t *testing.T, store *accounts.Accounts, by accounts.User, email, role string) (accounts.Invite, string) {
	t.Helper()
	made, token, err := store.Invite(context.Background(), as(by), accounts.NewInvite{Email: email, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	return made, token
}

// Rule: an invite makes an account of exactly its address, organization and role, once, and its token is not in the
// database. Nobody else may register.
func TestAnInviteMakesOneAccount(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store, _, boss := inviting(t, db)
		made, token := invite(t, store, boss, " Ada@Example.ORG", "")
		if made.Role != auth.DefaultRole || made.Email != "ada@example.org" || made.InvitedBy == nil || *made.InvitedBy != boss.ID {
			t.Errorf("the invite is %+v", made)
		}
		var row models.TeamInvite
		if err := db.Read.Take(&row).Error; err != nil || strings.Contains(row.TokenHash, token) || len(row.TokenHash) != 64 {
			t.Errorf("kept is %+v, %v", row, err)
		}
		_, err := store.Accept(context.Background(), token, "ada", "short")
		expectProblem(t, err, problems.InvalidParameter, "a short password")
		ada, err := store.Accept(context.Background(), token, "ada", password)
		if err != nil || ada.Email != "ada@example.org" || ada.Role != auth.RoleEditor || ada.OrganizationID != boss.OrganizationID || ada.InstanceAdmin {
			t.Fatalf("made is %+v, %v", ada, err)
		}
		if _, err := verify(t, store, "ada", password); err != nil {
			t.Errorf("the account cannot sign in: %v", err)
		}
		_, err = store.Accept(context.Background(), token, "eve", password)
		expectProblem(t, err, problems.InvalidLink, "a second time")
		_, err = store.Register(context.Background(), wish("eve"))
		expectProblem(t, err, problems.RegistrationClosed, "without an invite")
		_, _, err = store.Invite(context.Background(), as(boss), accounts.NewInvite{Email: "ada@example.org"})
		expectProblem(t, err, problems.Conflict, "a member is invited")
	})
}

// Rule: of several who accept at once one makes the account.
func TestAcceptingIsExactUnderRaces(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store, _, boss := inviting(t, db)
		_, token := invite(t, store, boss, "ada@example.org", auth.RoleViewer)
		var racers sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for _, name := range []string{"ada", "eve", "mallory", "trent"} {
			racers.Go(func() {
				_, err := store.Accept(context.Background(), token, name, password)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					made++
				case !problems.Is(err, problems.InvalidLink):
					t.Error(err)
				}
			})
		}
		racers.Wait()
		var users int64
		db.Read.Model(&models.User{}).Count(&users)
		if made != 1 || users != 2 {
			t.Errorf("%d made, %d accounts", made, users)
		}
	})
}

// Rule: who is invited gets no role beyond the inviter's, as it is when the invite is made and when it is accepted.
func TestAnInviteIsNeverAboveItsInviter(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		store, _, boss := inviting(t, db)
		editor, err := store.Create(ctx, wish("editor"))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = store.Invite(ctx, as(editor), accounts.NewInvite{Email: "x@example.org", Role: auth.RoleViewer})
		expectProblem(t, err, problems.InsufficientPermission, "an editor invites")
		for _, role := range []string{"owner", "Admin", "superuser"} {
			_, _, err = store.Invite(ctx, as(boss), accounts.NewInvite{Email: "x@example.org", Role: role})
			expectProblem(t, err, problems.InvalidParameter, role)
		}
		for about, fall := range map[string]map[string]any{
			"demoted": {"role": "editor", "disabled_at": nil}, "disabled": {"role": "admin", "disabled_at": time.Now().UTC()},
			"a role that is none": {"role": "manager", "disabled_at": nil},
		} {
			columns := func(values map[string]any) {
				write(t, db, func(tx *gorm.DB) error {
					return tx.Model(&models.User{}).Where("id = ?", boss.ID).UpdateColumns(values).Error
				})
			}
			columns(map[string]any{"role": "admin", "disabled_at": nil})
			_, token := invite(t, store, boss, "ada@example.org", auth.RoleEditor)
			columns(fall)
			_, err = store.Accept(ctx, token, "ada", password)
			expectProblem(t, err, problems.InvalidLink, about)
		}
	})
}

// Rule: an invite whose row somebody changed, that another key signed, that was withdrawn, made anew or has expired opens
// nothing.
func TestWhatVoidsAnInvite(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		store, clock, boss := inviting(t, db)
		refused := func(about, token string) {
			t.Helper()
			_, err := store.Accept(ctx, token, "ada", password)
			expectProblem(t, err, problems.InvalidLink, about)
		}
		for column, value := range map[string]any{"role": "admin", "email": "eve@example.org", "expires_at": clock.Now().Add(99 * time.Hour)} {
			made, token := invite(t, store, boss, "ada@example.org", auth.RoleViewer)
			write(t, db, func(tx *gorm.DB) error {
				return tx.Model(&models.TeamInvite{}).Where("id = ?", made.ID).UpdateColumn(column, value).Error
			})
			refused("a changed "+column, token)
		}
		_, earlier := invite(t, store, boss, "ada@example.org", "")
		made, token := invite(t, store, boss, "ada@example.org", "")
		refused("one that was made anew", earlier)
		other := accounts.New(db, accounts.Options{SecretKey: "fedcba9876543210", Now: clock.Now})
		if _, err := other.Accept(ctx, token, "ada", password); !problems.Is(err, problems.InvalidLink) {
			t.Errorf("another key's: %v", err)
		}
		expectProblem(t, store.Withdraw(ctx, boss.OrganizationID+1, made.ID), problems.NotFound, "another organization withdraws")
		if err := store.Withdraw(ctx, boss.OrganizationID, made.ID); err != nil {
			t.Error(err)
		}
		refused("one that was withdrawn", token)
		_, token = invite(t, store, boss, "ada@example.org", "")
		clock.Advance(accounts.DefaultInviteDays * 24 * time.Hour)
		refused("one that has expired", token)
		for _, none := range []string{"", "inv_", strings.Repeat("x", 5000)} {
			refused("none", none)
		}
	})
}

// Rule: an account that has the address by then, wherever it belongs, is a conflict and stays what it is.
func TestAnInviteMovesNoAccount(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		store, _, boss := inviting(t, db)
		_, token := invite(t, store, boss, "ada@example.com", auth.RoleAdmin)
		other := models.Organization{Slug: "other", Name: "Other", TimeZone: "UTC", CreatedAt: time.Now().UTC()}
		write(t, db, func(tx *gorm.DB) error { return tx.Create(&other).Error })
		elsewhere := wish("ada")
		elsewhere.OrganizationSlug = "other"
		before, err := store.Create(ctx, elsewhere)
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.Accept(ctx, token, "ada2", password)
		if conflict := expectProblem(t, err, problems.Conflict, "a taken address"); conflict.Fields["field"] != "email" {
			t.Errorf("the conflict is %v", conflict.Fields)
		}
		if after, err := store.Find(ctx, before.ID); err != nil || after != before {
			t.Errorf("the account is %+v, %v, was %+v", after, err, before)
		}
		if _, _, err := store.Invite(ctx, as(boss), accounts.NewInvite{Email: "ada@example.com"}); err != nil {
			t.Errorf("an administrator learns of another organization's account: %v", err)
		}
		list, total, err := store.Invites(ctx, boss.OrganizationID, 0, 10)
		if err != nil || total != 1 || len(list) != 1 {
			t.Errorf("listed are %v of %d, %v", list, total, err)
		}
		if list, total, _ = store.Invites(ctx, other.ID, 0, 10); total != 0 || len(list) != 0 {
			t.Errorf("the other organization sees %v", list)
		}
	})
}
