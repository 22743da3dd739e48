package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/metrics"
)

// Two databases in one folder have two files of limits, neither of which is a database's.
func TestLimitsFilesAreTheirDatabasesOwn(t *testing.T) {
	t.Parallel()
	for database, want := range map[string]string{
		"/x/stenometer.db": "/x/stenometer-limits.db", "/x/limits.db": "/x/limits-limits.db",
		"/x.d/stenometer": "/x.d/stenometer-limits", "data/a.b.sqlite": "data/a.b-limits.sqlite",
	} {
		if got := limitsFile(database); got != want {
			t.Errorf("the limits of %s are counted in %s, want %s", database, got, want)
		}
	}
}

// embedded opens what database:// means beside a SQLite database.
func embedded(t *testing.T, database string) shared {
	t.Helper()
	cfg, _, err := config.Load([]string{"DATABASE_URL=sqlite://" + database, "RATELIMIT_STORAGE_URI=database://"}, "")
	if err != nil {
		t.Fatal(err)
	}
	hoursAgo := func() time.Time { return time.Now().Add(-5 * time.Hour) }
	storage, err := openShared(t.Context(), cfg, hoursAgo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = storage.Close() })
	return storage
}

func admits(t *testing.T, storage limits.Store) bool {
	t.Helper()
	d, err := storage.Take(t.Context(), []limits.Limit{{
		Plan: limits.AccountRead, Key: limits.Key{Org: 3, ID: 5}, Rate: limits.Rate{Limit: 1, Period: time.Hour}, Cost: 1,
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d.Admitted
}

func TestDatabasesInOneFolderCountApart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, second := embedded(t, filepath.Join(folder, "first.db")), embedded(t, filepath.Join(folder, "second.db"))
	if !admits(t, first) || !admits(t, second) || admits(t, first) {
		t.Error("the limits of one database count in another's")
	}
}

// The clock of a SQLite file is the machine's: a process with another one opens no window.
func TestProcessesAtAFileHaveTheMachinesClock(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "stenometer.db")
	if !admits(t, embedded(t, database)) {
		t.Fatal("the first request was refused")
	}
	machines, err := limits.OpenSQLite(t.Context(), limitsFile(database), limits.DatabaseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer machines.Close()
	if admits(t, machines) {
		t.Error("a request was counted by a clock of the server's own, five hours ago")
	}
}

// answering is a storage of which a test says what a look finds, and which a look mends.
type answering struct {
	*limits.Memory

	err     error
	damaged bool
}

func (a *answering) Ping(context.Context) error { return a.err }

func (a *answering) Epoch(context.Context) (bool, error) {
	lost := a.damaged
	a.damaged = false
	return lost, a.err
}

func (a *answering) Take(ctx context.Context, stack []limits.Limit, room []limits.State) (limits.Decision, error) {
	if a.damaged {
		return limits.Decision{}, limits.Unavailable(errors.New("the storage is damaged"))
	}
	return a.Memory.Take(ctx, stack, room)
}

// looking are counts in the storage, and what they log.
func looking(storage *answering) (*counts, *bytes.Buffer) {
	var log bytes.Buffer
	logger, counted := slog.New(slog.NewTextHandler(&log, nil)), metrics.New("test")
	c := &counts{storage: shared{Shared: storage, epochs: storage}, metrics: counted, logger: logger}
	c.failover = limits.NewFailover(storage, limits.FailoverOptions{
		Policy:   config.OnStorageError{Read: config.CountLocally, Write: config.CountLocally, Process: config.CountLocally},
		Replicas: func() int { return 1 }, Metrics: counted, Logger: logger, Now: time.Now,
	})
	return c, &log
}

// A damaged storage counts as away until it is mended, which a look does.
func TestALookMendsAStorageThatIsAway(t *testing.T) {
	t.Parallel()
	storage := &answering{Memory: limits.NewMemory(time.Now)}
	c, log := looking(storage)
	c.Probe(t.Context())
	storage.damaged = true
	for range 5 {
		admits(t, c.failover.For(limits.OnRead))
	}
	c.Probe(t.Context())
	if !c.failover.Away() {
		t.Fatal("a storage that is damaged does not count as away")
	}
	c.Look(t.Context())
	c.Probe(t.Context())
	if c.failover.Away() || strings.Count(log.String(), "has forgotten") != 1 {
		t.Errorf("after a look at a damaged storage: away is %v; the log is\n%s", c.failover.Away(), log)
	}
}

// A storage that cannot be looked at is told of once, until a look has succeeded.
func TestLooksThatFailAreLoggedOnce(t *testing.T) {
	t.Parallel()
	storage := &answering{Memory: limits.NewMemory(time.Now)}
	c, log := looking(storage)
	c.Probe(t.Context())
	for row := 1; row <= 2; row++ {
		storage.err = errors.New("no answer today")
		for range 3 {
			c.Look(t.Context())
		}
		if told := strings.Count(log.String(), "no answer today"); told != row {
			t.Errorf("after %d rows of failures the log has told of %d:\n%s", row, told, log.String())
		}
		storage.err = nil
		c.Look(t.Context())
	}
}
