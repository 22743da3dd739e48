package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// queryCount is what the product asked of its database while it answered requests.
type queryCount struct {
	requests int
	seconds  int
	// idle and loaded are transactions of a whole life of the server, in which it answered nobody, or these requests
	// besides the same life. A statement by itself is a transaction.
	idle, loaded int64
}

// countQueries has PostgreSQL count what the product, as it is built, asks of it: one life without requests and one
// with them, equally long. What both have in common is start, stop, and what is done now and then.
func (b *bench) countQueries(ctx context.Context, p plan, r *results) (err error) {
	address := os.Getenv(postgresVariable)
	if address == "" {
		return errors.New("no PostgreSQL to count in: run it by scripts/with-services, as make bench does")
	}
	admin, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("reaching PostgreSQL: %w", err)
	}
	defer func() { err = errors.Join(err, admin.Close(context.WithoutCancel(ctx))) }()
	const name = "stenometer_bench"
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return fmt.Errorf("making a database: %w", err)
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("reading %s: %w", postgresVariable, err)
	}
	parsed.Path = "/" + name
	sqlite := b.tokens
	defer func() { b.tokens = sqlite }()
	if b.tokens, err = seed(ctx, parsed.String()); err != nil {
		return err
	}
	if err := b.writeTokens(); err != nil {
		return err
	}
	r.queries = &queryCount{seconds: p.seconds}
	if _, r.queries.idle, err = b.life(ctx, admin, parsed.String(), func(string) (int, error) {
		time.Sleep(time.Duration(p.seconds) * time.Second)
		return 0, nil
	}); err != nil {
		return err
	}
	r.queries.requests, r.queries.loaded, err = b.life(ctx, admin, parsed.String(), func(address string) (int, error) {
		load, err := b.drive(ctx, address, p.seconds)
		return load.requests, err
	})
	return err
}

// life starts the server, does something, and stops it; it returns how many transactions the database saw.
func (b *bench) life(ctx context.Context, admin *pgx.Conn, url string, during func(address string) (int, error)) (requests int, transactions int64, err error) {
	before, err := transactionsOf(ctx, admin)
	if err != nil {
		return 0, 0, err
	}
	p, _, err := b.running(ctx, b.onPostgres(url))
	if err != nil {
		return 0, 0, err
	}
	requests, err = during(p.address)
	if err := errors.Join(err, p.stop()); err != nil {
		return 0, 0, err
	}
	after, err := transactionsOf(ctx, admin)
	return requests, after - before, err
}

// transactionsOf waits until all connections but ours have ended, with which they tell what they did.
func transactionsOf(ctx context.Context, admin *pgx.Conn) (count int64, err error) {
	for range 100 {
		var open int
		err = admin.QueryRow(ctx, "SELECT numbackends, xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'stenometer_bench'").
			Scan(&open, &count)
		if err != nil {
			return 0, fmt.Errorf("counting transactions: %w", err)
		}
		if open == 0 {
			time.Sleep(time.Second) // older versions are told a moment later
			err = admin.QueryRow(ctx, "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'stenometer_bench'").Scan(&count)
			return count, err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return 0, errors.New("counting transactions: somebody stays connected")
}
