package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mattn/go-sqlite3"
)

// OpenSideFile opens a SQLite file of its own beside the database, for what changes often and may be lost with the
// power: nothing in it ever waits for the disk (synchronous=OFF), and a file that is damaged is thrown away and made
// anew. A killed process loses nothing. The schema is run at every opening, by one process at a time. There is one
// connection; waiting for another process's lock is left to the caller: a locked file is IsBusy at once.
//
// mark is the application_id of such files, not 0. Any other SQLite database at this path is an error, and stays as it
// is: it may be the application's.
func OpenSideFile(ctx context.Context, path string, mark int32, schema string) (*sql.DB, error) {
	path, err := prepareFile(path)
	if err != nil {
		return nil, fmt.Errorf("open a SQLite file: %w", err)
	}
	var handle *sql.DB
	err = fileGuard{path: path + ".migrate"}.Hold(ctx, func() error {
		handle, err = openSideFile(ctx, path, mark, schema)
		if IsDamaged(err) {
			if err = removeSideFile(path); err == nil {
				handle, err = openSideFile(ctx, path, mark, schema)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open the SQLite file %s: %w", path, err)
	}
	return handle, nil
}

// openSideFile waits for the lock while it opens: the last process to leave the file holds it for a moment.
func openSideFile(ctx context.Context, path string, mark int32, schema string) (*sql.DB, error) {
	handle := sqliteHandle(path, 1, "_synchronous=OFF&_busy_timeout=5000")
	err := checkSideFile(ctx, handle, mark)
	if err == nil {
		_, err = handle.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; %s; PRAGMA busy_timeout = 0", mark, schema))
	}
	if err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	return handle, nil
}

// errForeignFile is not IsDamaged, whatever else is the matter with the file.
var errForeignFile = errors.New("this is another program's SQLite database, or the application's own")

// checkSideFile looks whose the file is before it looks whether it is whole.
func checkSideFile(ctx context.Context, handle *sql.DB, mark int32) error {
	var found int32
	var filled bool
	err := handle.QueryRowContext(ctx, "SELECT application_id, EXISTS (SELECT 1 FROM sqlite_schema) FROM pragma_application_id").Scan(&found, &filled)
	if err != nil {
		return err
	}
	if found != mark && (found != 0 || filled) {
		return errForeignFile
	}
	var verdict string
	err = handle.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict)
	if err == nil && verdict != "ok" {
		err = fmt.Errorf("quick_check says %q: %w", verdict, sqlite3.Error{Code: sqlite3.ErrCorrupt})
	}
	return err
}

func removeSideFile(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a damaged file: %w", err)
		}
	}
	_, err := prepareFile(path)
	return err
}

// IsDamaged reports whether a SQLite file cannot be read as one.
func IsDamaged(err error) bool {
	var inSQLite sqlite3.Error
	return errors.As(err, &inSQLite) && (inSQLite.Code == sqlite3.ErrCorrupt || inSQLite.Code == sqlite3.ErrNotADB)
}

// InTransaction reports whether a SQLite connection is in a transaction. After some failures, such as a full disk, SQLite
// has rolled back by itself.
func InTransaction(conn *sql.Conn) (open bool, err error) {
	err = conn.Raw(func(driverConn any) error {
		inSQLite, is := driverConn.(sqliteConn)
		if !is {
			return fmt.Errorf("look into a connection: %T is none of SQLite", driverConn)
		}
		open = !inSQLite.AutoCommit()
		return nil
	})
	return open, err
}
