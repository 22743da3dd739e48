package limits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// SQLite is the store that the processes of one machine share through a file of its own. A decision is one
// transaction that holds the file's one write lock, by the machine's clock. Where the file cannot be used nothing is
// admitted: a decision, a look and a lease fail with problems.LimitsUnavailable, at once where the file is damaged.
// Epoch mends it, which a server calls every few seconds.
type SQLite struct {
	path    string
	timeout time.Duration
	now     func() time.Time
	space   *space

	// file holds the one connection, for whoever takes it out.
	file      chan *limitsFile
	closed    chan struct{}
	closeOnce sync.Once
	closeErr  error

	mending sync.Mutex // held by who looks whether the file is to be opened anew; protects epoch
	epoch   string     // as last seen
}

var (
	errSQLiteClosed  = errors.New("the limits' file is closed")
	errSQLiteDamaged = errors.New("the limits' file is damaged and not yet made anew")
)

// OpenSQLite opens the file of the limits, or makes it, readable by nobody else. A file that SQLite cannot read is made
// anew, so that what it counted is forgotten: a loss of power can do that, killed processes cannot.
func OpenSQLite(ctx context.Context, path string, options DatabaseOptions) (*SQLite, error) {
	options = options.withDefaults()
	s := &SQLite{
		path: path, timeout: options.Timeout, now: options.Now, space: newSpace(options.MaxKeys),
		file: make(chan *limitsFile, 1), closed: make(chan struct{}),
	}
	file, err := openLimitsFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("opening the limits' storage: %w", err)
	}
	s.file <- file
	if _, err = s.Epoch(ctx); err == nil {
		err = s.count(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the limits' storage: %w", err), s.Close())
	}
	return s, nil
}

// using runs work with the connection, for which it waits at most as long as a decision may take.
func (s *SQLite) using(ctx context.Context, work func(ctx context.Context, f *limitsFile) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	f, err := s.takeOut(ctx)
	if err != nil {
		return err
	}
	defer func() { s.file <- f }()
	if f.damaged {
		return errSQLiteDamaged
	}
	return work(ctx, f)
}

// takeOut takes the connection. Who has it puts it back, or another in its place.
func (s *SQLite) takeOut(ctx context.Context) (*limitsFile, error) {
	select {
	case <-s.closed:
		return nil, errSQLiteClosed
	default:
	}
	select {
	case f := <-s.file:
		return f, nil
	case <-s.closed:
		return nil, errSQLiteClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the connection: %w", ctx.Err())
	}
}

// Ping asks whether the file can be read; its error is the reason, for an operator.
func (s *SQLite) Ping(ctx context.Context) error {
	err := s.using(ctx, func(ctx context.Context, f *limitsFile) error {
		return f.transaction(ctx, f.read, func(ctx context.Context) (bool, error) {
			_, err := f.epoch(ctx)
			return false, err
		})
	})
	if err != nil {
		return fmt.Errorf("asking the limits' file: %w", err)
	}
	return nil
}

// Close implements Store. It waits for the decision under way.
func (s *SQLite) Close() error {
	s.closeOnce.Do(func() {
		close(s.closed)
		s.closeErr = (<-s.file).close()
	})
	return s.closeErr
}

// Take implements Store.
func (s *SQLite) Take(ctx context.Context, stack []Limit, room []State) (Decision, error) {
	if err := check(stack); err != nil {
		return Decision{}, err
	}
	decision := Decision{Admitted: true, Binding: -1}
	if len(stack) == 0 {
		return decision, nil
	}
	err := s.using(ctx, func(ctx context.Context, f *limitsFile) error {
		d := decider{file: f, stack: stack, crowded: s.space.crowded()}
		err := f.transaction(ctx, f.write, func(ctx context.Context) (bool, error) {
			if err := d.look(ctx, s.now()); err != nil {
				return false, err
			}
			return d.take(ctx)
		})
		if err != nil {
			return err
		}
		s.space.made(d.made)
		decision.Admitted, decision.States = d.admitted, d.states(room)
		return nil
	})
	if err != nil {
		return Decision{}, unavailable("deciding about limits in SQLite", err)
	}
	decision.Binding = bindingOf(decision.States)
	return decision, nil
}

// Peek implements Store.
func (s *SQLite) Peek(ctx context.Context, stack []Limit) (states []State, err error) {
	if err := check(stack); err != nil {
		return nil, err
	}
	if len(stack) == 0 {
		return nil, nil
	}
	err = s.using(ctx, func(ctx context.Context, f *limitsFile) error {
		d := decider{file: f, stack: stack, crowded: s.space.crowded()}
		err := f.transaction(ctx, f.read, func(ctx context.Context) (bool, error) {
			return false, d.look(ctx, s.now())
		})
		states = d.states(nil)
		return err
	})
	if err != nil {
		return nil, unavailable("looking at limits in SQLite", err)
	}
	return states, nil
}
