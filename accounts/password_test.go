package accounts

import (
	"context"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

// Where there is no account the same work is done as where there is one.
func TestNobodysHashCostsWhatOthersCost(t *testing.T) {
	t.Parallel()
	params, _, _, err := argon2id.DecodeHash(nobodysHash)
	if err != nil || *params != *work() {
		t.Errorf("nobody's hash costs %+v (%v), others cost %+v", params, err, *work())
	}
	store := New(modelstest.SQLite(t), Options{Registration: Open})
	ctx := context.Background()
	if _, err := store.Register(ctx, NewUser{Email: "ann@example.com", Username: "ann", Password: "correct horse"}); err != nil {
		t.Fatal(err)
	}
	fastest := map[string]time.Duration{"ann": time.Hour, "nobody": time.Hour}
	for range 5 {
		for name, best := range fastest {
			began := time.Now()
			claim, err := store.Claim(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.Verify(ctx, claim, "wrong horse"); !problems.Is(err, problems.InvalidCredentials) {
				t.Fatal(err)
			}
			fastest[name] = min(best, time.Since(began))
		}
	}
	known, unknown := fastest["ann"], fastest["nobody"]
	// Without the work the unknown name is answered a hundred times faster.
	if unknown < known/5 || known < unknown/5 {
		t.Errorf("a known account takes %v, an unknown one %v", known, unknown)
	}
}

// Passwords are hashed a few at a time; who waits for a turn and leaves is gone.
func TestHashingWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	store := New(modelstest.SQLite(t), Options{})
	for store.hashing.TryAcquire(1) {
	}
	ctx, leave := context.WithCancel(context.Background())
	leave()
	if _, err := store.hash(ctx, "correct horse"); !problems.Is(err, problems.Timeout) {
		t.Errorf("hash: %v", err)
	}
	if _, err := store.matches(ctx, "correct horse", nobodysHash); !problems.Is(err, problems.Timeout) {
		t.Errorf("matches: %v", err)
	}
}
