package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// Enqueue puts a job in, in the caller's transaction: it is worked after the commit, by any process, and never
// if there is none.
func (j *Jobs) Enqueue(ctx context.Context, tx *gorm.DB, args river.JobArgs, options *river.InsertOpts) (id int64, err error) {
	sqlTx, err := models.SQLTx(tx)
	if err != nil {
		return 0, fmt.Errorf("enqueue %s: %w", args.Kind(), err)
	}
	result, err := j.inserter.InsertTx(ctx, sqlTx, args, options)
	if err != nil {
		return 0, fmt.Errorf("enqueue %s: %w", args.Kind(), err)
	}
	return result.Job.ID, nil
}

// EnqueueOnce is Enqueue for a job that its options make unique: queued is false where there is one already.
func (j *Jobs) EnqueueOnce(ctx context.Context, tx *gorm.DB, args river.JobArgs, options *river.InsertOpts) (queued bool, err error) {
	sqlTx, err := models.SQLTx(tx)
	if err != nil {
		return false, fmt.Errorf("enqueue %s: %w", args.Kind(), err)
	}
	result, err := j.inserter.InsertTx(ctx, sqlTx, args, options)
	if err != nil {
		return false, fmt.Errorf("enqueue %s: %w", args.Kind(), err)
	}
	return !result.UniqueSkippedAsDuplicate, nil
}

// Cancel ends a job: one that waits is never worked, one at work, in whatever process, has its context canceled
// within about a second. The worker is not told that it gave up: who cancels knows. A job that is over, or
// unknown, is left as it is.
func (j *Jobs) Cancel(ctx context.Context, id int64) error {
	if _, err := j.client.JobCancel(ctx, id); err != nil && !errors.Is(err, rivertype.ErrNotFound) {
		return fmt.Errorf("cancel job %d: %w", id, err)
	}
	return nil
}

// Position is 1 for the oldest waiting job of its kind, 2 for the next one; ok is false for a job that does not
// wait.
func (j *Jobs) Position(ctx context.Context, id int64) (position int, ok bool, err error) {
	const waiting = "('available', 'pending', 'retryable', 'scheduled')"
	var found []int
	err = j.db.Read.WithContext(ctx).Raw(`
		SELECT (SELECT count(*) FROM river_job AS older
			WHERE older.kind = job.kind AND older.id <= job.id AND older.state IN `+waiting+`)
		FROM river_job AS job WHERE job.id = ? AND job.state IN `+waiting, id).Scan(&found).Error
	if err != nil {
		return 0, false, fmt.Errorf("find the position of job %d: %w", id, err)
	}
	if len(found) == 0 {
		return 0, false, nil
	}
	return found[0], true, nil
}
