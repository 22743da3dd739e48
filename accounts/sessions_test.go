package accounts_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/tests/clocktest"
)

func newClock() *clocktest.Clock { return clocktest.New(time.Date(2026, 3, 5, 6, 0, 0, 0, time.UTC)) }

func open(t testing.TB, store *accounts.Accounts, old string, user accounts.User) string {
	t.Helper()
	cookie, _, err := store.OpenSession(context.Background(), old, user, accounts.Browser{})
	if err != nil {
		t.Fatal(err)
	}
	return cookie
}

func opens(t testing.TB, store *accounts.Accounts, cookie string) bool {
	t.Helper()
	_, ok, err := store.FindSession(context.Background(), cookie)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// A session resolves to the account as it is now, and its cookie is not in the database.
func TestASessionIsItsAccount(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store := accounts.New(db, accounts.Options{Registration: accounts.Open})
		ann := register(t, store, wish("ann"))
		cookie := open(t, store, "", ann)
		found, ok, err := store.FindSession(context.Background(), cookie)
		if err != nil || !ok || found.UserID != ann.ID || found.OrganizationID != ann.OrganizationID || found.Role != "admin" {
			t.Fatalf("found %+v, %v, %v", found, ok, err)
		}
		write(t, db, func(tx *gorm.DB) error {
			return tx.Model(&models.User{}).Where("id = ?", ann.ID).Update("role", "viewer").Error
		})
		if found, _, _ = store.FindSession(context.Background(), cookie); found.Role != "viewer" {
			t.Errorf("the session has the role %q of before", found.Role)
		}
		var rows []models.Session
		if err := db.Read.Find(&rows).Error; err != nil || len(rows) != 1 {
			t.Fatal(len(rows), err)
		}
		if strings.Contains(rows[0].TokenHash+string(rows[0].Data), cookie) {
			t.Error("the cookie can be read in the database")
		}
		for _, bad := range []string{"", "x", cookie[1:], strings.Repeat("x", 500), "a\x00b", rows[0].TokenHash} {
			if opens(t, store, bad) {
				t.Errorf("%q opens a session", bad)
			}
		}
	})
}

// Signing in ends the session before and hands out another: what was planted in a browser is worth nothing.
func TestSignInRotatesTheSession(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store := accounts.New(db, accounts.Options{Registration: accounts.Open})
		ann, bob := register(t, store, wish("ann")), register(t, store, wish("bob"))
		elsewhere := open(t, store, "", ann)
		before := open(t, store, "planted-by-a-stranger", bob)
		if before == "planted-by-a-stranger" {
			t.Error("a planted value became a session")
		}
		after := open(t, store, before, ann)
		if opens(t, store, before) || !opens(t, store, after) || !opens(t, store, elsewhere) {
			t.Error("the session before still opens, or another one does not")
		}
		found, _, _ := store.FindSession(context.Background(), after)
		if found.UserID != ann.ID {
			t.Errorf("the new session is that of account %d", found.UserID)
		}
	})
}

// Signing out, disabling the account and a new epoch each end a session.
func TestWhatEndsASession(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store := accounts.New(db, accounts.Options{Registration: accounts.Open})
		for about, end := range map[string]func(cookie string, user accounts.User){
			"signing out": func(cookie string, _ accounts.User) {
				for range 2 {
					if err := store.CloseSession(context.Background(), cookie); err != nil {
						t.Error(err)
					}
				}
			},
			"disabling": func(_ string, user accounts.User) {
				write(t, db, func(tx *gorm.DB) error {
					return tx.Model(&models.User{}).Where("id = ?", user.ID).Update("disabled_at", time.Now()).Error
				})
			},
			"a new epoch": func(_ string, user accounts.User) {
				write(t, db, func(tx *gorm.DB) error {
					return tx.Model(&models.User{}).Where("id = ?", user.ID).Update("session_epoch", 1).Error
				})
			},
		} {
			user := register(t, store, wish(strings.ReplaceAll(about, " ", "-")))
			cookie := open(t, store, "", user)
			if !opens(t, store, cookie) {
				t.Fatalf("%s: the session does not open before", about)
			}
			end(cookie, user)
			if opens(t, store, cookie) {
				t.Errorf("%s: the session still opens", about)
			}
		}
	})
}

// A session ends when it was idle for too long, and at the end of its life however busy it was.
func TestSessionsExpire(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		clock := newClock()
		store := accounts.New(db, accounts.Options{
			Registration: accounts.Open, SessionIdle: time.Hour, SessionLifetime: 5 * time.Hour, Now: clock.Now,
		})
		ann := register(t, store, wish("ann"))
		idle, busy := open(t, store, "", ann), open(t, store, "", ann)
		for i := range 9 {
			clock.Advance(30 * time.Minute)
			if !opens(t, store, busy) {
				t.Fatalf("a busy session ended after %d half hours", i+1)
			}
		}
		if opens(t, store, idle) {
			t.Error("a session that was idle for hours still opens")
		}
		clock.Advance(30 * time.Minute)
		if opens(t, store, busy) {
			t.Error("a busy session outlives its lifetime")
		}
	})
}

// Expired sessions are removed once the store is started; those that live stay.
func TestExpiredSessionsAreRemoved(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		clock := newClock()
		store := accounts.New(db, accounts.Options{
			Registration: accounts.Open, SessionIdle: time.Hour, SweepEvery: time.Millisecond, Now: clock.Now,
		})
		ann := register(t, store, wish("ann"))
		open(t, store, "", ann)
		clock.Advance(time.Hour)
		lives := open(t, store, "", ann)
		store.Start(context.Background())
		store.Start(context.Background()) // a second Start is none
		defer store.Stop()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(5 * time.Second); ; <-tick.C {
			var count int64
			if err := db.Read.Model(&models.Session{}).Count(&count).Error; err != nil {
				t.Fatal(err)
			}
			if count == 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d sessions are left", count)
			}
		}
		store.Stop()
		store.Stop()
		if !opens(t, store, lives) {
			t.Error("a living session was removed")
		}
	})
}
