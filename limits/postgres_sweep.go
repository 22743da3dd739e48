package limits

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// sweepBatch is how many rows one transaction of a sweep looks at: decisions may wait for it.
const sweepBatch = 500

// Sweep deletes the counters in which nothing is counted and the leases that have run out, batch by batch, and counts
// what is left. A server calls it every half a minute; any number of processes may at once.
func (p *Postgres) Sweep(ctx context.Context) error {
	for looked := int64(sweepBatch); looked >= sweepBatch; {
		if err := p.patiently(ctx, &looked, "SELECT limits_sweep_1($1)", sweepBatch); err != nil {
			return fmt.Errorf("sweeping the limits' tables: %w", err)
		}
	}
	return p.count(ctx)
}

// count counts the counters, as far as the bound on them.
func (p *Postgres) count(ctx context.Context) error {
	var all int64
	if err := p.patiently(ctx, &all, "SELECT count(*) FROM (SELECT FROM limit_counters LIMIT $1) AS c", p.space.max); err != nil {
		return fmt.Errorf("counting the limits' counters: %w", err)
	}
	p.space.counted(all)
	return nil
}

// patiently asks for a number that may take longer than a decision. A little before we give up the server does, as far
// as it is alive.
func (p *Postgres) patiently(ctx context.Context, number *int64, question string, arguments ...any) error {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", max(1, p.patience.Milliseconds()*9/10))); err != nil {
			return err
		}
		return tx.QueryRow(ctx, question, arguments...).Scan(number)
	})
}

// Epoch tells whether the counters were lost since the last call, as by a crash of the server or a change to a standby.
// Each process is told once.
func (p *Postgres) Epoch(ctx context.Context) (lost bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	epoch, err := p.readEpoch(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		if _, err = p.pool.Exec(ctx, "INSERT INTO limit_epochs (epoch) VALUES ($1) ON CONFLICT DO NOTHING", rand.Text()); err == nil {
			epoch, err = p.readEpoch(ctx) // another process may have been first
		}
	}
	if err != nil {
		return false, fmt.Errorf("reading the epoch of the limits' counters: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	lost = p.epoch != "" && p.epoch != epoch
	p.epoch = epoch
	return lost, nil
}

func (p *Postgres) readEpoch(ctx context.Context) (epoch string, err error) {
	err = p.pool.QueryRow(ctx, "SELECT epoch FROM limit_epochs WHERE one").Scan(&epoch)
	return epoch, err
}
