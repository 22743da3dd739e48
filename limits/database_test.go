package limits_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/limits/limitstest"
	"github.com/stenometer/stenometer/models/modelstest"
)

func TestPostgresKeepsTheRulesOfAStore(t *testing.T) {
	t.Parallel()
	limitstest.Run(t, func(t *testing.T) limitstest.Subject {
		url := modelstest.Migrated.PostgresURL(t)
		// The timeout is generous: dozens of goroutines share few cores.
		store, err := limits.OpenPostgres(t.Context(), url, limits.DatabaseOptions{Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		closeWith(t, store)
		return limitstest.Subject{
			Store:  store,
			Window: 1500 * time.Millisecond,
			Now:    time.Now,
			Wait:   func(d time.Duration) { <-time.After(d) },
		}
	})
}

func TestSQLiteKeepsTheRulesOfAStore(t *testing.T) {
	t.Parallel()
	limitstest.Run(t, func(t *testing.T) limitstest.Subject {
		clock := limitstest.NewClock()
		store, err := limits.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "limits.db"),
			limits.DatabaseOptions{Timeout: 10 * time.Second, Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		closeWith(t, store)
		return limitstest.Subject{Store: store, Window: time.Minute, Now: clock.Now, Wait: clock.Move}
	})
}

// closeWith closes the store with the test, and again: closing twice is allowed.
func closeWith(t *testing.T, store limits.Store) {
	t.Cleanup(func() {
		for range 2 {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
