package limits

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/stenometer/stenometer/models"
)

// sqliteMark tells a file of limits from any other SQLite database, which is never used nor thrown away: "stnl".
const sqliteMark = 0x73746e6c

// sqliteSchema is what the file holds. Moments are nanoseconds since 1970. look_at is when the sweep looks at a
// counter; it is seldom written, because an index on ends_at would change at every charge. totals is how many counters
// there are.
const sqliteSchema = `
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, log BLOB NOT NULL, ends_at INTEGER NOT NULL, look_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS counters_look ON counters (look_at);
CREATE TABLE IF NOT EXISTS leases (key TEXT NOT NULL, id TEXT NOT NULL, ends_at INTEGER NOT NULL, PRIMARY KEY (key, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS leases_end ON leases (ends_at);
CREATE TABLE IF NOT EXISTS epochs (one INTEGER PRIMARY KEY CHECK (one = 1), epoch TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS totals (one INTEGER PRIMARY KEY CHECK (one = 1), counters INTEGER NOT NULL);
INSERT OR IGNORE INTO totals (one, counters) VALUES (1, 0);
CREATE TRIGGER IF NOT EXISTS counters_made AFTER INSERT ON counters BEGIN UPDATE totals SET counters = counters + 1; END;
CREATE TRIGGER IF NOT EXISTS counters_gone AFTER DELETE ON counters BEGIN UPDATE totals SET counters = counters - 1; END`

// limitsFile is the opened file: one connection, used by one goroutine at a time, with its statements.
type limitsFile struct {
	path    string
	info    os.FileInfo // which file the path named when it was opened
	handle  *sql.DB
	conn    *sql.Conn
	damaged bool // decides no more: mend opens another

	prepared                []*sql.Stmt
	write, read, keep, undo *sql.Stmt // BEGIN for writing and for reading, COMMIT, ROLLBACK
	load, store             *sql.Stmt
}

func openLimitsFile(ctx context.Context, path string) (*limitsFile, error) {
	handle, err := models.OpenSideFile(ctx, path, sqliteMark, sqliteSchema)
	if err != nil {
		return nil, err
	}
	f := &limitsFile{path: path, handle: handle}
	if err := f.prepare(ctx); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *limitsFile) prepare(ctx context.Context) (err error) {
	if f.info, err = os.Stat(f.path); err != nil {
		return err
	}
	if f.conn, err = f.handle.Conn(ctx); err != nil {
		return err
	}
	for _, p := range []struct {
		statement **sql.Stmt
		text      string
	}{
		// IMMEDIATE: what is read after it is what all others have committed, and nobody else decides until the end.
		{&f.write, "BEGIN IMMEDIATE"},
		{&f.read, "BEGIN"},
		{&f.keep, "COMMIT"},
		{&f.undo, "ROLLBACK"},
		{&f.load, "SELECT log FROM counters WHERE name = ?"},
		{&f.store, "INSERT INTO counters (name, log, ends_at, look_at) VALUES (?1, ?2, ?3, ?3) " +
			"ON CONFLICT (name) DO UPDATE SET log = excluded.log, ends_at = excluded.ends_at"},
	} {
		if *p.statement, err = f.conn.PrepareContext(ctx, p.text); err != nil { //nolint:sqlclosecheck // close does
			return fmt.Errorf("preparing %q: %w", p.text, err)
		}
		f.prepared = append(f.prepared, *p.statement)
	}
	return nil
}

// close closes the statements first: SQLite keeps the file open, with its locks, for a statement that is left.
func (f *limitsFile) close() error {
	var errs []error
	for _, statement := range f.prepared {
		errs = append(errs, statement.Close())
	}
	if f.conn != nil {
		errs = append(errs, f.conn.Close())
	}
	return errors.Join(append(errs, f.handle.Close())...)
}

// transaction runs work between begin and COMMIT, or ROLLBACK where work says so or fails. Only begin waits for other
// processes, and by ctx; what follows takes microseconds, and an interruption could leave it open whether it counted.
func (f *limitsFile) transaction(ctx context.Context, begin *sql.Stmt, work func(ctx context.Context) (keep bool, err error)) error {
	if err := f.begin(ctx, begin); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	keep, err := work(ctx)
	if err == nil && keep {
		_, err = f.keep.ExecContext(ctx)
		if err == nil {
			return nil
		}
	}
	return errors.Join(err, f.end(ctx, err))
}

// end ends a transaction that is not kept. SQLite has ended it by itself after some failures, such as a full disk: there
// is nothing to roll back then, and nothing wrong with the file.
func (f *limitsFile) end(ctx context.Context, failure error) error {
	open, err := models.InTransaction(f.conn)
	if err == nil && open {
		_, err = f.undo.ExecContext(ctx)
	}
	// A connection whose state is not known decides no more.
	f.damaged = f.damaged || err != nil || models.IsDamaged(failure)
	return err
}

// begin asks for the lock again and again in short pauses of random length: SQLite's own waiting makes pauses of up to
// 100 ms, in which a busy neighbor takes the lock a thousand times.
func (f *limitsFile) begin(ctx context.Context, begin *sql.Stmt) error {
	for {
		_, err := begin.ExecContext(context.WithoutCancel(ctx))
		if err == nil {
			return nil
		}
		f.damaged = f.damaged || models.IsDamaged(err)
		if !models.IsBusy(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(50*time.Microsecond + rand.N(200*time.Microsecond)): //nolint:gosec // pauses are no secret
		}
	}
}

// replaced reports whether the path names another file by now, or none: then others count elsewhere.
func (f *limitsFile) replaced() bool {
	info, err := os.Stat(f.path)
	return err != nil || !os.SameFile(info, f.info)
}
