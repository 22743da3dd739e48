package jobs

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// keptGivenUp is how long a job that gave up can be found, and tried again.
const keptGivenUp = 7 * 24 * time.Hour

// GivenUp is a job that will not be tried again by itself.
type GivenUp struct {
	ID       int64
	Kind     string
	Attempts int
	At       time.Time
	// RecordingID, UserID and OrganizationID are whom it was for, 0 where it does not say or they are gone.
	RecordingID, UserID, OrganizationID int64
	// Code is what its recording failed with; empty where it has no recording, or that goes on.
	Code string
	// Args is what was asked, a JSON object.
	Args string
}

// gaveUp tells jobs that gave up from those that somebody canceled, such as by deleting their recording.
const gaveUp = "(job.state = 'discarded' OR job.state = 'cancelled' AND job.metadata -> 'cancel_attempted_at' IS NULL)"

// owned joins whom a job was for, by what its arguments name.
const owned = ` FROM river_job AS job
	LEFT JOIN recordings ON recordings.id = CAST(job.args ->> 'recording_id' AS bigint)
	LEFT JOIN users ON users.id = coalesce(recordings.user_id, CAST(job.args ->> 'user_id' AS bigint))
	WHERE ` + gaveUp

// columns are those of GivenUp. The arguments come as text, which both databases have a cast for.
const columns = `SELECT job.id, job.kind, job.attempt AS attempts, job.finalized_at AS at,
	coalesce(recordings.id, 0) AS recording_id, coalesce(users.id, 0) AS user_id, coalesce(users.organization_id, 0) AS organization_id,
	coalesce(recordings.error_code, '') AS code, %s AS args`

// ListGivenUp lists jobs that gave up, the newest first, and tells how many there are: those of an organization, or all
// where it is 0.
func (j *Jobs) ListGivenUp(ctx context.Context, organizationID int64, limit, offset int) (list []GivenUp, total int64, err error) {
	db := j.db.Read.WithContext(ctx)
	whose, arguments := within(organizationID)
	if err := db.Raw("SELECT count(*)"+owned+whose, arguments...).Scan(&total).Error; err != nil {
		return nil, 0, fmt.Errorf("count the jobs that gave up: %w", err)
	}
	page := j.selecting() + owned + whose + " ORDER BY job.id DESC LIMIT ? OFFSET ?"
	if err := db.Raw(page, append(arguments, limit, offset)...).Scan(&list).Error; err != nil {
		return nil, 0, fmt.Errorf("list the jobs that gave up: %w", err)
	}
	return list, total, nil
}

// FindGivenUp finds one of those that ListGivenUp lists.
func (j *Jobs) FindGivenUp(tx *gorm.DB, organizationID, id int64) (job GivenUp, found bool, err error) {
	whose, arguments := within(organizationID)
	var list []GivenUp
	err = tx.Raw(j.selecting()+owned+whose+" AND job.id = ?", append(arguments, id)...).Scan(&list).Error
	if err != nil || len(list) == 0 {
		if err != nil {
			err = fmt.Errorf("find a job that gave up: %w", err)
		}
		return GivenUp{}, false, err
	}
	return list[0], true, nil
}

// TryAgain puts a job that gave up in the queue for one more attempt, as if no process had ever died of it; false where it
// is not one, such as where somebody was faster.
func (j *Jobs) TryAgain(tx *gorm.DB, id int64) (bool, error) {
	words := retryWords[j.db.Dialect]
	put := tx.Exec(`UPDATE river_job AS job SET state = 'available', finalized_at = NULL, scheduled_at = `+words.now+`,
		max_attempts = `+words.max+`(max_attempts, attempt + 1), metadata = `+words.forget+` WHERE job.id = ? AND `+gaveUp, id)
	if put.Error != nil {
		return false, fmt.Errorf("try a job again that gave up: %w", put.Error)
	}
	return put.RowsAffected == 1, nil
}

// Discard forgets a job that gave up; false where it is not one.
func (j *Jobs) Discard(tx *gorm.DB, id int64) (bool, error) {
	gone := tx.Exec("DELETE FROM river_job AS job WHERE job.id = ? AND "+gaveUp, id)
	if gone.Error != nil {
		return false, fmt.Errorf("discard a job that gave up: %w", gone.Error)
	}
	return gone.RowsAffected == 1, nil
}

func within(organizationID int64) (whose string, arguments []any) {
	if organizationID == 0 {
		return "", nil
	}
	return " AND users.organization_id = ?", []any{organizationID}
}

func (j *Jobs) selecting() string { return fmt.Sprintf(columns, retryWords[j.db.Dialect].args) }

// retryWords is where the two databases differ.
var retryWords = map[models.Dialect]struct{ now, max, forget, args string }{
	models.SQLite: {
		now: "datetime('now', 'subsec')", max: "max", forget: "jsonb_remove(metadata, '$." + deathsKey + "')", args: "json(job.args)",
	},
	models.Postgres: {
		now: "clock_timestamp()", max: "greatest", forget: "metadata - '" + deathsKey + "'", args: "job.args::text",
	},
}
