package tokens_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tests/clocktest"
	"github.com/stenometer/stenometer/tokens"
)

func newClock() *clocktest.Clock { return clocktest.New(time.Date(2026, 3, 5, 6, 0, 0, 0, time.UTC)) }

// newUser makes an account in an organization of its own.
func newUser(t testing.TB, db *models.DB, name string) models.User {
	t.Helper()
	return modelstest.Account(t, db, name, name, "editor")
}

func write(t testing.TB, db *models.DB, change func(*gorm.DB) error) {
	t.Helper()
	if err := db.Transaction(context.Background(), change); err != nil {
		t.Fatal(err)
	}
}

// holdWriteLock keeps everyone else from writing until release.
func holdWriteLock(db *models.DB, locked chan<- struct{}, release <-chan struct{}) error {
	return db.Transaction(context.Background(), func(tx *gorm.DB) error {
		err := tx.Exec("UPDATE change_counters SET value = value").Error
		close(locked)
		<-release
		return err
	})
}

func create(t testing.TB, store *tokens.Tokens, wish tokens.Wish) (string, tokens.Token) {
	t.Helper()
	plaintext, token, err := store.Create(context.Background(), wish)
	if err != nil {
		t.Fatal(err)
	}
	return plaintext, token
}

// works is what the guard asks of a credential.
func works(t testing.TB, store *tokens.Tokens, plaintext string, at time.Time) bool {
	t.Helper()
	token, ok, err := store.FindToken(context.Background(), sha256.Sum256([]byte(plaintext)))
	if err != nil {
		t.Fatal(err)
	}
	return ok && !token.Revoked && !token.OwnerDisabled && (token.ExpiresAt == nil || at.Before(*token.ExpiresAt))
}

func names(t testing.TB, store *tokens.Tokens, userID int64) []string {
	t.Helper()
	list, err := store.List(context.Background(), userID)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, token := range list {
		found = append(found, token.Name)
	}
	return found
}

func expectProblem(t testing.TB, err error, kind problems.Kind, about string) *problems.Error {
	t.Helper()
	if !problems.Is(err, kind) {
		t.Fatalf("%s: the error is %v, want %s", about, err, kind.Code())
	}
	return problems.Of(err)
}

func named(name string) *string { return &name }

// A token is shown once: only its hash is kept, and it is one that the guard takes for well-formed.
func TestOnlyTheHashIsKept(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		user, store := newUser(t, db, "ann"), tokens.New(db, tokens.Options{})
		plaintext, made := create(t, store, tokens.Wish{UserID: user.ID, Name: named("  laptop ")})
		if !auth.Check(plaintext) {
			t.Errorf("the guard would refuse %q unseen", plaintext)
		}
		var row models.APIToken
		if err := db.Read.Take(&row, made.ID).Error; err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(plaintext))
		if row.TokenHash != hex.EncodeToString(sum[:]) || row.Name != "laptop" || row.Scopes != auth.FullName {
			t.Errorf("the row is %+v", row)
		}
		if other, _ := create(t, store, tokens.Wish{UserID: user.ID}); other == plaintext {
			t.Error("two tokens are the same")
		}
	})
}

// What the guard is told of a token is what its row and its owner's row say now.
func TestFindTokenTellsOfTheOwner(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		user, store := newUser(t, db, "ann"), tokens.New(db, tokens.Options{})
		plaintext, made := create(t, store, tokens.Wish{UserID: user.ID, Scopes: []string{"upload", " read", "read"}, ExpiresInDays: 1})
		hash := sha256.Sum256([]byte(plaintext))
		found, ok, err := store.FindToken(context.Background(), hash)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if found.ID != made.ID || found.UserID != user.ID || found.OrganizationID != user.OrganizationID ||
			found.Role != "editor" || found.Scopes.Stored() != "read upload" || found.Revoked || found.OwnerDisabled ||
			!found.ExpiresAt.Equal(*made.ExpiresAt) {
			t.Errorf("found %+v", found)
		}
		write(t, db, func(tx *gorm.DB) error { return tx.Model(&user).Update("disabled_at", time.Now()).Error })
		if found, _, _ = store.FindToken(context.Background(), hash); !found.OwnerDisabled {
			t.Error("the owner's token does not say that the owner is disabled")
		}
		if _, ok, err = store.FindToken(context.Background(), sha256.Sum256([]byte("x"))); ok || err != nil {
			t.Errorf("an unknown token: found %v, %v", ok, err)
		}
	})
}

// A database that does not answer is an error, never "no such token": clients throw refused credentials away.
func TestALostDatabaseIsAnError(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	store := tokens.New(db, tokens.Options{})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.FindToken(context.Background(), [32]byte{}); err == nil {
		t.Error("FindToken: no error")
	}
	if _, err := store.Changes(context.Background()); err == nil {
		t.Error("Changes: no error")
	}
}

// Names, scopes and expiry are bounded, and a wrong one makes nothing.
func TestCreateJudgesTheWish(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	user, store := newUser(t, db, "ann"), tokens.New(db, tokens.Options{})
	long := make([]rune, tokens.MaxNameLength+1)
	for i := range long {
		long[i] = 'ü'
	}
	for about, wish := range map[string]tokens.Wish{
		"blank name":       {Name: named("  ")},
		"long name":        {Name: named(string(long))},
		"NUL in the name":  {Name: named("a\x00b")},
		"no scope":         {Scopes: []string{}},
		"unknown scope":    {Scopes: []string{"read", "admin"}},
		"full and another": {Scopes: []string{"full", "read"}},
		"blank scope":      {Scopes: []string{""}},
		"negative days":    {ExpiresInDays: -1},
		"too many days":    {ExpiresInDays: tokens.MaxExpiryDays + 1},
	} {
		wish.UserID = user.ID
		_, _, err := store.Create(context.Background(), wish)
		expectProblem(t, err, problems.InvalidParameter, about)
	}
	if made := names(t, store, user.ID); made != nil {
		t.Errorf("refused wishes made %v", made)
	}
	for about, wish := range map[string]tokens.Wish{
		"longest name": {Name: named(string(long[1:]))},
		"longest life": {ExpiresInDays: tokens.MaxExpiryDays},
		"full alone":   {Scopes: []string{" full "}},
	} {
		wish.UserID = user.ID
		if _, _, err := store.Create(context.Background(), wish); err != nil {
			t.Errorf("%s: %v", about, err)
		}
	}
}

// The cap counts what is active: revoking frees a slot at once, and so does expiring.
func TestTheCapCountsActiveTokens(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		clock := newClock()
		user, other := newUser(t, db, "ann"), newUser(t, db, "bob")
		store := tokens.New(db, tokens.Options{MaxPerUser: 2, Now: clock.Now})
		_, first := create(t, store, tokens.Wish{UserID: user.ID})
		create(t, store, tokens.Wish{UserID: user.ID, ExpiresInDays: 1})

		_, _, err := store.Create(context.Background(), tokens.Wish{UserID: user.ID})
		refusal := expectProblem(t, err, problems.TokenLimitReached, "the third token")
		if refusal.Fields["max_tokens"] != 2 {
			t.Errorf("the refusal says %v", refusal.Fields)
		}
		create(t, store, tokens.Wish{UserID: other.ID})

		if err := store.Revoke(context.Background(), user.ID, first.ID); err != nil {
			t.Fatal(err)
		}
		create(t, store, tokens.Wish{UserID: user.ID})
		_, _, err = store.Create(context.Background(), tokens.Wish{UserID: user.ID})
		expectProblem(t, err, problems.TokenLimitReached, "one more than revoking freed")

		clock.Advance(24 * time.Hour)
		create(t, store, tokens.Wish{UserID: user.ID})
	})
}

// Without a cap there is none, and a cap lowered below the count ends nothing.
func TestACapLoweredLaterEndsNothing(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	user := newUser(t, db, "ann")
	free := tokens.New(db, tokens.Options{})
	var plaintexts []string
	for range 12 {
		plaintext, _ := create(t, free, tokens.Wish{UserID: user.ID})
		plaintexts = append(plaintexts, plaintext)
	}
	capped := tokens.New(db, tokens.Options{MaxPerUser: 1})
	_, _, err := capped.Create(context.Background(), tokens.Wish{UserID: user.ID})
	expectProblem(t, err, problems.TokenLimitReached, "above a lowered cap")
	for _, plaintext := range plaintexts {
		if !works(t, capped, plaintext, time.Now()) {
			t.Error("lowering the cap ended a token")
		}
	}
}

// Fifty creates at once leave exactly the cap, from several processes, on both databases (H-037).
func TestRacingCreatesLeaveExactlyTheCap(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		user := newUser(t, db, "ann")
		var made, refused int
		var mu sync.Mutex
		var racers sync.WaitGroup
		start := make(chan struct{})
		for i := range 50 {
			// A store each: nothing but the database may be what holds the cap.
			store := tokens.New(db, tokens.Options{MaxPerUser: 10})
			racers.Go(func() {
				<-start
				_, _, err := store.Create(context.Background(), tokens.Wish{UserID: user.ID, Name: named(fmt.Sprint(i))})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					made++
				case problems.Is(err, problems.TokenLimitReached):
					refused++
				default:
					t.Error(err)
				}
			})
		}
		close(start)
		racers.Wait()
		if made != 10 || refused != 40 {
			t.Errorf("%d made and %d refused, want 10 and 40", made, refused)
		}
		if list := names(t, tokens.New(db, tokens.Options{}), user.ID); len(list) != 10 {
			t.Errorf("%d tokens are left", len(list))
		}
	})
}

// creating is the create limit at these rates, with every other limit off.
func creating(rates ...limits.Rate) *limits.InForce {
	figures := authtest.NoFigures()
	figures[limits.TokenCreate] = rates
	return limits.NewInForce(figures, nil)
}

// The create limit counts what is made over HTTP, after the cap: a refusal by the cap charges nothing, and one by
// the limit makes nothing.
func TestTheCreateLimitIsTakenAfterTheCap(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		user, clock := newUser(t, db, "ann"), newClock()
		counts := limits.NewMemory(clock.Now)
		store := tokens.New(db, tokens.Options{MaxPerUser: 2, Figures: creating(limits.Rate{Limit: 3, Period: time.Hour}), Limits: counts, Now: clock.Now})
		wish := tokens.Wish{UserID: user.ID, OverHTTP: true}
		_, first := create(t, store, wish)
		create(t, store, wish)
		for range 5 {
			_, _, err := store.Create(context.Background(), wish)
			expectProblem(t, err, problems.TokenLimitReached, "at the cap")
		}
		if err := store.Revoke(context.Background(), user.ID, first.ID); err != nil {
			t.Fatal(err)
		}
		_, third := create(t, store, wish) // fails if a refusal by the cap was charged
		if err := store.Revoke(context.Background(), user.ID, third.ID); err != nil {
			t.Fatal(err)
		}
		_, _, err := store.Create(context.Background(), wish)
		refusal := expectRefusal(t, err)
		if state := refusal.Decision.States[refusal.Decision.Binding]; state.Plan != limits.TokenCreate || state.Key.ID != user.ID {
			t.Errorf("refused by %v", state.Limit)
		}
		if list := names(t, store, user.ID); len(list) != 1 {
			t.Errorf("a refused create left %v", list)
		}
		create(t, store, tokens.Wish{UserID: user.ID}) // the command is not counted
	})
}

// A create limit that is switched off lets everything through, also without a storage.
func TestACreateLimitCanBeOff(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	user := newUser(t, db, "ann")
	for _, rates := range [][]limits.Rate{nil, {{Limit: 0, Period: time.Hour}}} {
		store := tokens.New(db, tokens.Options{Figures: creating(rates...)})
		for range 15 {
			create(t, store, tokens.Wish{UserID: user.ID, OverHTTP: true})
		}
	}
}
