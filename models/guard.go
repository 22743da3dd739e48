package models

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// guard lets one process at a time change the tables.
type guard interface {
	// Hold waits until no other process is inside, or ctx is over; runs work; lets the next one in. The
	// operating system or the server lets it in, too, when this process is killed.
	Hold(ctx context.Context, work func() error) error
}

// fileGuard is an flock on a file beside the database.
type fileGuard struct{ path string }

func (g fileGuard) Hold(ctx context.Context, work func() error) error {
	file, err := os.OpenFile(g.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the lock file: %w", err)
	}
	defer file.Close() // unlocks
	// The blocking form of flock cannot be ended by a context.
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return work()
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("lock %s: %w", g.path, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the lock on %s: %w", g.path, ctx.Err())
		case <-again.C:
		}
	}
}

// migrationLock is the number of the advisory lock: "stnmeter" in ASCII, cut to 63 bits by its first letter.
const migrationLock int64 = 0x73746e6d65746572

// advisoryGuard is a session lock of PostgreSQL, on a connection outside the pool: the work inside may need
// every connection of a small pool.
type advisoryGuard struct{ config *pgx.ConnConfig }

func (g advisoryGuard) Hold(ctx context.Context, work func() error) (err error) {
	conn, err := pgx.ConnectConfig(ctx, g.config)
	if err != nil {
		return fmt.Errorf("connect for the migration lock: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }() // unlocks
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", migrationLock); err != nil {
		return fmt.Errorf("wait for the migration lock: %w", err)
	}
	return work()
}
