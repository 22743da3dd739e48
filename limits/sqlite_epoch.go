package limits

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// sqliteRepair is the longest that opening the file anew may take: a large one is read from end to end.
const sqliteRepair = 30 * time.Second

// Epoch tells whether the counters were lost since the last call: the file was deleted, replaced or damaged. It is
// opened anew here, in up to half a minute, in which decisions fail at once where it is damaged. Each process is told
// once.
func (s *SQLite) Epoch(ctx context.Context) (lost bool, err error) {
	s.mending.Lock()
	defer s.mending.Unlock()
	if err := s.mend(ctx); err != nil {
		return false, fmt.Errorf("opening the limits' file anew: %w", err)
	}
	var epoch string
	err = s.writing(ctx, func(ctx context.Context, f *limitsFile) (made bool, err error) {
		epoch, err = f.epoch(ctx)
		if !errors.Is(err, sql.ErrNoRows) {
			return false, err
		}
		epoch = rand.Text()
		_, err = f.conn.ExecContext(ctx, "INSERT INTO epochs (one, epoch) VALUES (1, ?)", epoch)
		return true, err
	})
	if err != nil {
		return false, fmt.Errorf("reading the epoch of the limits' counters: %w", err)
	}
	lost = s.epoch != "" && s.epoch != epoch
	s.epoch = epoch
	return lost, nil
}

// mend opens what the path names now, if the opened file is damaged or another. The connection stays with the decisions
// until the new one is there.
func (s *SQLite) mend(ctx context.Context) error {
	broken, err := s.broken(ctx)
	if err != nil || !broken {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, sqliteRepair)
	defer cancel()
	anew, err := openLimitsFile(patient, s.path)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	old, err := s.takeOut(waiting)
	if err != nil {
		return errors.Join(err, anew.close())
	}
	s.file <- anew
	// What it says at its end is about a file that nobody counts in any more.
	_ = old.close()
	return nil
}

func (s *SQLite) broken(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	f, err := s.takeOut(ctx)
	if err != nil {
		return false, err
	}
	defer func() { s.file <- f }()
	return f.damaged || f.replaced(), nil
}

func (f *limitsFile) epoch(ctx context.Context) (epoch string, err error) {
	err = f.conn.QueryRowContext(ctx, "SELECT epoch FROM epochs").Scan(&epoch)
	return epoch, err
}
