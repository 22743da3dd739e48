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

func arrival(name string) accounts.Arrival {
	return accounts.Arrival{Issuer: "https://login.example.org", Subject: "subject-" + name, Email: name + "@example.com", Name: name}
}

func admitted(t *testing.T, store *accounts.Accounts, who accounts.Arrival) accounts.User {
	t.Helper()
	user, err := store.Admit(context.Background(), who, true)
	if err != nil {
		t.Fatal(err)
	}
	return user
}

// Rule: who arrives is known by issuer and subject, whatever its address is by now; its account has no password.
func TestAnIdentityIsItsIssuerAndSubject(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store, _, boss := inviting(t, db)
		ada := admitted(t, store, arrival("ada"))
		if ada.Role != auth.DefaultRole || ada.InstanceAdmin || ada.OrganizationID != boss.OrganizationID || ada.Username != "ada" {
			t.Errorf("the newcomer is %+v", ada)
		}
		moved := arrival("ada")
		moved.Email, moved.Name = "boss@example.com", "boss"
		if again := admitted(t, store, moved); again != ada {
			t.Errorf("with another address it is %+v", again)
		}
		other := arrival("ada")
		other.Issuer, other.Email = "https://other.example.org", "else@example.com"
		if another := admitted(t, store, other); another.ID == ada.ID || another.Username != "ada-2" {
			t.Errorf("another issuer's subject is %+v", another)
		}
		for _, guess := range []string{"", password, "ada"} {
			if _, err := verify(t, store, "ada", guess); !problems.Is(err, problems.InvalidCredentials) {
				t.Errorf("the password %q: %v", guess, err)
			}
		}
		if issuer, err := store.SignsInBy(context.Background(), ada.ID); err != nil || issuer != "https://login.example.org" {
			t.Errorf("it signs in by %q, %v", issuer, err)
		}
		if issuer, err := store.SignsInBy(context.Background(), boss.ID); err != nil || issuer != "" {
			t.Errorf("the other signs in by %q, %v", issuer, err)
		}
	})
}

// Rule: an account that merely has the same address is never signed in to.
func TestAnAddressIsNoIdentity(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		store, _, boss := inviting(t, db)
		_, err := store.Admit(ctx, arrival("boss"), true)
		if conflict := expectProblem(t, err, problems.Conflict, "the address of another"); !strings.Contains(conflict.Message, "link it") {
			t.Errorf("it is told %q", conflict.Message)
		}
		if linked, err := store.Link(ctx, boss.ID, arrival("boss")); err != nil || linked.ID != boss.ID {
			t.Fatal(linked, err)
		}
		if user := admitted(t, store, arrival("boss")); user.ID != boss.ID {
			t.Errorf("after linking it is %+v", user)
		}
		if _, err := store.Link(ctx, boss.ID, arrival("boss")); err != nil {
			t.Errorf("linking again: %v", err)
		}
		ada := admitted(t, store, arrival("ada"))
		_, err = store.Link(ctx, ada.ID, arrival("boss"))
		expectProblem(t, err, problems.Conflict, "another's identity")
		_, err = store.Link(ctx, boss.ID, arrival("eve"))
		expectProblem(t, err, problems.Conflict, "a second identity of one issuer")
	})
}

// Rule: nobody gets an account who has none where newcomers are not taken, whose address the issuer denies, or whom the
// issuer does not name.
func TestWhoIsNotAdmitted(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	store, clock, _ := inviting(t, db)
	ctx := context.Background()
	for about, spoil := range map[string]func(*accounts.Arrival){
		"no address":          func(a *accounts.Arrival) { a.Email = "" },
		"a denied address":    func(a *accounts.Arrival) { a.EmailDenied = true },
		"no usable address":   func(a *accounts.Arrival) { a.Email = "ada" },
		"no subject":          func(a *accounts.Arrival) { a.Subject = "" },
		"an endless subject":  func(a *accounts.Arrival) { a.Subject = strings.Repeat("x", 256) },
		"nobody's own issuer": func(a *accounts.Arrival) { a.Issuer = "" },
	} {
		who := arrival("ada")
		spoil(&who)
		_, err := store.Admit(ctx, who, true)
		expectProblem(t, err, problems.OIDCRefused, about)
	}
	_, err := store.Admit(ctx, arrival("ada"), false)
	expectProblem(t, err, problems.OIDCRefused, "where newcomers are not taken")
	ada := admitted(t, store, arrival("ada"))
	if _, err := store.Admit(ctx, arrival("ada"), false); err != nil {
		t.Errorf("who has an account is no newcomer: %v", err)
	}
	write(t, db, func(tx *gorm.DB) error {
		return tx.Model(&models.User{}).Where("id = ?", ada.ID).UpdateColumn("disabled_at", clock.Now()).Error
	})
	_, err = store.Admit(ctx, arrival("ada"), true)
	expectProblem(t, err, problems.OIDCRefused, "a disabled account")
}

// Rule: where claims govern, they give the role anew at each sign-in; who has none that counts has no verb; and a change
// ends the sessions.
func TestClaimsGovernTheRole(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store, _, _ := inviting(t, db)
		who := arrival("ada")
		who.Governed, who.Role = true, auth.RoleAdmin
		if ada := admitted(t, store, who); ada.Role != auth.RoleAdmin {
			t.Fatalf("the newcomer is %+v", ada)
		}
		cookie := open(t, store, "", admitted(t, store, who))
		if !opens(t, store, cookie) {
			t.Error("an unchanged role ended a session")
		}
		who.Role = ""
		ada := admitted(t, store, who)
		if ada.Role != auth.RoleViewer || opens(t, store, cookie) {
			t.Errorf("without a role it is %+v; the session opens: %v", ada, opens(t, store, cookie))
		}
		for _, verb := range auth.Verbs() {
			if auth.RoleMay(ada.Role, verb) {
				t.Errorf("it may %s", verb.Name())
			}
		}
	})
}

// Rule: the last administrator of the instance is never demoted by a claim; one of two is.
func TestAClaimLeavesAnAdministrator(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store, _, boss := inviting(t, db)
		ctx := context.Background()
		if _, err := store.Link(ctx, boss.ID, arrival("boss")); err != nil {
			t.Fatal(err)
		}
		who := arrival("boss")
		who.Governed, who.Role = true, auth.RoleViewer
		if again := admitted(t, store, who); again.Role != auth.RoleAdmin || !again.InstanceAdmin {
			t.Errorf("the last administrator is %+v", again)
		}
		write(t, db, func(tx *gorm.DB) error {
			return tx.Create(&models.User{
				OrganizationID: boss.OrganizationID, Email: "second@example.com", Username: "second", PasswordHash: "x", Role: "admin",
				InstanceAdmin: true, CreatedAt: time.Now().UTC(),
			}).Error
		})
		if again := admitted(t, store, who); again.Role != auth.RoleViewer || again.InstanceAdmin {
			t.Errorf("one of two is %+v", again)
		}
	})
}

// Rule: the first account of all, which administers the instance, is nobody's who merely arrives: an issuer's claim gives it,
// or the operator made it before.
func TestAnArrivalIsNotTheFirstAccount(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store := accounts.New(db, accounts.Options{})
		who := arrival("ada")
		for about, claims := range map[string]accounts.Arrival{
			"no claims":         {},
			"no claim of hers":  {Governed: true},
			"a lesser role":     {Governed: true, Role: auth.RoleEditor},
			"an ungoverned one": {Role: auth.RoleAdmin},
		} {
			who.Governed, who.Role = claims.Governed, claims.Role
			_, err := store.Admit(context.Background(), who, true)
			expectProblem(t, err, problems.OIDCRefused, about)
		}
		who.Governed, who.Role = true, auth.RoleAdmin
		if ada := admitted(t, store, who); !ada.InstanceAdmin || ada.Role != auth.RoleAdmin {
			t.Errorf("whom a claim makes administrator is %+v", ada)
		}
		if bob := admitted(t, store, arrival("bob")); bob.InstanceAdmin || bob.Role != auth.DefaultRole {
			t.Errorf("the second one is %+v", bob)
		}
	})
}

// Rule: of one person's first arrivals at once, all are the one account that is made.
func TestRacingArrivalsAreOneAccount(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store, _, _ := inviting(t, db)
		var racers sync.WaitGroup
		ids := make(chan int64, 6)
		for range 6 {
			racers.Go(func() {
				user, err := store.Admit(context.Background(), arrival("ada"), true)
				if err != nil {
					t.Error(err)
				}
				ids <- user.ID
			})
		}
		racers.Wait()
		close(ids)
		first := <-ids
		for id := range ids {
			if id != first {
				t.Errorf("accounts %d and %d", first, id)
			}
		}
	})
}

// Rule: a sign-in comes back in the browser that began it, in time, unchanged, and once on whatever process.
func TestAStateComesBackOnce(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		store, clock, _ := inviting(t, db)
		begin := func() (accounts.State, string) {
			state, cookie, err := store.NewState("/next", "verifier", 7, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			return state, cookie
		}
		state, cookie := begin()
		another, theirs := begin()
		refused := func(about, cookie, value string) {
			t.Helper()
			_, err := store.TakeState(ctx, cookie, value)
			expectProblem(t, err, problems.OIDCRefused, about)
		}
		refused("no cookie", "", state.Value)
		refused("no state", cookie, "")
		refused("another's state", cookie, another.Value)
		refused("another's cookie", theirs, state.Value)
		refused("another signature", strings.Split(cookie, ".")[0]+"."+strings.Split(theirs, ".")[1], state.Value)
		refused("no signature", strings.Split(cookie, ".")[0], state.Value)
		refused("an endless cookie", cookie+strings.Repeat("A", 4000), state.Value)
		elsewhere := accounts.New(db, accounts.Options{SecretKey: "0123456789abcdef", Now: clock.Now})
		if back, err := elsewhere.TakeState(ctx, cookie, state.Value); err != nil || back != state || back.Next != "/next" || back.UserID != 7 {
			t.Errorf("back came %+v, %v", back, err)
		}
		refused("a second time", cookie, state.Value)
		clock.Advance(time.Minute)
		refused("too late", theirs, another.Value)
	})
}
