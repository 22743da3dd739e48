package jobs_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/stenometer/stenometer/models"
)

func TestStopPutsJobsBackAtOnceAndCountsNoAttempt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		began := make(chan struct{}, 10) // until it takes no new job, a stopping process may begin it again
		var ended atomic.Bool
		first, db := start(t, url, options("all"), work{
			do: func(ctx context.Context, _ *river.Job[task]) error {
				began <- struct{}{}
				<-ctx.Done()
				ended.Store(true)
				return river.JobCancel(errors.New("ffmpeg: signal: killed")) // not what it looks like
			},
			gaveUp: func(_ *river.Job[task], cause error) error {
				t.Errorf("the job gave up: %v", cause)
				return nil
			},
		})
		id := enqueue(t, first, db, 1)
		receive(t, began, "the first process works")
		stop(t, first)
		if !ended.Load() {
			t.Error("Stop returned before the worker did")
		}
		if state, attempt := row(t, db, id); state != "available" || attempt != 0 {
			t.Errorf("after Stop the job is %s with %d attempts, want available with none", state, attempt)
		}
		again := make(chan int, 1)
		start(t, url, options("all"), work{do: func(_ context.Context, job *river.Job[task]) error {
			again <- job.Attempt
			return nil
		}})
		if attempt := receive(t, again, "another process works"); attempt != 1 {
			t.Errorf("it is attempt %d, want 1", attempt)
		}
		reaches(t, db, id, "completed")
	})
}

func TestStopEndsWithItsContextAndTheJobIsNotLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		began, release := make(chan struct{}, 1), make(chan struct{})
		stubborn, db := start(t, url, options("all"), work{do: func(context.Context, *river.Job[task]) error {
			began <- struct{}{}
			<-release
			return nil
		}})
		id := enqueue(t, stubborn, db, 1)
		receive(t, began, "the stubborn process works")
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		if err := stubborn.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop gave %v, want its deadline", err)
		}
		again := make(chan struct{}, 1)
		start(t, url, judging("all"), work{do: func(context.Context, *river.Job[task]) error {
			again <- struct{}{}
			return nil
		}})
		receive(t, again, "another process takes the job up")
		close(release)
		reaches(t, db, id, "completed")
	})
}

func TestCancelEndsJobsInAnyProcess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		began, ended := make(chan int, 10), make(chan time.Time, 1)
		o := options("worker")
		o.MaxWorkers = 1
		start(t, url, o, work{
			do: func(ctx context.Context, job *river.Job[task]) error {
				began <- job.Args.Number
				if job.Args.Number != 1 {
					return nil
				}
				<-ctx.Done()
				ended <- time.Now()
				return ctx.Err()
			},
			gaveUp: func(_ *river.Job[task], cause error) error {
				t.Errorf("the job gave up: %v", cause)
				return nil
			},
		})
		web, db := start(t, url, options("web"), work{})
		running, waiting, last := enqueue(t, web, db, 1), enqueue(t, web, db, 2), enqueue(t, web, db, 3)
		if got := receive(t, began, "the worker begins"); got != 1 {
			t.Fatalf("job %d began first", got)
		}
		ctx := context.Background()
		canceled := time.Now()
		for _, id := range []int64{waiting, running, running, last + 1000} { // twice, and one that is unknown
			if err := web.Cancel(ctx, id); err != nil {
				t.Error(err)
			}
		}
		if took := receive(t, ended, "the running job ends").Sub(canceled); took > 3*time.Second {
			t.Errorf("the running job was told after %s", took)
		}
		if got := receive(t, began, "the next job begins"); got != 3 {
			t.Errorf("job %d was worked next, want 3: the second was canceled", got)
		}
		reaches(t, db, running, "cancelled")
		reaches(t, db, waiting, "cancelled")
		reaches(t, db, last, "completed")
		if err := web.Cancel(ctx, last); err != nil {
			t.Error(err)
		}
		if state, _ := row(t, db, last); state != "completed" {
			t.Errorf("a job that was over became %s", state)
		}
	})
}

// A web process puts in and works nothing; workers share what there is, each job is worked once.
func TestWorkersShareJobsExactlyOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		const count = 60
		var mu sync.Mutex
		times := make(map[int]int)
		var done sync.WaitGroup
		done.Add(count)
		worker := work{do: func(_ context.Context, job *river.Job[task]) error {
			mu.Lock()
			defer mu.Unlock()
			if times[job.Args.Number]++; times[job.Args.Number] == 1 {
				done.Done()
			}
			return nil
		}}
		web, db := start(t, url, options("web"), work{do: func(context.Context, *river.Job[task]) error {
			t.Error("a web process worked a job")
			return nil
		}})
		start(t, url, options("worker"), worker)
		start(t, url, options("worker"), worker)
		for number := range count {
			enqueue(t, web, db, number)
		}
		done.Wait()
		until(t, "all are completed", func() bool { return countJobs(t, db, "completed") == count })
		mu.Lock()
		defer mu.Unlock()
		for number, n := range times {
			if n != 1 {
				t.Errorf("job %d was worked %d times", number, n)
			}
		}
	})
}

func TestPositionCountsOlderWaitingJobs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		began := make(chan struct{}, 10) // until it takes no new job, a stopping process begins others, and waits for them
		o := options("all")
		o.MaxWorkers = 1
		j, db := start(t, url, o, work{do: func(ctx context.Context, _ *river.Job[task]) error {
			began <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}})
		ids := []int64{enqueue(t, j, db, 0)}
		receive(t, began, "the first job is worked")
		ids = append(ids, enqueue(t, j, db, 1), enqueue(t, j, db, 2), enqueue(t, j, db, 3))
		if err := j.Cancel(context.Background(), ids[2]); err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{0, 1, 0, 2} {
			position, ok, err := j.Position(context.Background(), ids[i])
			if err != nil || position != want || ok != (want > 0) {
				t.Errorf("job %d has position %d, %t, %v; want %d", i, position, ok, err, want)
			}
		}
	})
}

func countJobs(t testing.TB, db *models.DB, state string) int {
	t.Helper()
	var n int
	if err := db.Read.Raw("SELECT count(*) FROM river_job WHERE state = ?", state).Scan(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}
