package models

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"

	"github.com/stenometer/stenometer/problems"
)

// IsBusy reports whether the database could not answer now but may later: locked, overloaded, restarting, out
// of reach, out of room, or not done before the deadline. A caller that left (context.Canceled) is none of these.
func IsBusy(err error) bool {
	var inSQLite sqlite3.Error
	if errors.As(err, &inSQLite) {
		return slices.Contains([]sqlite3.ErrNo{
			sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrInterrupt, sqlite3.ErrCantOpen, sqlite3.ErrProtocol,
			sqlite3.ErrFull, sqlite3.ErrIoErr,
		}, inSQLite.Code)
	}
	var unreachable *pgconn.ConnectError
	connecting := errors.As(err, &unreachable)
	var inPostgres *pgconn.PgError
	if errors.As(err, &inPostgres) {
		// Classes: connection exception, insufficient resources, operator intervention (shutting down,
		// starting up, canceled by a statement time-out), transaction rollback (deadlock, serialization).
		busy := []string{"08", "53", "57", "40"}
		return slices.ContainsFunc(busy, func(class string) bool { return strings.HasPrefix(inPostgres.Code, class) }) ||
			inPostgres.Code == "55P03" || // lock not available
			connecting && inPostgres.Code == "55000" // not accepting connections yet
	}
	// A file's error number looks like a network's error, and says nothing of the database.
	var file *fs.PathError
	if errors.As(err, &file) {
		return false
	}
	var network net.Error
	return connecting || errors.As(err, &network) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, context.DeadlineExceeded)
}

// retryBusy is when to ask a database again that did not answer.
const retryBusy = 2 * time.Second

// Unavailable says what was attempted, and tells a database that is full, busy or away, which are the caller's to try
// again, from one that has a fault. It is the one place that does: else the same full disk is 507 here and 500 there.
func Unavailable(attempt string, err error) error {
	err = fmt.Errorf("%s: %w", attempt, err)
	switch {
	case IsFull(err):
		return problems.New(problems.StorageFull, "The server's disk is full; nothing was changed.").Because(err)
	case IsBusy(err):
		return problems.New(problems.DatabaseUnavailable, "The database did not answer in time; try again.").
			After(retryBusy).Because(err)
	}
	return err
}

// IsFull reports whether the database had no room left to write.
func IsFull(err error) bool {
	var inSQLite sqlite3.Error
	if errors.As(err, &inSQLite) {
		return inSQLite.Code == sqlite3.ErrFull
	}
	var inPostgres *pgconn.PgError
	return errors.As(err, &inPostgres) && inPostgres.Code == "53100"
}
