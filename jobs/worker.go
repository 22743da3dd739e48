package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// GivesUp is implemented by workers that want to know when their job will not be tried again: it failed for the
// last time, it returned river.JobCancel(err) because trying again is of no use, or it took too many processes
// with it (ErrKilled). It is called before the queue forgets the job, so that a process killed in between does
// it again; an error makes the job come back later for another try. It is not called for a job that somebody
// canceled.
type GivesUp[T river.JobArgs] interface {
	GaveUp(ctx context.Context, job *river.Job[T], cause error) error
}

// ErrKilled is why a job gives up that was at work whenever its process died, maxDeaths times.
var ErrKilled = fmt.Errorf("the process died %d times while it worked on this job", maxDeaths)

const maxDeaths = 5

const (
	giveUpTime = 30 * time.Second
	lookTime   = 10 * time.Second
)

// Register tells who works jobs of kind T; every process registers every worker before Start. It panics when
// the kind is taken. A worker's Timeout is its upper bound; River's "no limit" (-1) and all above MaxTime
// become MaxTime.
func Register[T river.JobArgs](j *Jobs, w river.Worker[T]) {
	river.AddWorker(j.workers, worker[T]{Worker: w, jobs: j})
}

// worker stands between River and a worker and adds what the package promises.
type worker[T river.JobArgs] struct {
	river.Worker[T]
	jobs *Jobs
}

func (w worker[T]) Timeout(job *river.Job[T]) time.Duration {
	timeout := w.Worker.Timeout(job)
	if timeout < 0 || timeout > MaxTime {
		return MaxTime
	}
	return timeout
}

func (w worker[T]) Work(ctx context.Context, job *river.Job[T]) error {
	w.jobs.hold(job.ID)
	defer w.jobs.letGo(job.ID)
	err := w.attempt(ctx, job)
	stopped := errors.Is(ctx.Err(), context.Canceled)
	var snooze *rivertype.JobSnoozeError
	if err != nil && stopped && !errors.As(err, &snooze) {
		// Whatever the worker made of it, this is no failure: by the cause River tells stopping from cancel.
		err = context.Cause(ctx)
	}
	if !w.jobs.owns(ctx, job.JobRow) {
		return nothingToReport{}
	}
	w.count(job.JobRow, err, stopped)
	if err == nil || stopped || !final(job.JobRow, err) {
		return err
	}
	return w.giveUp(ctx, job, err)
}

// count tells the metrics how an attempt ended. One that only waits for something did not end.
func (w worker[T]) count(job *rivertype.JobRow, err error, stopped bool) {
	var snooze *rivertype.JobSnoozeError
	switch {
	case w.jobs.options.Finished == nil || errors.As(err, &snooze):
	case err == nil:
		w.jobs.options.Finished(job.Kind, "completed")
	case stopped:
		w.jobs.options.Finished(job.Kind, "canceled")
	case final(job, err):
		w.jobs.options.Finished(job.Kind, "given_up")
	default:
		w.jobs.options.Finished(job.Kind, "failed")
	}
}

// attempt runs the worker; a panic is an error like others, and like others can be the last.
func (w worker[T]) attempt(ctx context.Context, job *river.Job[T]) (err error) {
	defer func() {
		if value := recover(); value != nil {
			w.jobs.options.Logger.ErrorContext(ctx, "worker panicked",
				"job", job.ID, "kind", job.Kind, "panic", value, "stack", string(debug.Stack()))
			err = fmt.Errorf("worker panicked: %v", value)
		}
	}()
	if deaths(job.JobRow) >= maxDeaths {
		return river.JobCancel(ErrKilled)
	}
	return w.Worker.Work(ctx, job)
}

func (w worker[T]) giveUp(ctx context.Context, job *river.Job[T], cause error) error {
	logger := w.jobs.options.Logger
	logger.ErrorContext(ctx, "job gave up", "job", job.ID, "kind", job.Kind, "attempt", job.Attempt, "error", cause)
	told, ok := w.Worker.(GivesUp[T])
	if !ok {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTime)
	defer cancel()
	if err := told.GaveUp(ctx, job, cause); err != nil {
		logger.ErrorContext(ctx, "could not tell that a job gave up, it will be tried again",
			"job", job.ID, "kind", job.Kind, "error", err)
		return river.JobSnooze(w.jobs.options.RetryBase)
	}
	return cause
}

// final reports whether River will not try again after this error.
func final(job *rivertype.JobRow, err error) bool {
	var snooze *rivertype.JobSnoozeError
	var cancel *rivertype.JobCancelError
	return !errors.As(err, &snooze) && (errors.As(err, &cancel) || job.Attempt >= job.MaxAttempts)
}

// owns reports whether this run of the job is still the one that counts. A process that was frozen may find
// that others took its job; what it came to must then not be written over theirs. When it cannot be told the
// answer is no: a run without a result is repeated (reclaim), which costs time and not truth.
func (j *Jobs) owns(ctx context.Context, job *rivertype.JobRow) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	now, err := j.client.JobGet(ctx, job.ID)
	if err != nil {
		j.options.Logger.ErrorContext(ctx, "cannot tell whether a job is still ours; it will be repeated if it is",
			"job", job.ID, "kind", job.Kind, "error", err)
		return false
	}
	return now.State == rivertype.JobStateRunning && slices.Equal(now.AttemptedBy, job.AttemptedBy) &&
		now.AttemptedAt != nil && job.AttemptedAt != nil && now.AttemptedAt.Equal(*job.AttemptedAt)
}

// nothingToReport makes River leave the job's row alone. River reads an error with these methods as the results
// of several jobs; here there are none.
type nothingToReport struct{}

func (nothingToReport) Error() string               { return "the job is no longer this process's" }
func (nothingToReport) Jobs() []*rivertype.JobRow   { return nil }
func (nothingToReport) ErrorsByID() map[int64]error { return nil }

func (j *Jobs) hold(id int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.held[id] = time.Time{}
}

func (j *Jobs) letGo(id int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.held[id] = time.Now()
}

// deaths is how many processes died while they worked on the job, as reclaim counts them.
func deaths(job *rivertype.JobRow) int {
	var metadata map[string]json.RawMessage
	var n int
	if json.Unmarshal(job.Metadata, &metadata) != nil || json.Unmarshal(metadata[deathsKey], &n) != nil {
		return 0
	}
	return n
}
