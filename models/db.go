// Package models holds the rows, opens the database and migrates it, and keeps in memory what cannot be asked for each time.
// It has no rules.
package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
)

// Dialect is which database it is.
type Dialect string

// The two databases.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// TransactionTimeout bounds every transaction that has no earlier deadline of its own.
const TransactionTimeout = 30 * time.Second

// DB is the opened database. On SQLite there is one writer, a pool of readers and a handle of its own for
// the job queue; on PostgreSQL all of them share one pool.
type DB struct {
	Dialect Dialect
	// Read serves queries outside transactions. On SQLite it cannot write.
	Read *gorm.DB

	write *gorm.DB
	// writer and reader are what write and Read stand on; on PostgreSQL they are one.
	writer, reader *sql.DB
	// jobs is the handle of the job queue on SQLite; pool that on PostgreSQL.
	jobs *sql.DB
	pool *pgxpool.Pool
	// guard keeps other processes out while the tables change.
	guard guard
	// began is when the transaction under way began; only SQLite has no more than one.
	began atomic.Pointer[time.Time]
}

// Transaction runs change in one writing transaction: all of it is kept, or none. Only tx may be used inside:
// on SQLite the outer handle would wait for the one writer, which is this transaction, until ctx or
// TransactionTimeout ends both. When ctx is over it returns within a fraction of a second and nothing is kept.
func (db *DB) Transaction(ctx context.Context, change func(tx *gorm.DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, TransactionTimeout)
	defer cancel()
	began := new(time.Time)
	// Only its own mark: the next transaction may have begun before this one hears that it has committed.
	defer db.began.CompareAndSwap(began, nil)
	return db.write.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		*began = time.Now()
		db.began.Store(began)
		return change(tx)
	})
}

// SQLTx is the database/sql transaction under tx, for libraries that know no gorm.
func SQLTx(tx *gorm.DB) (*sql.Tx, error) {
	if sqlTx, ok := tx.Statement.ConnPool.(*sql.Tx); ok {
		return sqlTx, nil
	}
	return nil, errors.New("not inside a transaction")
}

// JobsSQL is the handle that the job queue uses: on SQLite one of its own with a single connection, on
// PostgreSQL the shared pool by way of database/sql.
func (db *DB) JobsSQL() *sql.DB {
	if db.Dialect == SQLite {
		return db.jobs
	}
	return db.writer
}

// Pool is PostgreSQL's shared pool; nil on SQLite.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Ping reports whether the database answers.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.reader.PingContext(ctx); err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	return nil
}

// Clock is an SQL expression: the database's own clock plus offset, in the form in which times are stored.
// Processes that judge one another's age must read one clock, and this is the one they share.
func (db *DB) Clock(offset time.Duration) string {
	if db.Dialect == SQLite {
		return fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f+00:00', 'now', '%+.3f seconds')", offset.Seconds())
	}
	return fmt.Sprintf("(clock_timestamp() + interval '%.6f seconds')", offset.Seconds())
}

// Close closes every handle. Connections in use are waited for on PostgreSQL.
func (db *DB) Close() error {
	var errs []error
	for _, handle := range []*sql.DB{db.reader, db.jobs, db.writer} {
		if handle != nil {
			errs = append(errs, handle.Close())
		}
	}
	if db.pool != nil {
		db.pool.Close()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}
