package limits

import (
	"context"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/stenometer/stenometer/models/modelstest"
)

// databaseStore is what both stores in a database can do.
type databaseStore interface {
	Shared
	Epochs
	Sweeper
}

// eachDatabase runs the test on both databases. Open opens one more store on the test's own storage, as another
// process would.
func eachDatabase(t *testing.T, options DatabaseOptions, test func(t *testing.T, open func() databaseStore)) {
	t.Helper()
	if options.Timeout == 0 {
		options.Timeout = 10 * time.Second // dozens of goroutines share few cores
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "limits.db")
		test(t, func() databaseStore { return openedSQLite(t, path, options) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := migratedPostgres(t)
		test(t, func() databaseStore { return openedPostgres(t, url, options) })
	})
}

// migratedPostgres is the URL of a new database with our tables.
func migratedPostgres(t testing.TB) string {
	t.Helper()
	return modelstest.Migrated.PostgresURL(t)
}

func openedSQLite(t testing.TB, path string, options DatabaseOptions) *SQLite {
	t.Helper()
	s, err := OpenSQLite(t.Context(), path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func openedPostgres(t testing.TB, url string, options DatabaseOptions) *Postgres {
	t.Helper()
	p, err := OpenPostgres(t.Context(), url, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// perAccount is a stack of two for one token of one account.
func perAccount(token, figure int64, window time.Duration) []Limit {
	rate := Rate{Limit: figure, Period: window}
	return []Limit{
		{Plan: AccountRead, Key: Key{Org: 3, ID: 5}, Rate: rate, Cost: 1},
		{Plan: TokenRead, Key: Key{Org: 3, ID: token}, Rate: rate, Cost: 1},
	}
}

// perAddress is one limit for the n-th address.
func perAddress(n byte, figure int64, window time.Duration) []Limit {
	key := Key{Addr: netip.AddrFrom4([4]byte{198, 51, 100, n})}
	return []Limit{{Plan: Register, Key: key, Rate: Rate{Limit: figure, Period: window}, Cost: 1}}
}

func mustAdmit(t testing.TB, store Store, stack []Limit, want bool) Decision {
	t.Helper()
	d, err := store.Take(t.Context(), stack, nil)
	if err != nil {
		t.Fatalf("Take: %v", err)
	}
	if d.Admitted != want {
		t.Fatalf("%v: admitted is %v", stack, d.Admitted)
	}
	return d
}

// left is what a stack has left, by Peek.
func left(t testing.TB, store Store, stack []Limit) (remaining []int64) {
	t.Helper()
	states, err := store.Peek(t.Context(), stack)
	if err != nil {
		t.Fatalf("Peek: %v", err)
	}
	for i := range states {
		remaining = append(remaining, states[i].Context.Remaining)
	}
	return remaining
}

// spaceOf is what the store knows of its bound.
func spaceOf(t testing.TB, store Store) *space {
	t.Helper()
	switch s := store.(type) {
	case *SQLite:
		return s.space
	case *Postgres:
		return s.space
	}
	t.Fatalf("%T is no store in a database", store)
	return nil
}

// rowsOf counts what is stored.
func rowsOf(t testing.TB, store Store) (counters, leases int) {
	t.Helper()
	var err error
	switch s := store.(type) {
	case *SQLite:
		err = s.using(t.Context(), func(ctx context.Context, f *limitsFile) error {
			return f.conn.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM counters), (SELECT count(*) FROM leases)").Scan(&counters, &leases)
		})
	case *Postgres:
		err = s.pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM limit_counters), (SELECT count(*) FROM limit_leases)").Scan(&counters, &leases)
	}
	if err != nil {
		t.Fatal(err)
	}
	return counters, leases
}
