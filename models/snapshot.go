package models

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/resting"
)

// Snapshot holds in memory what a small table says, for those who cannot ask the database on their way: the table is
// read at Start, and again when its counter has changed. A change elsewhere is known after PollEvery and the time of two
// queries.
type Snapshot[T any] struct {
	db      *DB
	options SnapshotOptions[T]
	last    atomic.Pointer[reading[T]]

	taking  sync.Mutex // held while the table is read, so that an older reading never replaces a later one
	watch   resting.Watch
	failing bool // the last poll failed; polls never overlap
}

// reading is what the table said when its counter stood at a count, or a little later.
type reading[T any] struct {
	count int64
	says  T
}

// SnapshotOptions say what is held, and how fresh it is kept.
type SnapshotOptions[T any] struct {
	// Name is what errors and the log call it, such as "the system settings".
	Name string
	// Counter is raised by whoever changes the table, in the same transaction.
	Counter string
	// Take reads the table.
	Take func(ctx context.Context, db *gorm.DB) (T, error)
	// Before is what holds until the first reading.
	Before T
	// PollEvery is how often the counter is read once started; 0 means 300 ms.
	PollEvery time.Duration
	// Logger is told of what fails in the background; nil tells nobody.
	Logger *slog.Logger
}

// snapshotTimeout bounds one reading.
const snapshotTimeout = 5 * time.Second

// NewSnapshot is one over a migrated database. It has read nothing yet.
func NewSnapshot[T any](db *DB, options SnapshotOptions[T]) *Snapshot[T] {
	if options.PollEvery == 0 {
		options.PollEvery = 300 * time.Millisecond
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	return &Snapshot[T]{db: db, options: options}
}

// Latest is what the last reading said.
func (s *Snapshot[T]) Latest() T {
	if last := s.last.Load(); last != nil {
		return last.says
	}
	return s.options.Before
}

// Start reads the table and goes on to poll for changes, until Stop. A second Start without a Stop between begins
// nothing.
func (s *Snapshot[T]) Start(ctx context.Context) error {
	if err := s.Read(ctx); err != nil {
		return err
	}
	s.watch.Start(ctx, s.options.PollEvery, s.poll)
	return nil
}

// Stop ends what Start began and waits for it. It may be called without Start and more than once.
func (s *Snapshot[T]) Stop() { s.watch.Stop() }

// poll reads the table when it has changed. While the database does not answer, what was read before holds.
func (s *Snapshot[T]) poll(ctx context.Context) time.Duration {
	err := s.Read(ctx)
	if err != nil && !s.failing && ctx.Err() == nil {
		s.options.Logger.ErrorContext(ctx, s.options.Name+" can't be read", "error", err)
	}
	s.failing = err != nil
	return s.options.PollEvery
}

// Read makes sure that every change committed before its call is known.
func (s *Snapshot[T]) Read(ctx context.Context) error {
	s.taking.Lock()
	defer s.taking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	db := s.db.Read.WithContext(ctx)
	var counter ChangeCounter
	if err := db.Where("name = ?", s.options.Counter).Take(&counter).Error; err != nil {
		return fmt.Errorf("read the counter of changes %q: %w", s.options.Counter, err)
	}
	if last := s.last.Load(); last != nil && last.count == counter.Value {
		return nil
	}
	// Rows that are younger than the counter are read again at the next change: nothing is ever missed.
	says, err := s.options.Take(ctx, db)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.options.Name, err)
	}
	s.last.Store(&reading[T]{count: counter.Value, says: says})
	return nil
}
