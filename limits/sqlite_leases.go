package limits

import (
	"context"
	"crypto/rand"
	"time"
)

// Acquire implements Leases, by the machine's clock.
func (s *SQLite) Acquire(ctx context.Context, key string, places int, ttl time.Duration) (Lease, bool, error) {
	lease, taken := Lease{Key: key, ID: rand.Text()}, false
	err := s.writing(ctx, func(ctx context.Context, f *limitsFile) (bool, error) {
		now, held := s.now().UnixNano(), 0
		row := f.conn.QueryRowContext(ctx, "SELECT count(*) FROM leases WHERE key = ? AND ends_at > ?", key, now)
		if err := row.Scan(&held); err != nil || held >= places {
			return false, err
		}
		if _, err := f.conn.ExecContext(ctx, "DELETE FROM leases WHERE key = ? AND ends_at <= ?", key, now); err != nil {
			return false, err
		}
		_, err := f.conn.ExecContext(ctx, "INSERT INTO leases (key, id, ends_at) VALUES (?, ?, ?)", key, lease.ID, now+int64(ttl))
		taken = err == nil
		return taken, err
	})
	if err != nil {
		return Lease{}, false, unavailable("taking a lease in SQLite", err)
	}
	if !taken {
		return Lease{}, false, nil
	}
	return lease, true, nil
}

// Renew implements Leases, by the machine's clock.
func (s *SQLite) Renew(ctx context.Context, lease Lease, ttl time.Duration) (held bool, err error) {
	err = s.writing(ctx, func(ctx context.Context, f *limitsFile) (bool, error) {
		now := s.now().UnixNano()
		result, err := f.conn.ExecContext(ctx, "UPDATE leases SET ends_at = ? WHERE key = ? AND id = ? AND ends_at > ?",
			now+int64(ttl), lease.Key, lease.ID, now)
		if err != nil {
			return false, err
		}
		rows, err := result.RowsAffected()
		held = rows == 1
		return held, err
	})
	if err != nil {
		return false, unavailable("renewing a lease in SQLite", err)
	}
	return held, nil
}

// Release implements Leases.
func (s *SQLite) Release(ctx context.Context, lease Lease) error {
	err := s.writing(ctx, func(ctx context.Context, f *limitsFile) (bool, error) {
		_, err := f.conn.ExecContext(ctx, "DELETE FROM leases WHERE key = ? AND id = ?", lease.Key, lease.ID)
		return true, err
	})
	if err != nil {
		return unavailable("releasing a lease in SQLite", err)
	}
	return nil
}

// writing runs one writing transaction.
func (s *SQLite) writing(ctx context.Context, work func(ctx context.Context, f *limitsFile) (keep bool, err error)) error {
	return s.using(ctx, func(ctx context.Context, f *limitsFile) error {
		return f.transaction(ctx, f.write, func(ctx context.Context) (bool, error) { return work(ctx, f) })
	})
}
