package jobs_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
)

// A process that others declared dead, because it was frozen, stops its jobs when it finds out; what they came to
// is not written over the work of those who took them; and then it works again.
func TestProcessDeclaredDeadStopsItsJobsAndComesBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		began, ended, taken := make(chan int, 10), make(chan struct{}, 10), make(chan struct{})
		frozen, db := start(t, url, options("worker"), work{do: func(ctx context.Context, job *river.Job[task]) error {
			began <- job.Args.Number
			if job.Args.Number == 2 {
				return nil
			}
			<-ctx.Done()
			ended <- struct{}{}
			<-taken
			return nil // it claims success
		}})
		web, _ := start(t, url, options("web"), work{})
		id := enqueue(t, web, db, 1)
		receive(t, began, "the process works")

		var times atomic.Int32
		finish := make(chan struct{})
		healthy, _ := start(t, url, options("worker"), work{do: func(context.Context, *river.Job[task]) error {
			if times.Add(1) == 1 {
				close(taken)
			}
			<-finish
			return nil
		}})
		declareDead(t, db, frozen)
		receive(t, ended, "the job of the process declared dead is stopped")
		receive(t, taken, "the healthy process takes the job")
		until(t, "the process is back", func() bool { return lives(t, healthy, frozen) })
		if state, _ := row(t, db, id); state != "running" {
			t.Errorf("the job is %s while the healthy process works on it", state)
		}
		close(finish)
		reaches(t, db, id, "completed")
		stop(t, healthy)
		enqueue(t, web, db, 2)
		if got := receive(t, began, "the process works again"); got != 2 {
			t.Errorf("it worked job %d, want 2", got)
		}
		if n := times.Load(); n != 1 {
			t.Errorf("the job was taken %d times", n)
		}
	})
}

func declareDead(t *testing.T, db *models.DB, j *jobs.Jobs) {
	t.Helper()
	err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
		return tx.Delete(&models.Process{}, "id = ?", j.ProcessID()).Error
	})
	if err != nil {
		t.Fatal(err)
	}
}

func lives(t *testing.T, observer, j *jobs.Jobs) bool {
	t.Helper()
	return slices.ContainsFunc(alive(t, observer), func(p models.Process) bool { return p.ID == j.ProcessID() })
}
