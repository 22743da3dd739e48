package limits

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

// What is written down of a log is the log, whatever it counted, and goes on counting as it would have.
func TestSQLiteLogSurvivesTheFile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		period := drawPeriod().Draw(t, "period")
		s := spanOf(period)
		var kept window
		stored := writtenLog(&kept)
		now := time.Duration(rapid.Int64Range(-int64(period), int64(10*period)).Draw(t, "start"))
		for range rapid.IntRange(1, 300).Draw(t, "arrivals") {
			now += drawPause(period).Draw(t, "pause")
			m, cost := momentOf(int64(now), s), rapid.Int64Range(1, MaxFigure/400).Draw(t, "cost")
			w, err := readLog(stored)
			if err != nil {
				t.Fatal(err)
			}
			w.charge(&m, cost)
			kept.charge(&m, cost)
			stored = writtenLog(&w)
			if again := writtenLog(&kept); string(again) != string(stored) || w.sum != kept.sum {
				t.Fatalf("after the file the log is %x, without it %x", stored, again)
			}
			if len(stored) > 1536 {
				t.Fatalf("a counter takes %d bytes", len(stored))
			}
		}
	})
}

// FuzzSQLiteLog: bytes that are no log are an error, and bytes that are one do not stop a decision.
func FuzzSQLiteLog(f *testing.F) {
	var w window
	m := momentOf(int64(time.Hour), spanOf(time.Minute))
	w.charge(&m, 3)
	f.Add(writtenLog(&w))
	f.Add([]byte{})
	f.Add([]byte{logForm, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, stored []byte) {
		w, err := readLog(stored)
		if err != nil {
			return
		}
		m := momentOf(int64(time.Hour), spanOf(time.Minute))
		l := Limit{Plan: AccountRead, Rate: Rate{Limit: MaxFigure, Period: time.Minute}, Cost: 1}
		if waitFor(&l, &w, &m) == 0 {
			w.charge(&m, 1)
			standOf(&l, &w, &m, 0)
		}
	})
}

func TestSQLiteStateThatIsNotOursAdmitsNothing(t *testing.T) {
	t.Parallel()
	s := openedSQLite(t, filepath.Join(t.TempDir(), "limits.db"), DatabaseOptions{Timeout: 10 * time.Second})
	stack := perAccount(17, 2, time.Minute)
	mustAdmit(t, s, stack, true)
	for _, foreign := range []string{"", "hello!", "\x01", "\x01\x00\x05\x00", "\xff\xff\xff"} {
		err := s.writing(t.Context(), func(ctx context.Context, f *limitsFile) (bool, error) {
			_, err := f.conn.ExecContext(ctx, "UPDATE counters SET log = ? WHERE name = ?", []byte(foreign), rowName(&stack[1]))
			return true, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if d, err := s.Take(t.Context(), stack, nil); !problems.Is(err, problems.LimitsUnavailable) || d.Admitted {
			t.Errorf("%q is stored: admitted is %v, error %v", foreign, d.Admitted, err)
		}
		if got := left(t, s, stack[:1]); got[0] != 1 {
			t.Errorf("%q is stored: the neighbor has %d left of 2, want 1", foreign, got[0])
		}
	}
}

// A clock that steps back never opens a window again, and what was counted leaves when the clock has come so far.
func TestSQLiteClockThatStepsBack(t *testing.T) {
	t.Parallel()
	clock := newFakeTime()
	s := openedSQLite(t, filepath.Join(t.TempDir(), "limits.db"), DatabaseOptions{Timeout: 10 * time.Second, Now: clock.now})
	stack := perAccount(17, 2, time.Minute)
	mustAdmit(t, s, stack, true)
	clock.at = clock.at.Add(-10 * time.Minute)
	mustAdmit(t, s, stack, true)
	for range 11 {
		mustAdmit(t, s, stack, false)
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.at = clock.at.Add(time.Minute - time.Millisecond)
	}
	clock.at = clock.at.Add(20 * time.Millisecond)
	mustAdmit(t, s, stack, true)
}

// More counters than one batch are due for a look and still count.
func TestSQLiteSweepKeepsManyThatCount(t *testing.T) {
	t.Parallel()
	clock := newFakeTime()
	s := openedSQLite(t, filepath.Join(t.TempDir(), "limits.db"), DatabaseOptions{Timeout: 10 * time.Second, Now: clock.now})
	const many = sweepBatch + 100
	for range 2 {
		for id := range int64(many) {
			mustAdmit(t, s, perAccount(id, MaxFigure, time.Minute), true)
		}
		clock.at = clock.at.Add(40 * time.Second)
	}
	for _, want := range []int{many + 1, 0} {
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if counters, _ := rowsOf(t, s); counters != want {
			t.Errorf("after the sweep there are %d counters, want %d", counters, want)
		}
		clock.at = clock.at.Add(time.Minute)
	}
}

// locked holds the file's write lock, as a process that is stopped in the middle of a decision would.
func locked(t *testing.T, path string) (unlock func()) {
	t.Helper()
	handle, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	conn, err := handle.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run := func(statement string) {
		if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
			t.Fatal(err)
		}
	}
	run("BEGIN IMMEDIATE")
	return func() { run("ROLLBACK") }
}

func TestSQLiteThatIsLockedCostsATenthOfASecond(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "limits.db")
	s := openedSQLite(t, path, DatabaseOptions{})
	unlock := locked(t, path)
	for range 3 {
		stopped(t, s, "locked")
	}
	if _, err := s.Peek(t.Context(), perAccount(17, 1, time.Minute)); err != nil {
		t.Errorf("looking needs no lock: %v", err)
	}
	unlock()
	recovers(t, s, time.Second)
	if got := left(t, s, perAccount(17, 1000, time.Minute)); got[0] != 999 {
		t.Errorf("one request was admitted; %v are left of 1000", got)
	}
}

// While one decision has the connection, the others wait for it no longer than a decision may take.
func TestSQLiteConnectionIsWaitedForInVain(t *testing.T) {
	t.Parallel()
	s := openedSQLite(t, filepath.Join(t.TempDir(), "limits.db"), DatabaseOptions{})
	f := <-s.file
	stopped(t, s, "taken")
	s.file <- f
	recovers(t, s, time.Second)
}

// A file that is deleted or replaced under us would count for us alone: it is opened anew, and the loss told.
func TestSQLiteFileThatIsDeleted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "limits.db")
	first, second := openedSQLite(t, path, DatabaseOptions{}), openedSQLite(t, path, DatabaseOptions{})
	stack := perAccount(17, 1, time.Hour)
	mustAdmit(t, first, stack, true)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*SQLite{first, second} {
		for _, want := range []bool{true, false} {
			if lost, err := s.Epoch(t.Context()); err != nil || lost != want {
				t.Errorf("lost is %v, want %v; error %v", lost, want, err)
			}
		}
	}
	mustAdmit(t, first, stack, true)
	mustAdmit(t, second, stack, false)
}

// A loss of power can leave a file that SQLite cannot read.
func TestSQLiteFileThatIsDamagedIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"no database": func(path string) error {
			return os.WriteFile(path, []byte("this is no database, and long enough to tell"), 0o600)
		},
		"overwritten pages": func(path string) error {
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer file.Close()
			_, err = file.WriteAt(make([]byte, 3*4096), 4096)
			return err
		},
	} {
		t.Log(name)
		path := filepath.Join(t.TempDir(), "limits.db")
		s := openedSQLite(t, path, DatabaseOptions{})
		stack := perAccount(17, 1, time.Hour)
		mustAdmit(t, s, stack, true)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := damage(path); err != nil {
			t.Fatal(err)
		}
		anew := openedSQLite(t, path, DatabaseOptions{})
		mustAdmit(t, anew, stack, true)
		mustAdmit(t, anew, stack, false)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the file made anew: %v, %v", name, info, err)
		}
	}
}

// Damage that shows while the file is in use fails decisions, at once, until the look for lost counts has made the file
// anew: no request waits for that.
func TestSQLiteFileThatIsDamagedInUse(t *testing.T) {
	t.Parallel()
	for _, whole := range []int64{0, 4096} { // bytes at the beginning: damage shows at once, or when a counter is read
		path := filepath.Join(t.TempDir(), "limits.db")
		s := openedSQLite(t, path, DatabaseOptions{Timeout: 10 * time.Second})
		stack := perAccount(17, 1, time.Hour)
		mustAdmit(t, s, stack, true)
		damageFrom(t, s, whole)
		stopped(t, s, "damaged")
		if _, err := s.Take(t.Context(), stack, nil); !errors.Is(err, errSQLiteDamaged) {
			t.Errorf("a decision about a damaged file has error %v", err)
		}
		if err := s.Ping(t.Context()); !errors.Is(err, errSQLiteDamaged) {
			t.Errorf("the damaged file answers %v", err)
		}
		for _, want := range []bool{true, false} {
			if lost, err := s.Epoch(t.Context()); err != nil || lost != want {
				t.Errorf("lost is %v, want %v; error %v", lost, want, err)
			}
		}
		mustAdmit(t, s, stack, true)
		mustAdmit(t, s, stack, false)
	}
}

// damageFrom makes every page come from the file again, where none is whole after so many bytes.
func damageFrom(t *testing.T, s *SQLite, whole int64) {
	t.Helper()
	err := s.using(t.Context(), func(ctx context.Context, f *limitsFile) error {
		_, err := f.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA shrink_memory; PRAGMA cache_size = 0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(s.path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(make([]byte, 9*4096), whole); err != nil {
		t.Fatal(err)
	}
}

// SQLite rolls back by itself when a disk is full, as it is asked to here: the file is whole, and goes on being used.
func TestSQLiteThatHasRolledBackByItselfIsNotDamaged(t *testing.T) {
	t.Parallel()
	s := openedSQLite(t, filepath.Join(t.TempDir(), "limits.db"), DatabaseOptions{Timeout: 10 * time.Second})
	stack := perAccount(17, 2, time.Hour)
	mustAdmit(t, s, stack, true)
	err := s.writing(t.Context(), func(ctx context.Context, f *limitsFile) (bool, error) {
		_, err := f.conn.ExecContext(ctx, "INSERT OR ROLLBACK INTO epochs (one, epoch) VALUES (1, 'another')")
		return true, err
	})
	if err == nil {
		t.Fatal("a second epoch was written")
	}
	mustAdmit(t, s, stack, true)
	mustAdmit(t, s, stack, false)
}

// A database at the path of the limits' file that is not ours may be the application's: it stays as it is.
func TestSQLiteNeverUsesAnotherDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stenometer.db")
	modelstest.Open(t, "sqlite://"+path, true)
	before := tablesOf(t, path)
	if _, err := OpenSQLite(t.Context(), path, DatabaseOptions{}); err == nil {
		t.Error("the application's database was opened as the file of the limits")
	}
	if after := tablesOf(t, path); after != before || before == 0 {
		t.Errorf("the application's database had %d tables, and has %d", before, after)
	}
}

func tablesOf(t *testing.T, path string) (tables int) {
	t.Helper()
	handle, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	if err := handle.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		t.Fatal(err)
	}
	return tables
}

func TestSQLiteClosed(t *testing.T) {
	t.Parallel()
	s := openedSQLite(t, filepath.Join(t.TempDir(), "limits.db"), DatabaseOptions{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	stopped(t, s, "closed")
	if _, err := OpenSQLite(t.Context(), t.TempDir(), DatabaseOptions{}); err == nil {
		t.Error("a folder was opened as a file")
	}
}
