package accounts_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

// member registers one; the first is the administrator of the instance.
func member(t testing.TB, store *accounts.Accounts, name string) accounts.User {
	t.Helper()
	user, err := store.Create(context.Background(), accounts.NewUser{Email: name + "@example.org", Username: name, Password: "correct horse battery staple"})
	if err != nil {
		t.Fatal(err)
	}
	return user
}

// Rule (issue 7): the last administrator of the instance is not erased, also where two would be at the same time.
func TestTheLastAdministratorIsNotErased(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store := accounts.New(db, accounts.Options{Erase: func(context.Context, *gorm.DB, int64) error { return nil }})
		first, second := member(t, store, "first"), member(t, store, "second")
		ctx := context.Background()
		if err := store.BeginErase(ctx, first.ID); !problems.Is(err, problems.Conflict) {
			t.Fatalf("the only administrator: %v, want a conflict", err)
		}
		err := db.Transaction(ctx, func(tx *gorm.DB) error {
			return tx.Model(&models.User{}).Where("id = ?", second.ID).UpdateColumn("instance_admin", true).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		var conflicts atomic.Int64
		var both sync.WaitGroup
		for _, id := range []int64{first.ID, second.ID} {
			both.Go(func() {
				if err := store.BeginErase(ctx, id); problems.Is(err, problems.Conflict) {
					conflicts.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if conflicts.Load() != 1 {
			t.Errorf("%d of two were refused, want one", conflicts.Load())
		}
	})
}

// Rule: an account is marked only together with the job that erases it; then its address and name are free, nobody signs
// in to it, and it can't be enabled again.
func TestAnAccountIsMarkedWithItsJob(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		failing := errors.New("no queue")
		var fails atomic.Bool
		store := accounts.New(db, accounts.Options{Erase: func(context.Context, *gorm.DB, int64) error {
			if fails.Load() {
				return failing
			}
			return nil
		}})
		member(t, store, "first")
		leaving := member(t, store, "leaving")
		fails.Store(true)
		if err := store.BeginErase(ctx, leaving.ID); !errors.Is(err, failing) {
			t.Errorf("without a queue: %v", err)
		}
		if _, err := store.ByEmail(ctx, leaving.Email); err != nil {
			t.Errorf("it is marked without its job: %v", err)
		}
		fails.Store(false)
		if err := store.BeginErase(ctx, leaving.ID); err != nil {
			t.Fatal(err)
		}
		if again := member(t, store, "leaving"); again.ID == leaving.ID {
			t.Error("the new account is the old one")
		}
		err := db.Transaction(ctx, func(tx *gorm.DB) error {
			return tx.Model(&models.User{}).Where("id = ?", leaving.ID).UpdateColumn("disabled_at", nil).Error
		})
		if err == nil {
			t.Error("an account that is being erased was enabled")
		}
		if err := store.BeginErase(ctx, leaving.ID); err != nil {
			t.Errorf("asked for again: %v", err)
		}
	})
}
