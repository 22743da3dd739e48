package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/tests/jobstest"
)

const patienceOfTests = 30 * time.Second

// task is the job of these tests.
type task struct {
	Number int `json:"number"`
}

func (task) Kind() string { return "test_task" }

// work is a worker made of a function, with its ear for giving up.
type work struct {
	river.WorkerDefaults[task]
	do     func(ctx context.Context, job *river.Job[task]) error
	gaveUp func(job *river.Job[task], cause error) error
}

func (w work) Work(ctx context.Context, job *river.Job[task]) error { return w.do(ctx, job) }

func (w work) GaveUp(_ context.Context, job *river.Job[task], cause error) error {
	if w.gaveUp == nil {
		return nil
	}
	return w.gaveUp(job, cause)
}

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		runChild(url, os.Getenv(childConduct))
		return
	}
	os.Exit(m.Run())
}

// each runs the test on both databases and hands it a way to open further handles, as other processes would.
func each(t *testing.T, test func(t *testing.T, url string)) {
	for name, newURL := range jobstest.Migrated.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newURL(t))
		})
	}
}

// options are those of a process that believes in the others for longer than any test runs, so that a machine
// busy with other tests makes nobody dead.
func options(role string) jobs.Options {
	return jobs.Options{
		Role: role, Version: "test", LimitsStorage: "memory", MaxWorkers: 4, MaxAttempts: 4,
		Heartbeat: 200 * time.Millisecond, DeadAfter: time.Minute, RetryBase: 100 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
	}
}

// judging are those of a process that soon believes others dead.
func judging(role string) jobs.Options {
	o := options(role)
	o.DeadAfter = 2 * time.Second
	return o
}

// start makes a process of the queue with a handle of its own; it is stopped when the test ends.
func start(t testing.TB, url string, o jobs.Options, w work) (*jobs.Jobs, *models.DB) {
	t.Helper()
	db := modelstest.Open(t, url, false)
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	j, err := jobs.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	jobs.Register(j, w)
	if err := j.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, j) })
	return j, db
}

func stop(t testing.TB, j *jobs.Jobs) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patienceOfTests)
	defer cancel()
	if err := j.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func enqueue(t testing.TB, j *jobs.Jobs, db *models.DB, number int) int64 {
	t.Helper()
	var id int64
	ctx := context.Background()
	err := db.Transaction(ctx, func(tx *gorm.DB) (err error) {
		id, err = j.Enqueue(ctx, tx, task{Number: number}, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(patienceOfTests):
		t.Fatalf("waited %s in vain for: %s", patienceOfTests, what)
		panic("unreachable")
	}
}

// until waits for a state of the database that comes without a signal.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patienceOfTests); !holds(); time.Sleep(20 * time.Millisecond) { //nolint:forbidigo // looks again, up to a deadline
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain for: %s", patienceOfTests, what)
		}
	}
}

// row reads a job's state and count of attempts; the state of a job that is not there is empty.
func row(t testing.TB, db *models.DB, id int64) (state string, attempt int) {
	t.Helper()
	var found struct {
		State   string
		Attempt int
	}
	if err := db.Read.Raw("SELECT state, attempt FROM river_job WHERE id = ?", id).Scan(&found).Error; err != nil {
		t.Fatal(err)
	}
	return found.State, found.Attempt
}

func reaches(t testing.TB, db *models.DB, id int64, state string) {
	t.Helper()
	until(t, "job "+strconv.FormatInt(id, 10)+" is "+state, func() bool {
		now, _ := row(t, db, id)
		return now == state
	})
}

func TestJobIsThereFromTheCommitOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		worked := make(chan int, 10)
		j, db := start(t, url, options("all"), work{do: func(_ context.Context, job *river.Job[task]) error {
			worked <- job.Args.Number
			return nil
		}})
		ctx := context.Background()
		refused := errors.New("refused")
		var id int64
		err := db.Transaction(ctx, func(tx *gorm.DB) (err error) {
			if id, err = j.Enqueue(ctx, tx, task{Number: 1}, nil); err != nil {
				return err
			}
			return refused
		})
		if !errors.Is(err, refused) {
			t.Fatal(err)
		}
		if state, _ := row(t, db, id); state != "" {
			t.Errorf("a job of a transaction that was rolled back is %s", state)
		}
		err = db.Transaction(ctx, func(tx *gorm.DB) (err error) {
			if id, err = j.Enqueue(ctx, tx, task{Number: 2}, nil); err != nil {
				return err
			}
			if state, _ := row(t, db, id); state != "" {
				t.Errorf("before the commit others see the job as %s", state)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := receive(t, worked, "the job is worked"); got != 2 {
			t.Errorf("job %d was worked, want 2", got)
		}
		reaches(t, db, id, "completed")
	})
}

func TestEnqueueOutsideATransactionIsRefused(t *testing.T) {
	t.Parallel()
	db := modelstest.Open(t, jobstest.Migrated.SQLiteURL(t), false)
	j, err := jobs.New(db, options("web"))
	if err != nil {
		t.Fatal(err)
	}
	jobs.Register(j, work{})
	if _, err := j.Enqueue(context.Background(), db.Read, task{}, nil); err == nil {
		t.Error("a job was enqueued outside a transaction")
	}
}

func TestFailedJobIsTriedAgainLaterAndLater(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		tries := make(chan time.Time, 10)
		j, db := start(t, url, options("all"), work{
			do: func(_ context.Context, job *river.Job[task]) error {
				tries <- time.Now()
				if job.Attempt < 3 {
					return errors.New("not yet")
				}
				return nil
			},
			gaveUp: func(_ *river.Job[task], cause error) error {
				t.Errorf("the job gave up: %v", cause)
				return nil
			},
		})
		id := enqueue(t, j, db, 1)
		first, second, third := receive(t, tries, "try 1"), receive(t, tries, "try 2"), receive(t, tries, "try 3")
		// The base is 100 ms, then four times that, less a tenth at most.
		if wait := second.Sub(first); wait < 90*time.Millisecond {
			t.Errorf("tried again after %s, want 90 ms or more", wait)
		}
		if wait := third.Sub(second); wait < 360*time.Millisecond {
			t.Errorf("tried a third time after %s, want 360 ms or more", wait)
		}
		reaches(t, db, id, "completed")
	})
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	for name, spoil := range map[string]func(*jobs.Options){
		"role":      func(o *jobs.Options) { o.Role = "boss" },
		"workers":   func(o *jobs.Options) { o.MaxWorkers = 0 },
		"attempts":  func(o *jobs.Options) { o.MaxAttempts = 0 },
		"heartbeat": func(o *jobs.Options) { o.Heartbeat = 0 },
		"death":     func(o *jobs.Options) { o.DeadAfter = 2 * o.Heartbeat },
		"retry":     func(o *jobs.Options) { o.RetryBase = 0 },
		"logger":    func(o *jobs.Options) { o.Logger = nil },
	} {
		o := options("all")
		spoil(&o)
		if _, err := jobs.New(db, o); err == nil {
			t.Errorf("a wrong %s was accepted", name)
		}
	}
}
