package limits_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/limits/limitstest"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/tests/testservices"
)

// sweeps lets go of what counts nothing any more.
func sweeps(store limits.Sweeper) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		if err := store.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// byTheClock is a store that goes by the machine's.
func byTheClock(store limitstest.Store) limitstest.Subject {
	return limitstest.Subject{
		Store: store, Window: 1500 * time.Millisecond, Now: time.Now, Wait: func(d time.Duration) { <-time.After(d) },
	}
}

func TestMemoryAtItsBound(t *testing.T) {
	t.Parallel()
	limitstest.RunBounded(t, func(_ *testing.T, counters int) (limitstest.Subject, func(*testing.T)) {
		clock := limitstest.NewClock()
		store := limits.NewMemoryOf(clock.Now, counters)
		return limitstest.Subject{Store: store, Window: time.Minute, Now: clock.Now, Wait: clock.Move}, nil
	})
}

func TestSQLiteAtItsBound(t *testing.T) {
	t.Parallel()
	limitstest.RunBounded(t, func(t *testing.T, counters int) (limitstest.Subject, func(*testing.T)) {
		clock := limitstest.NewClock()
		store := openSQLite(t, limits.DatabaseOptions{Timeout: 10 * time.Second, Now: clock.Now, MaxKeys: counters})
		return limitstest.Subject{Store: store, Window: time.Minute, Now: clock.Now, Wait: clock.Move}, sweeps(store)
	})
}

func openSQLite(t *testing.T, options limits.DatabaseOptions) *limits.SQLite {
	t.Helper()
	store, err := limits.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "limits.db"), options)
	if err != nil {
		t.Fatal(err)
	}
	closeWith(t, store)
	return store
}

func TestPostgresAtItsBound(t *testing.T) {
	t.Parallel()
	limitstest.RunBounded(t, func(t *testing.T, counters int) (limitstest.Subject, func(*testing.T)) {
		url := modelstest.Migrated.PostgresURL(t)
		store, err := limits.OpenPostgres(t.Context(), url, limits.DatabaseOptions{Timeout: 10 * time.Second, MaxKeys: counters})
		if err != nil {
			t.Fatal(err)
		}
		closeWith(t, store)
		return byTheClock(store), sweeps(store)
	})
}

// boundedRedis is a store on a server of its own, because a server counts all of its keys.
func boundedRedis(t *testing.T, uri string, counters int) limitstest.Subject {
	t.Helper()
	storage, err := config.ParseLimitsStorage(uri)
	if err != nil {
		t.Fatal(err)
	}
	store, err := limits.OpenRedis(t.Context(), storage, limits.RedisOptions{Timeout: 10 * time.Second, MaxKeys: counters})
	if err != nil {
		t.Fatal(err)
	}
	closeWith(t, store)
	return byTheClock(store)
}

func TestRedisAtItsBound(t *testing.T) {
	t.Parallel()
	limitstest.RunBounded(t, func(t *testing.T, counters int) (limitstest.Subject, func(*testing.T)) {
		return boundedRedis(t, testservices.OwnRedis(t), counters), nil
	})
}

func TestRedisClusterAtItsBound(t *testing.T) {
	t.Parallel()
	limitstest.RunBounded(t, func(t *testing.T, counters int) (limitstest.Subject, func(*testing.T)) {
		return boundedRedis(t, testservices.Cluster(t).URL, counters), nil
	})
}

func TestMemoryOnAClockThatIsSetBack(t *testing.T) {
	limitstest.RunSteppedClock(t, func(_ *testing.T, clock *limitstest.Clock) limitstest.Store {
		return limits.NewMemory(clock.Now)
	})
}

func TestSQLiteOnAClockThatIsSetBack(t *testing.T) {
	limitstest.RunSteppedClock(t, func(t *testing.T, clock *limitstest.Clock) limitstest.Store {
		return openSQLite(t, limits.DatabaseOptions{Timeout: 10 * time.Second, Now: clock.Now})
	})
}
