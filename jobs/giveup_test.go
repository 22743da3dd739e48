package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/riverqueue/river"

	"github.com/stenometer/stenometer/models/modelstest"
)

func TestWorkerIsToldBeforeItsJobGivesUp(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		do    func() error
		tries int
		state string
	}{
		"at the last attempt":      {func() error { return broken }, 2, "discarded"},
		"when it is of no use":     {func() error { return river.JobCancel(broken) }, 1, "cancelled"},
		"at a panic, the last one": {func() error { panic(broken) }, 2, "discarded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, url string) {
				tries, told := make(chan struct{}, 10), make(chan string, 10)
				o := options("all")
				o.MaxAttempts = 2
				j, db := start(t, url, o, work{
					do: func(context.Context, *river.Job[task]) error {
						tries <- struct{}{}
						return c.do()
					},
					gaveUp: func(job *river.Job[task], cause error) error {
						if state, _ := row(t, modelstest.Open(t, url, false), job.ID); state != "running" {
							t.Errorf("told while the job is %s already", state)
						}
						told <- cause.Error()
						return nil
					},
				})
				reaches(t, db, enqueue(t, j, db, 1), c.state)
				if got := len(tries); got != c.tries {
					t.Errorf("tried %d times, want %d", got, c.tries)
				}
				if len(told) != 1 {
					t.Fatalf("told %d times, want once", len(told))
				}
				if cause := <-told; !strings.Contains(cause, "broken") {
					t.Errorf("the cause is %q", cause)
				}
			})
		})
	}
}

// What a worker does when it is told, a write as a rule, may fail like any other; the job is not over before it
// has succeeded.
func TestJobDoesNotGiveUpBeforeItsWorkerTookNote(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		var told atomic.Int32
		o := options("all")
		o.MaxAttempts = 1
		j, db := start(t, url, o, work{
			do: func(context.Context, *river.Job[task]) error { return errors.New("broken") },
			gaveUp: func(*river.Job[task], error) error {
				if told.Add(1) == 1 {
					return errors.New("the database is away")
				}
				return nil
			},
		})
		reaches(t, db, enqueue(t, j, db, 1), "discarded")
		if got := told.Load(); got != 2 {
			t.Errorf("told %d times, want 2", got)
		}
	})
}
