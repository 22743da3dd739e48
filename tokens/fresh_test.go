package tokens_test

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"testing"
	"time"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/tokens"
)

// Every revocation, narrowing and rotation moves the counter that guards watch: at once in the process that did
// it, within a second in every other, whether it polls or only asks.
func TestAChangeIsHeardEverywhereWithinASecond(t *testing.T) {
	t.Parallel()
	for name, databaseURL := range modelstest.Migrated.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := databaseURL(t)
			ctx := context.Background()
			here := tokens.New(modelstest.Open(t, url, false), tokens.Options{})
			there := tokens.New(modelstest.Open(t, url, false), tokens.Options{})
			idle := tokens.New(modelstest.Open(t, url, false), tokens.Options{})
			for _, store := range []*tokens.Tokens{here, there} {
				store.Start(ctx)
				t.Cleanup(func() {
					if err := store.Stop(ctx); err != nil {
						t.Error(err)
					}
				})
			}
			user := newUser(t, modelstest.Open(t, url, false), "ann")
			for about, change := range map[string]func(id int64) error{
				"revoking": func(id int64) error { return here.Revoke(ctx, user.ID, id) },
				"narrowing": func(id int64) error {
					_, err := here.Alter(ctx, user.ID, id, tokens.Change{Scopes: []string{"read"}})
					return err
				},
				"rotation": func(id int64) error { _, _, err := here.Rotate(ctx, user.ID, id, 1, 0); return err },
			} {
				_, token := create(t, here, tokens.Wish{UserID: user.ID})
				before := counted(t, here)
				for _, store := range []*tokens.Tokens{there, idle} {
					waitFor(t, store, about+": never caught up", func(value int64) bool { return value == before })
				}
				if err := change(token.ID); err != nil {
					t.Fatal(about, err)
				}
				changed := time.Now()
				if counted(t, here) == before {
					t.Errorf("%s: not heard at once in the process that did it", about)
				}
				for i, store := range []*tokens.Tokens{there, idle} {
					last := waitFor(t, store, about+": never heard", func(value int64) bool { return value != before })
					if late := last.Sub(changed); late > time.Second {
						t.Errorf("%s: process %d was told the old count %v later", about, i, late)
					}
				}
			}
		})
	}
}

// Renaming ends nothing, so that no process has to look its tokens up again.
func TestRenamingMovesNoCounter(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	user, store := newUser(t, db, "ann"), tokens.New(db, tokens.Options{})
	_, token := create(t, store, tokens.Wish{UserID: user.ID})
	before := counted(t, store)
	if _, err := store.Alter(context.Background(), user.ID, token.ID, tokens.Change{Name: named("new"), Scopes: []string{"full"}}); err != nil {
		t.Fatal(err)
	}
	if counted(t, tokens.New(db, tokens.Options{})) != before {
		t.Error("renaming moved the counter")
	}
}

// A use is shown at once, and written when the store stops.
func TestLastUse(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx, clock := context.Background(), newClock()
		user := newUser(t, db, "ann")
		store := tokens.New(db, tokens.Options{Now: clock.Now})
		store.Start(ctx)
		store.Start(ctx) // a second Start is none
		_, token := create(t, store, tokens.Wish{UserID: user.ID})
		first := clock.Now()
		store.Used(token.ID, first, netip.MustParseAddr("192.0.2.1"))
		store.Used(token.ID, first.Add(time.Minute), netip.MustParseAddr("192.0.2.2"))
		store.Used(1<<60, first, netip.MustParseAddr("192.0.2.3")) // a token that is gone

		list, err := store.List(ctx, user.ID)
		if err != nil || list[0].LastUsedAt == nil || !list[0].LastUsedAt.Equal(first.Add(time.Minute)) {
			t.Errorf("listed is %+v, %v", list, err)
		}
		if current, err := store.Current(ctx, user.ID, token.ID); err != nil || !current.LastUsedAt.Equal(first) {
			t.Errorf("a token looking at itself was last used %v, %v; want now", current.LastUsedAt, err)
		}
		var row models.APIToken
		if err := db.Read.Take(&row, token.ID).Error; err != nil || row.LastUsedAt != nil {
			t.Errorf("the use was written in the request: %v, %v", row.LastUsedAt, err)
		}
		for range 2 {
			if err := store.Stop(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Read.Take(&row, token.ID).Error; err != nil {
			t.Fatal(err)
		}
		if row.LastUsedAt == nil || !row.LastUsedAt.Equal(first.Add(time.Minute)) || *row.LastUsedAddress != "192.0.2.2" {
			t.Errorf("written is %v by %v", row.LastUsedAt, row.LastUsedAddress)
		}
		// What another process wrote later stays.
		store.Used(token.ID, first, netip.MustParseAddr("192.0.2.4"))
		if err := store.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if err := db.Read.Take(&row, token.ID).Error; err != nil || *row.LastUsedAddress != "192.0.2.2" {
			t.Errorf("a use was set back: %v, %v", row.LastUsedAddress, err)
		}
	})
}

// While another writer holds SQLite's lock, tokens are found and the counter is read.
func TestLookUpsGoOnUnderAWriteLock(t *testing.T) {
	t.Parallel()
	url := modelstest.Migrated.SQLiteURL(t)
	db := modelstest.Open(t, url, false)
	user, store := newUser(t, db, "ann"), tokens.New(db, tokens.Options{})
	plaintext, _ := create(t, store, tokens.Wish{UserID: user.ID})
	other := modelstest.Open(t, url, false)
	locked, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() { ended <- holdWriteLock(other, locked, release) }()
	<-locked
	ctx, done := context.WithTimeout(context.Background(), 5*time.Second)
	defer done()
	if _, err := store.Changes(ctx); err != nil {
		t.Error(err)
	}
	if _, ok, err := store.FindToken(ctx, sha256.Sum256([]byte(plaintext))); !ok || err != nil {
		t.Errorf("found %v, %v", ok, err)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func counted(t testing.TB, store *tokens.Tokens) int64 {
	t.Helper()
	value, err := store.Changes(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// waitFor asks until the answer is as wanted, for five seconds at most. It returns when the last question was asked
// whose answer was not.
func waitFor(t testing.TB, store *tokens.Tokens, otherwise string, wanted func(int64) bool) (last time.Time) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Second); ; <-tick.C {
		asked := time.Now()
		if wanted(counted(t, store)) {
			return last
		}
		last = asked
		if asked.After(deadline) {
			t.Fatal(otherwise)
		}
	}
}
