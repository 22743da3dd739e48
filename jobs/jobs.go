// Package jobs runs work that outlives its request, by River, on both databases: a job is a row written in the
// transaction that made it necessary, so it is there if and only if the transaction was kept. It promises
//
//   - that a job is worked by one process at a time, until it succeeds, is canceled, or gives up;
//   - that the job of a killed process is worked again, by any process that lives or starts, within DeadAfter
//     plus three heartbeats and a second, and that this is no failed attempt;
//   - that a stopped process puts its jobs back at once, which is no failed attempt either;
//   - that a worker is told before its job gives up.
//
// A worker may be run again after it did its work, when the process died before that was written down. So a
// worker looks first at what there is to do, and finding nothing is success.
package jobs

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"github.com/stenometer/stenometer/models"
)

// Options say what this process does and how it is known to others.
type Options struct {
	// ProcessID is unique to this run of the process, at most 100 characters. Empty means a random one.
	ProcessID string
	// Role is "web" (puts jobs in), "worker" or "all" (works them, too).
	Role string
	// LimitsStorage and Version are told to the operators of other processes by Alive.
	LimitsStorage, Version string
	// MaxWorkers is how many long jobs this process works at once, 1 or more. Chores have 4 places besides.
	MaxWorkers int
	// Heartbeat is how often the process says that it lives. DeadAfter, at least three times as long, is when
	// others stop believing it.
	Heartbeat, DeadAfter time.Duration
	// MaxAttempts is how often a job is tried that does not say otherwise when it is enqueued, 1 or more.
	MaxAttempts int
	// RetryBase is the wait after the first failure; each further wait is four times as long, at most a day.
	RetryBase time.Duration
	// Finished is told how each attempt ended: completed, failed, given_up or canceled. Nil tells nobody.
	Finished func(kind, outcome string)
	Logger   *slog.Logger
}

// Jobs is this process's part in the queue.
type Jobs struct {
	db       *models.DB
	options  Options
	workers  *river.Workers
	client   client
	inserter *river.Client[*sql.Tx]

	// turn is taken by who starts or stops the client; stopped, guarded by it, is true once Stop was called.
	turn    chan struct{}
	stopped bool
	// away, used by the heartbeat alone, is true between a death wrongly declared and the return to work.
	away bool
	// quit ends the heartbeat, which closes quiet.
	quit  context.CancelFunc
	quiet chan struct{}

	mu   sync.Mutex          // guards held
	held map[int64]time.Time // jobs in the hands of this process: zero while at work, else when work returned
}

// New joins the queue of the database without starting anything. Workers are registered next.
func New(db *models.DB, options Options) (*Jobs, error) {
	if options.ProcessID == "" {
		options.ProcessID = rand.Text()
	}
	if err := options.validate(); err != nil {
		return nil, fmt.Errorf("set up the job queue: %w", err)
	}
	j := &Jobs{
		db: db, options: options, workers: river.NewWorkers(),
		turn: make(chan struct{}, 1), held: make(map[int64]time.Time),
	}
	if err := j.connect(); err != nil {
		return nil, fmt.Errorf("set up the job queue: %w", err)
	}
	return j, nil
}

func (o Options) validate() error {
	switch {
	case o.Role != "all" && o.Role != "web" && o.Role != "worker":
		return fmt.Errorf("role is %q, allowed are all, web, worker", o.Role)
	case o.MaxWorkers < 1:
		return fmt.Errorf("%d workers, at least 1 is needed", o.MaxWorkers)
	case o.MaxAttempts < 1:
		return fmt.Errorf("%d attempts, at least 1 is needed", o.MaxAttempts)
	case o.Heartbeat <= 0 || o.DeadAfter < 3*o.Heartbeat:
		return fmt.Errorf("a heartbeat of %s and death after %s: the second must be three times the first or more", o.Heartbeat, o.DeadAfter)
	case o.RetryBase <= 0:
		return fmt.Errorf("retry after %s, it must be more than nothing", o.RetryBase)
	case o.Logger == nil:
		return errors.New("no logger")
	}
	return nil
}

// ProcessID is how this process is known in processes and as the worker of jobs.
func (j *Jobs) ProcessID() string { return j.options.ProcessID }

// Start announces the process and, unless its role is web, begins to work jobs. It may be called once. Jobs do
// not end with ctx; Stop ends them.
func (j *Jobs) Start(ctx context.Context) error {
	if err := j.announce(ctx); err != nil {
		return err
	}
	beating, quit := context.WithCancel(context.WithoutCancel(ctx))
	if err := j.startClient(beating); err != nil {
		quit()
		return errors.Join(err, j.withdraw(ctx))
	}
	j.quit, j.quiet = quit, make(chan struct{})
	go func() {
		defer close(j.quiet)
		j.beat(beating)
	}()
	return nil
}

func (j *Jobs) startClient(ctx context.Context) error {
	if j.options.Role == "web" {
		return nil
	}
	if err := j.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start working jobs: %w", err)
	}
	return nil
}

// Stop takes no new job, cancels the contexts of those at work, and waits until every worker has returned and
// its job is back in the queue, available at once. Then it withdraws the announcement. When ctx is over first,
// it returns the context's error: what is still at work is then put back by others after DeadAfter. Stopping
// what never started, or again, does nothing.
func (j *Jobs) Stop(ctx context.Context) error {
	if j.quit == nil {
		return nil
	}
	select {
	case j.turn <- struct{}{}:
		defer func() { <-j.turn }()
	case <-ctx.Done():
		j.silence()
		return fmt.Errorf("stop the job queue: %w", ctx.Err())
	}
	if j.stopped {
		return nil
	}
	j.stopped = true
	// The heart beats on meanwhile, or others would take jobs that are just being put back.
	err := j.client.StopAndCancel(ctx)
	j.silence()
	if err != nil {
		return fmt.Errorf("wait for jobs to stop: %w", err)
	}
	return j.withdraw(ctx)
}

func (j *Jobs) silence() {
	j.quit()
	<-j.quiet
}
