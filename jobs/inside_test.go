package jobs

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

func TestWaitsGrowFourfoldUpToADay(t *testing.T) {
	t.Parallel()
	policy := retryPolicy{base: 5 * time.Second}
	for failures, want := range map[int]time.Duration{
		1: 5 * time.Second, 2: 20 * time.Second, 3: 80 * time.Second, 9: 24 * time.Hour, 1000: 24 * time.Hour,
	} {
		if got := policy.wait(failures, 1); got != want {
			t.Errorf("after %d failures it waits %s, want %s", failures, got, want)
		}
	}
}

// When the database was away everybody's row is old; the first to come back must not bury the others.
func TestNobodyIsJudgedRightAfterAnOutage(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := patience{heartbeat: 2 * time.Second, deadAfter: 10 * time.Second}
	for _, step := range []struct {
		after  time.Duration
		judges bool
	}{
		{0, false},
		{2 * time.Second, false},
		{2 * time.Second, true},
		{2 * time.Second, true},
		{6 * time.Second, false},
		{2 * time.Second, false},
		{2 * time.Second, true},
		{5 * time.Second, true},
	} {
		now = now.Add(step.after)
		if got := p.renewed(now); got != step.judges {
			t.Errorf("at %s, %s after the last heartbeat, it judges: %t", now, step.after, got)
		}
	}
}

func TestTimeoutsAreBounded(t *testing.T) {
	t.Parallel()
	for said, want := range map[time.Duration]time.Duration{
		0: 0, -1: MaxTime, time.Hour: time.Hour, 2 * MaxTime: MaxTime, // 0 is DefaultTime, by River
	} {
		if got := (worker[chore]{Worker: choreWorker{timeout: said}}).Timeout(nil); got != want {
			t.Errorf("a worker that says %s has %s, want %s", said, got, want)
		}
	}
}

// A job of a living process whose result could not be written down is marked as at work and nobody works on it.
func TestJobWithoutAResultIsWorkedAgain(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		if err := db.Migrate(ctx, Migrate); err != nil {
			t.Fatal(err)
		}
		j, err := New(db, Options{
			Role: "all", MaxWorkers: 2, MaxAttempts: 1, Heartbeat: 10 * time.Second, DeadAfter: time.Minute,
			RetryBase: time.Second, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		began := make(chan struct{}, 2)
		Register(j, choreWorker{began: began})
		if err := j.Start(ctx); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := j.Stop(ctx); err != nil {
				t.Error(err)
			}
		}()
		var id int64
		err = db.Transaction(ctx, func(tx *gorm.DB) (err error) { id, err = j.Enqueue(ctx, tx, chore{}, nil); return err })
		if err != nil {
			t.Fatal(err)
		}
		<-began
		_, err = j.exec(ctx, "UPDATE river_job SET attempted_at = "+db.Clock(-2*settleTime))
		if err != nil {
			t.Fatal(err)
		}
		if back, err := j.reclaim(ctx); err != nil || back != 0 {
			t.Errorf("%d jobs that are worked were put back (%v)", back, err)
		}
		j.mu.Lock()
		j.held[id] = time.Now().Add(-2 * settleTime) // as if the worker had returned, and nothing was written since
		j.mu.Unlock()
		if back, err := j.reclaim(ctx); err != nil || back != 1 {
			t.Errorf("%d jobs without a result were put back (%v), want 1", back, err)
		}
		select {
		case <-began:
		case <-time.After(30 * time.Second):
			t.Error("it is not worked again")
		}
	})
}

type chore struct{}

func (chore) Kind() string { return "test_chore" }

// choreWorker says that it began and waits to be stopped.
type choreWorker struct {
	river.WorkerDefaults[chore]
	timeout time.Duration
	began   chan<- struct{}
}

func (w choreWorker) Timeout(*river.Job[chore]) time.Duration { return w.timeout }

func (w choreWorker) Work(ctx context.Context, _ *river.Job[chore]) error {
	w.began <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}
