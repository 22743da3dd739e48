package limits

import (
	"context"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tests/testservices"
)

// proxied is a migrated database behind a proxy.
func proxied(t *testing.T) (proxy *testservices.Proxy, through string) {
	t.Helper()
	u, err := url.Parse(migratedPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy = testservices.NewProxy(t, u.Host)
	u.Host = proxy.Address
	return proxy, u.String()
}

// stopped takes until it is refused, which must be soon and must admit nothing.
func stopped(t *testing.T, store databaseStore, what string) {
	t.Helper()
	start := time.Now()
	d, err := store.Take(t.Context(), perAccount(17, 1000, time.Minute), nil)
	if !problems.Is(err, problems.LimitsUnavailable) || d.Admitted || problems.Of(err).RetryAfter < time.Second {
		t.Errorf("%s: admitted is %v, error %v", what, d.Admitted, err)
	}
	if _, _, err := store.Acquire(t.Context(), "jobs:3", 1, time.Minute); !problems.Is(err, problems.LimitsUnavailable) {
		t.Errorf("%s: a lease has error %v", what, err)
	}
	// Twice 100 ms, and more on a busy machine.
	if took := time.Since(start); took > time.Second {
		t.Errorf("%s: two decisions took %v", what, took)
	}
}

// recovers wants a decision within some seconds.
func recovers(t *testing.T, store databaseStore, within time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(within); ; {
		d, err := store.Take(t.Context(), perAccount(17, 1000, time.Minute), nil)
		if err == nil && d.Admitted {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v after the storage came back: %v", within, err)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func TestPostgresDecidesInOneRoundTrip(t *testing.T) {
	t.Parallel()
	proxy, through := proxied(t)
	store := openedPostgres(t, through, DatabaseOptions{Timeout: 10 * time.Second, Connections: 1})
	stack := append(perAccount(17, 3, time.Minute), perAddress(9, 9, time.Minute)...)
	mustAdmit(t, store, stack, true) // prepares the statement
	before := proxy.Trips()
	for _, want := range []bool{true, true, false, false, false} {
		mustAdmit(t, store, stack, want)
	}
	if trips := proxy.Trips() - before; trips != 5 {
		t.Errorf("5 decisions took %d round trips", trips)
	}
}

func TestPostgresThatHangsCostsATenthOfASecond(t *testing.T) {
	t.Parallel()
	proxy, through := proxied(t)
	store := openedPostgres(t, through, DatabaseOptions{})
	proxy.Freeze()
	for range 5 { // more than there are connections to lose
		stopped(t, store, "hung")
	}
	proxy.Thaw()
	recovers(t, store, 10*time.Second)
}

// A server that has frozen holds a sweep for a while, and not for as long as it is frozen.
func TestPostgresThatHangsDoesNotHoldTheSweep(t *testing.T) {
	t.Parallel()
	proxy, through := proxied(t)
	store := openedPostgres(t, through, DatabaseOptions{})
	store.patience = 200 * time.Millisecond
	proxy.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := store.Sweep(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("a sweep at a frozen server has error %v", err)
	}
	proxy.Thaw()
	if err := store.Sweep(ctx); err != nil {
		t.Errorf("a sweep after the thaw: %v", err)
	}
}

func TestPostgresThatIsGoneComesBack(t *testing.T) {
	t.Parallel()
	proxy, through := proxied(t)
	store := openedPostgres(t, through, DatabaseOptions{})
	proxy.Cut()
	for range 5 {
		stopped(t, store, "gone")
	}
	proxy.Mend()
	recovers(t, store, 10*time.Second)
}

// A server that is not there yet is no error: the store is made and finds it when it comes.
func TestOpenPostgresBeforeTheServer(t *testing.T) {
	t.Parallel()
	proxy, through := proxied(t)
	proxy.Cut()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // in place of 3 seconds
	defer cancel()
	store, err := OpenPostgres(ctx, through, DatabaseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	stopped(t, store, "not there yet")
	proxy.Mend()
	recovers(t, store, 10*time.Second)
}

// A name, a password or a database that the server does not know is an error at once, which shows no password.
func TestOpenPostgresRefused(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(testservices.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	nobody, nowhere := *u, *u
	nobody.User = url.UserPassword("nobody-of-ours", "hunter2")
	nowhere.User, nowhere.Path = url.UserPassword(u.User.Username(), "hunter2"), "/nowhere"
	for name, address := range map[string]string{"name": nobody.String(), "database": nowhere.String(), "URL": "postgres://:hunter2@[::1"} {
		start := time.Now()
		_, err := OpenPostgres(t.Context(), address, DatabaseOptions{Timeout: time.Second})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a wrong %s: %v", name, err)
		}
		if took := time.Since(start); took > contactPatience/2 {
			t.Errorf("a wrong %s was tried for %v", name, took)
		}
	}
}

// A decision that waits for another's lock gives up in time and has charged nothing. The server ends it, so that its
// connection goes on being used.
func TestPostgresDecisionThatIsLateIsEndedByTheServer(t *testing.T) {
	t.Parallel()
	address := migratedPostgres(t)
	quick, slow := openedPostgres(t, address, DatabaseOptions{}), openedPostgres(t, address, DatabaseOptions{Timeout: time.Second})
	blocker, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Close(context.WithoutCancel(t.Context()))
	stack := perAccount(17, 1000, time.Minute)
	lock := func(function string) {
		if _, err := blocker.Exec(t.Context(), "SELECT "+function+"(hashtextextended($1, 0) & -2), "+function+"(hashtextextended('lease:jobs:3', 0) & -2)",
			rowName(&stack[1])); err != nil {
			t.Fatal(err)
		}
	}
	lock("pg_advisory_lock")
	stopped(t, quick, "locked out")
	made := slow.pool.Stat().NewConnsCount()
	for range 3 {
		if d, err := slow.Take(t.Context(), stack, nil); !problems.Is(err, problems.LimitsUnavailable) || d.Admitted {
			t.Errorf("locked out: admitted is %v, error %v", d.Admitted, err)
		}
	}
	if more := slow.pool.Stat().NewConnsCount() - made; more > 1 {
		t.Errorf("three decisions that were late cost %d connections", more)
	}
	lock("pg_advisory_unlock")
	recovers(t, quick, 10*time.Second)
	if got := left(t, slow, stack); got[0] != 999 || got[1] != 999 {
		t.Errorf("one request was admitted; %v are left of 1000", got)
	}
}

// A refusal and a peek leave every row as it is, down to its place on disk.
func TestPostgresRefusalOnlyReads(t *testing.T) {
	t.Parallel()
	store := openedPostgres(t, migratedPostgres(t), DatabaseOptions{Timeout: 10 * time.Second})
	stack := append(perAccount(17, 1, time.Hour), Limit{
		Plan: AddressAI, Key: Key{Addr: netip.MustParseAddr("203.0.113.9")}, Rate: Rate{Limit: 9, Period: time.Minute}, Cost: 1,
	})
	mustAdmit(t, store, stack[:2], true)
	rows := func() (all string) {
		if err := store.pool.QueryRow(t.Context(), "SELECT string_agg(c.ctid || ' ' || c.xmin || ' ' || c.xmax || ' ' || c::text, '; ' ORDER BY name) FROM limit_counters AS c").
			Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := rows()
	for range 3 {
		mustAdmit(t, store, stack, false)
		left(t, store, stack)
	}
	if after := rows(); after != before {
		t.Errorf("refusals wrote: %s became %s", before, after)
	}
}

// A database without our tables, or with something else in them, admits nothing.
func TestPostgresThatIsNotOursAdmitsNothing(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(migratedPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	store := openedPostgres(t, u.String(), DatabaseOptions{Timeout: 10 * time.Second})
	stack := perAccount(17, 2, time.Minute)
	mustAdmit(t, store, stack, true)
	for _, statement := range []string{
		"UPDATE limit_counters SET totals = '{}' WHERE name = '" + rowName(&stack[1]) + "'",
		"UPDATE limit_counters SET totals = '{0,NULL}' WHERE name = '" + rowName(&stack[1]) + "'",
		"DROP FUNCTION limits_take_1",
	} {
		if _, err := store.pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		if d, err := store.Take(t.Context(), stack, nil); !problems.Is(err, problems.LimitsUnavailable) || d.Admitted {
			t.Errorf("after %s: admitted is %v, error %v", statement, d.Admitted, err)
		}
	}
}

// A table that was empty when it was planned for must not be read from end to end later, and no plan is compiled: that
// takes longer than a decision may.
func TestPostgresPlansAreThoseOfGrownTables(t *testing.T) {
	t.Parallel()
	store := openedPostgres(t, migratedPostgres(t), DatabaseOptions{Timeout: 10 * time.Second})
	explain := func(question string) string {
		rows, err := store.pool.Query(t.Context(), "EXPLAIN ANALYZE "+question)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	if _, err := store.pool.Exec(t.Context(), "VACUUM ANALYZE limit_counters"); err != nil {
		t.Fatal(err)
	}
	if plan := explain("SELECT * FROM limit_counters WHERE name = 'token:17:read:60'"); !strings.Contains(plan, "Index") {
		t.Errorf("a counter is looked up by\n%s", plan)
	}
	if plan := explain("SELECT max(epoch) FROM limit_epochs"); strings.Contains(plan, "JIT") {
		t.Errorf("a plan is compiled:\n%s", plan)
	}
}

// What a crash of the server forgets is told to each process once.
func TestPostgresEpochTellsALoss(t *testing.T) {
	t.Parallel()
	address := migratedPostgres(t)
	stores := []*Postgres{openedPostgres(t, address, DatabaseOptions{Timeout: 10 * time.Second}), openedPostgres(t, address, DatabaseOptions{Timeout: 10 * time.Second})}
	epochs := func(want bool) {
		t.Helper()
		for i, store := range stores {
			if lost, err := store.Epoch(t.Context()); err != nil || lost != want {
				t.Errorf("store %d: lost is %v, want %v; error %v", i, lost, want, err)
			}
		}
	}
	epochs(false)
	if _, err := stores[0].pool.Exec(t.Context(), "TRUNCATE limit_counters, limit_leases, limit_epochs"); err != nil {
		t.Fatal(err)
	}
	epochs(true)
	epochs(false)
}
