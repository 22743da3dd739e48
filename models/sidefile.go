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
func OpenSideFile(ctx context.Context, path, schema string) (*sql.DB, error) {
	path, err := prepareFile(path)
	if err != nil {
		return nil, fmt.Errorf("open a SQLite file: %w", err)
	}
	var handle *sql.DB
	err = fileGuard{path: path + ".migrate"}.Hold(ctx, func() error {
		handle, err = openSideFile(ctx, path, schema)
		if IsDamaged(err) {
			if err = removeSideFile(path); err == nil {
				handle, err = openSideFile(ctx, path, schema)
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
func openSideFile(ctx context.Context, path, schema string) (*sql.DB, error) {
	handle := sqliteHandle(path, 1, "_synchronous=OFF&_busy_timeout=5000")
	var verdict string
	err := handle.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict)
	if err == nil && verdict != "ok" {
		err = fmt.Errorf("quick_check says %q: %w", verdict, sqlite3.Error{Code: sqlite3.ErrCorrupt})
	}
	if err == nil {
		_, err = handle.ExecContext(ctx, schema+"; PRAGMA busy_timeout = 0")
	}
	if err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	return handle, nil
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
