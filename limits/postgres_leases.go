package limits

import (
	"context"
	"crypto/rand"
	"time"
)

// Acquire implements Leases, by the server's clock.
func (p *Postgres) Acquire(ctx context.Context, key string, places int, ttl time.Duration) (Lease, bool, error) {
	lease := Lease{Key: key, ID: rand.Text()}
	taken, err := p.ask(ctx, "SELECT limits_acquire_1($1, $2, $3, $4)", key, int64(places), ttl.Microseconds(), lease.ID)
	if err != nil {
		return Lease{}, false, unavailable("taking a lease in PostgreSQL", err)
	}
	if !taken {
		return Lease{}, false, nil
	}
	return lease, true, nil
}

// Renew implements Leases, by the server's clock.
func (p *Postgres) Renew(ctx context.Context, lease Lease, ttl time.Duration) (bool, error) {
	held, err := p.ask(ctx, "SELECT limits_renew_1($1, $2, $3)", lease.Key, ttl.Microseconds(), lease.ID)
	if err != nil {
		return false, unavailable("renewing a lease in PostgreSQL", err)
	}
	return held, nil
}

// Release implements Leases.
func (p *Postgres) Release(ctx context.Context, lease Lease) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	if _, err := p.pool.Exec(ctx, "DELETE FROM limit_leases WHERE key = $1 AND id = $2", lease.Key, lease.ID); err != nil {
		return unavailable("releasing a lease in PostgreSQL", err)
	}
	return nil
}

func (p *Postgres) ask(ctx context.Context, question string, arguments ...any) (yes bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	err = p.pool.QueryRow(ctx, question, arguments...).Scan(&yes)
	return yes, err
}
