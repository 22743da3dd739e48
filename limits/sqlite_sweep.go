package limits

import (
	"context"
	"fmt"
)

// Sweep deletes the counters in which nothing is counted and the leases that have run out, batch by batch, and learns
// how many are left. A server calls it every half a minute; any number of processes may at once.
func (s *SQLite) Sweep(ctx context.Context) error {
	now := s.now().UnixNano() // one moment for all batches: what is due by it comes to an end
	for changed := int64(1); changed > 0; {
		err := s.writing(ctx, func(ctx context.Context, f *limitsFile) (_ bool, err error) {
			changed, err = f.sweep(ctx, now)
			return err == nil, err
		})
		if err != nil {
			return fmt.Errorf("sweeping the limits' file: %w", err)
		}
	}
	return s.count(ctx)
}

// count reads how many counters there are, which the file keeps: counting a million would hold up decisions.
func (s *SQLite) count(ctx context.Context) error {
	var all int64
	err := s.using(ctx, func(ctx context.Context, f *limitsFile) error {
		return f.conn.QueryRowContext(context.WithoutCancel(ctx), "SELECT counters FROM totals").Scan(&all)
	})
	if err != nil {
		return fmt.Errorf("counting the limits' counters: %w", err)
	}
	s.space.counted(all)
	return nil
}

// sweep looks at one batch of what is due; it tells how many rows it changed, none when nothing is due any more.
func (f *limitsFile) sweep(ctx context.Context, now int64) (changed int64, err error) {
	const due = "name IN (SELECT name FROM counters WHERE look_at <= ?1 ORDER BY look_at LIMIT ?2)"
	for _, statement := range []string{
		"UPDATE counters SET look_at = ends_at WHERE " + due + " AND ends_at > ?1",
		"DELETE FROM counters WHERE " + due + " AND ends_at <= ?1",
		"DELETE FROM leases WHERE (key, id) IN (SELECT key, id FROM leases WHERE ends_at <= ?1 ORDER BY ends_at LIMIT ?2)",
	} {
		result, err := f.conn.ExecContext(ctx, statement, now, sweepBatch)
		if err != nil {
			return 0, err
		}
		rows, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		changed += rows
	}
	return changed, nil
}
