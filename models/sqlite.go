package models

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-sqlite3"
	gormsqlite "gorm.io/driver/sqlite"
	"gorm.io/gorm"
)

const sqliteReaders = 4

// openSQLite opens the file three times. One writer connection: SQLite has one writer anyway, and queueing in
// Go is fair where its busy handler starves a waiter. The job queue has its own, so that it never waits behind
// a request's transaction for the handle, only for the lock. Readers never wait in WAL mode. Writers begin
// IMMEDIATE, because a transaction that reads first and then writes fails with "database is locked" however
// long the busy timeout is.
func openSQLite(ctx context.Context, path string, options Options) (*DB, error) {
	readers := options.MaxConnections
	if readers == 0 {
		readers = sqliteReaders
	}
	path, err := prepareFile(path)
	if err != nil {
		return nil, fmt.Errorf("open the SQLite database: %w", err)
	}
	db := &DB{Dialect: SQLite, guard: fileGuard{path: path + ".migrate"}}
	// A file that is new becomes WAL in the first connection, which needs it alone for a moment.
	err = db.guard.Hold(ctx, func() error { return db.openHandles(ctx, path, readers) })
	if err == nil {
		err = db.openGorm(options)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the SQLite database %s: %w", path, err), db.Close())
	}
	return db, nil
}

func (db *DB) openHandles(ctx context.Context, path string, readers int) error {
	// The writer waits for the disk at every commit (FULL): with NORMAL a killed process loses nothing either,
	// but a loss of power could take back recordings whose acceptance was already answered.
	db.writer = sqliteHandle(path, 1, "_txlock=immediate&_synchronous=FULL&_busy_timeout=50")
	// What the queue notes by itself (fetched, done) may be noted again after a loss of power: NORMAL.
	db.jobs = sqliteHandle(path, 1, "_txlock=immediate&_synchronous=NORMAL&_busy_timeout=10000")
	db.reader = sqliteHandle(path, readers, "_query_only=true&_busy_timeout=10000")
	for _, handle := range []*sql.DB{db.writer, db.jobs, db.reader} {
		if err := handle.PingContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) openGorm(options Options) error {
	var err error
	if db.write, err = gorm.Open(gormsqlite.New(gormsqlite.Config{Conn: db.writer}), gormConfig(options.Now)); err != nil {
		return err
	}
	db.Read, err = gorm.Open(gormsqlite.New(gormsqlite.Config{Conn: db.reader}), gormConfig(options.Now))
	return err
}

// prepareFile makes the file, unreadable to other users, before SQLite would make it readable; SQLite gives its
// side files the same mode. It returns the absolute path.
func prepareFile(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	return path, errors.Join(file.Chmod(0o600), file.Close())
}

func sqliteHandle(path string, connections int, parameters string) *sql.DB {
	file := url.URL{Scheme: "file", Path: path}
	dsn := file.String() + "?_journal_mode=WAL&_foreign_keys=on&_stmt_cache_size=64&" + parameters
	handle := sql.OpenDB(sqliteConnector{dsn: dsn})
	handle.SetMaxOpenConns(connections)
	handle.SetMaxIdleConns(connections)
	return handle
}

// sqliteConnector opens connections of mattn's driver whose arguments are made what PostgreSQL would make of
// them, without registering a driver by a global name.
type sqliteConnector struct{ dsn string }

func (c sqliteConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.dsn)
	if err != nil {
		return nil, err
	}
	inSQLite := conn.(*sqlite3.SQLiteConn) //nolint:errcheck // the driver makes no other kind
	if err := inSQLite.RegisterFunc("lower", lower, true); err != nil {
		return nil, errors.Join(fmt.Errorf("replace LOWER: %w", err), conn.Close())
	}
	return sqliteConn{inSQLite}, nil
}

// lower is LOWER as PostgreSQL has it: SQLite's own knows the letters of ASCII alone.
func lower(value any) any {
	if text, is := value.(string); is {
		return strings.ToLower(text)
	}
	return value
}

func (c sqliteConnector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

type sqliteConn struct{ *sqlite3.SQLiteConn }

// BeginTx waits for the write lock as long as ctx allows, or TransactionTimeout. SQLite's own wait cannot be
// interrupted, so the writer's is short (_busy_timeout) and taken again here.
func (c sqliteConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	for began := time.Now(); ; {
		tx, err := c.SQLiteConn.BeginTx(ctx, options)
		var failure sqlite3.Error
		if err == nil || !errors.As(err, &failure) || failure.Code != sqlite3.ErrBusy {
			return tx, err
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("wait for the write lock: %w", ctx.Err())
		}
		if time.Since(began) > TransactionTimeout {
			return nil, err
		}
	}
}

// errText is PostgreSQL's rule for text, kept on SQLite too.
var errText = errors.New("text must be valid UTF-8 without NUL")

// CheckNamedValue keeps times comparable as text: the driver writes them with their own zone and without
// trailing zeros of the fraction, which sorts rightly only if all are in one zone, UTC.
func (sqliteConn) CheckNamedValue(argument *driver.NamedValue) error {
	value, err := driver.DefaultParameterConverter.ConvertValue(argument.Value)
	if err != nil {
		return err
	}
	switch v := value.(type) {
	case time.Time:
		value = stored(v)
	case string:
		if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
			return errText
		}
	}
	argument.Value = value
	return nil
}
