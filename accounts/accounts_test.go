package accounts_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

const password = "correct horse"

func wish(name string) accounts.NewUser {
	return accounts.NewUser{Email: name + "@example.com", Username: name, Password: password}
}

func expectProblem(t testing.TB, err error, kind problems.Kind, about string) *problems.Error {
	t.Helper()
	if !problems.Is(err, kind) {
		t.Fatalf("%s: the error is %v, want %s", about, err, kind.Code())
	}
	return problems.Of(err)
}

func register(t testing.TB, store *accounts.Accounts, wish accounts.NewUser) accounts.User {
	t.Helper()
	user, err := store.Register(context.Background(), wish)
	if err != nil {
		t.Fatal(err)
	}
	return user
}

func verify(t testing.TB, store *accounts.Accounts, name, password string) (accounts.User, error) {
	t.Helper()
	claim, err := store.Claim(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return store.Verify(context.Background(), claim, password)
}

func write(t testing.TB, db *models.DB, change func(*gorm.DB) error) {
	t.Helper()
	if err := db.Transaction(context.Background(), change); err != nil {
		t.Fatal(err)
	}
}

// The first account administers the server and an organization of its own making; then the policy decides.
func TestTheFirstAccountIsTheAdministrator(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		first := accounts.New(db, accounts.Options{Registration: accounts.First})
		forged := wish("Ann")
		forged.Email, forged.Role, forged.OrganizationSlug = " Ann@Example.COM ", auth.RoleViewer, "elsewhere"
		ann := register(t, first, forged)
		if ann.Role != auth.RoleAdmin || !ann.InstanceAdmin || ann.Email != "ann@example.com" {
			t.Errorf("the first account is %+v", ann)
		}
		var organization models.Organization
		if err := db.Read.Take(&organization, ann.OrganizationID).Error; err != nil {
			t.Fatal(err)
		}
		if organization.Slug != "default" || organization.Name != "example.com" || organization.TimeZone != "UTC" {
			t.Errorf("the first organization is %+v", organization)
		}
		_, err := first.Register(ctx, wish("bob"))
		expectProblem(t, err, problems.RegistrationClosed, "the second under first")

		open := accounts.New(db, accounts.Options{Registration: accounts.Open})
		forged = wish("bob")
		forged.Role = auth.RoleAdmin
		bob := register(t, open, forged)
		if bob.Role != auth.RoleEditor || bob.InstanceAdmin || bob.OrganizationID != ann.OrganizationID {
			t.Errorf("the second account is %+v", bob)
		}
		closed := accounts.New(db, accounts.Options{Registration: accounts.Closed})
		_, err = closed.Register(ctx, wish("cid"))
		expectProblem(t, err, problems.RegistrationClosed, "under closed")
		_, err = accounts.New(db, accounts.Options{}).Register(ctx, wish("cid"))
		expectProblem(t, err, problems.RegistrationClosed, "without a policy")
	})
}

// Registrations that race to be the first make one account and one organization.
func TestRacingFirstRegistrationsMakeOne(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		var mu sync.Mutex
		made, closed := 0, 0
		var racers sync.WaitGroup
		for _, name := range []string{"ann", "bob", "cid", "dot", "eve", "fay"} {
			racers.Go(func() {
				store := accounts.New(db, accounts.Options{Registration: accounts.First})
				_, err := store.Register(context.Background(), wish(name))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					made++
				case problems.Is(err, problems.RegistrationClosed):
					closed++
				default:
					t.Error(err)
				}
			})
		}
		racers.Wait()
		var users, organizations int64
		if err := db.Read.Model(&models.User{}).Count(&users).Error; err != nil {
			t.Fatal(err)
		}
		if err := db.Read.Model(&models.Organization{}).Count(&organizations).Error; err != nil {
			t.Fatal(err)
		}
		if made != 1 || closed != 5 || users != 1 || organizations != 1 {
			t.Errorf("%d made, %d refused; %d accounts in %d organizations", made, closed, users, organizations)
		}
	})
}

// The operator makes accounts whatever the policy, with any role that can be assigned.
func TestCreateIsTheOperators(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		store := accounts.New(db, accounts.Options{Registration: accounts.Closed})
		lost := wish("ann")
		lost.OrganizationSlug = "elsewhere"
		_, err := store.Create(ctx, lost)
		expectProblem(t, err, problems.InvalidParameter, "an unknown organization")

		viewer := wish("ann")
		viewer.Role = auth.RoleViewer
		ann, err := store.Create(ctx, viewer)
		if err != nil || ann.Role != auth.RoleAdmin || !ann.InstanceAdmin {
			t.Fatalf("the first account is %+v, %v", ann, err)
		}
		viewer = wish("bob")
		viewer.Role, viewer.OrganizationSlug = auth.RoleViewer, "default"
		bob, err := store.Create(ctx, viewer)
		if err != nil || bob.Role != auth.RoleViewer || bob.InstanceAdmin || bob.OrganizationID != ann.OrganizationID {
			t.Fatalf("the second account is %+v, %v", bob, err)
		}
		for _, role := range []string{"owner", "Admin", "root"} {
			forged := wish("cid")
			forged.Role = role
			_, err := store.Create(ctx, forged)
			expectProblem(t, err, problems.InvalidParameter, "role "+role)
		}
		_, err = store.Create(ctx, lost)
		expectProblem(t, err, problems.Conflict, "a taken address")
	})
}

// What is wrong with an account that somebody wants is named, and nothing is made.
func TestRegisterJudgesTheWish(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	store := accounts.New(db, accounts.Options{Registration: accounts.Open})
	for about, spoil := range map[string]func(*accounts.NewUser){
		"no address":           func(w *accounts.NewUser) { w.Email = "" },
		"no @":                 func(w *accounts.NewUser) { w.Email = "ann.example.com" },
		"two @":                func(w *accounts.NewUser) { w.Email = "ann@b@example.com" },
		"no name before @":     func(w *accounts.NewUser) { w.Email = "@example.com" },
		"no domain":            func(w *accounts.NewUser) { w.Email = "ann@" },
		"a blank in it":        func(w *accounts.NewUser) { w.Email = "an n@example.com" },
		"a line break in it":   func(w *accounts.NewUser) { w.Email = "ann@example.com\nBcc: x" },
		"a long address":       func(w *accounts.NewUser) { w.Email = strings.Repeat("a", 243) + "@example.com" },
		"no username":          func(w *accounts.NewUser) { w.Username = " " },
		"a long username":      func(w *accounts.NewUser) { w.Username = strings.Repeat("ü", 81) },
		"an address for one":   func(w *accounts.NewUser) { w.Username = "bob@example.com" },
		"NUL in the username":  func(w *accounts.NewUser) { w.Username = "a\x00b" },
		"a direction mark":     func(w *accounts.NewUser) { w.Username = "a\u202eb" },
		"broken UTF-8":         func(w *accounts.NewUser) { w.Username = "a\xffb" },
		"a short password":     func(w *accounts.NewUser) { w.Password = "1234567" },
		"a password too large": func(w *accounts.NewUser) { w.Password = strings.Repeat("x", 1025) },
	} {
		spoiled := wish("ann")
		spoil(&spoiled)
		_, err := store.Register(context.Background(), spoiled)
		expectProblem(t, err, problems.InvalidParameter, about)
	}
	var users, organizations int64
	db.Read.Model(&models.User{}).Count(&users)
	db.Read.Model(&models.Organization{}).Count(&organizations)
	if users != 0 || organizations != 0 {
		t.Errorf("refused wishes left %d accounts and %d organizations", users, organizations)
	}
	largest := wish("ann")
	largest.Email = strings.Repeat("a", 242) + "@example.com"
	largest.Username, largest.Password = strings.Repeat("ü", 80), strings.Repeat("x", 1024)
	register(t, store, largest)
	if _, err := verify(t, store, largest.Email, largest.Password); err != nil {
		t.Errorf("an account at every bound can't sign in: %v", err)
	}
}

// An address or name that is taken is a conflict that names the field, also in another case of letters.
func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store := accounts.New(db, accounts.Options{Registration: accounts.Open})
		register(t, store, wish("ann"))
		for field, again := range map[string]accounts.NewUser{
			"email":    {Email: "ANN@example.com", Username: "other", Password: password},
			"username": {Email: "other@example.com", Username: "ann", Password: password},
		} {
			_, err := store.Register(context.Background(), again)
			if conflict := expectProblem(t, err, problems.Conflict, field); conflict.Fields["field"] != field {
				t.Errorf("the conflict names %v, want %s", conflict.Fields, field)
			}
		}
	})
}

// One signs in by address, in any case, or by name; everything else is the same refusal.
func TestVerify(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store := accounts.New(db, accounts.Options{Registration: accounts.Open})
		ann := register(t, store, wish("ann"))
		for _, name := range []string{"ann@example.com", " ANN@Example.com ", "ann"} {
			user, err := verify(t, store, name, password)
			if err != nil || user != ann {
				t.Errorf("%q: signed in is %+v, %v", name, user, err)
			}
		}
		var messages []string
		for _, row := range [][2]string{
			{"ann", "wrong horse"},
			{"ann", ""},
			{"ann", strings.Repeat("x", 5000)},
			{"nobody", password},
			{"nobody@example.com", password},
			{"", password},
			{"a\x00b@example.com", password},
			{"\xff", password},
			{strings.Repeat("x", 1<<20), password},
		} {
			_, err := verify(t, store, row[0], row[1])
			messages = append(messages, expectProblem(t, err, problems.InvalidCredentials, "a wrong sign-in").Message)
		}
		write(t, db, func(tx *gorm.DB) error {
			return tx.Model(&models.User{}).Where("id = ?", ann.ID).Update("disabled_at", time.Now()).Error
		})
		_, err := verify(t, store, "ann", password)
		messages = append(messages, expectProblem(t, err, problems.InvalidCredentials, "disabled").Message)
		for _, message := range messages {
			if message != messages[0] {
				t.Errorf("refusals tell apart who exists: %q, %q", messages[0], message)
			}
		}
	})
}

// Failures are counted for the account, by whatever of its names it is called; never under no part at all.
func TestPartTellsAccountsApart(t *testing.T) {
	t.Parallel()
	store := accounts.New(modelstest.SQLite(t), accounts.Options{Registration: accounts.Open})
	register(t, store, wish("ann"))
	register(t, store, wish("bob"))
	part := func(name string) uint64 {
		claim, err := store.Claim(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		return claim.Part()
	}
	if part("ann") != part("ANN@example.com") {
		t.Error("one account has two counts")
	}
	if part("nobody@example.com") != part(" NOBODY@example.com") {
		t.Error("one unknown name has two counts")
	}
	seen := map[uint64]string{0: "no part"}
	for _, name := range []string{"ann", "bob", "nobody", "account:1", ""} {
		if other, ok := seen[part(name)]; ok {
			t.Errorf("%q counts as %q", name, other)
		}
		seen[part(name)] = name
	}
}

// A database that does not answer is told as such, never as a wrong password or an ended session.
func TestALostDatabaseIsNoWrongPassword(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	store := accounts.New(db, accounts.Options{Registration: accounts.Open})
	ann := register(t, store, wish("ann"))
	cookie, _, err := store.OpenSession(context.Background(), "", ann, accounts.Browser{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Claim(context.Background(), "ann"); err == nil || problems.Is(err, problems.InvalidCredentials) {
		t.Errorf("Claim: %v", err)
	}
	if _, _, err := store.FindSession(context.Background(), cookie); err == nil {
		t.Error("FindSession: no error")
	}
}
