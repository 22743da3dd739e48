package limits

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
)

// Sweep deletes the counters in which nothing is counted and the leases that have run out, batch by batch, and counts
// what is left. A server calls it every half a minute; any number of processes may at once.
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
	var all int64
	err := s.using(ctx, func(ctx context.Context, f *limitsFile) error {
		return f.conn.QueryRowContext(context.WithoutCancel(ctx), "SELECT count(*) FROM (SELECT 1 FROM counters LIMIT ?)", s.space.max).Scan(&all)
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

// Epoch tells whether the counters were lost since the last call: the file was deleted, replaced or damaged, and is
// opened anew. Each process is told once.
func (s *SQLite) Epoch(ctx context.Context) (lost bool, err error) {
	err = s.using(ctx, func(ctx context.Context, f *limitsFile) error {
		if f.replaced() {
			if err := f.reopen(ctx); err != nil {
				return err
			}
		}
		var epoch string
		err := f.transaction(ctx, f.write, func(ctx context.Context) (made bool, err error) {
			epoch, err = f.epoch(ctx)
			if !errors.Is(err, sql.ErrNoRows) {
				return false, err
			}
			epoch = rand.Text()
			_, err = f.conn.ExecContext(ctx, "INSERT INTO epochs (one, epoch) VALUES (1, ?)", epoch)
			return true, err
		})
		if err != nil {
			return err
		}
		lost = s.epoch != "" && s.epoch != epoch
		s.epoch = epoch
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("reading the epoch of the limits' counters: %w", err)
	}
	return lost, nil
}

func (f *limitsFile) epoch(ctx context.Context) (epoch string, err error) {
	err = f.conn.QueryRowContext(ctx, "SELECT epoch FROM epochs").Scan(&epoch)
	return epoch, err
}

// reopen opens what the path names now. Where that fails the old file stays in use.
func (f *limitsFile) reopen(ctx context.Context) error {
	anew, err := openLimitsFile(ctx, f.path)
	if err != nil {
		return err
	}
	old := *f
	*f = *anew
	return old.close()
}
