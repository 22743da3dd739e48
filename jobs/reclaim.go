package jobs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stenometer/stenometer/models"
)

// deathsKey is where a job's metadata counts the processes that died while they worked on it.
const deathsKey = "stenometer_deaths"

// settleTime is how long River may take to write down what became of a job: three tries of ten seconds and the
// waits between them.
const settleTime = time.Minute

// reclaim puts jobs back that are marked as at work while nobody works on them: those of processes that have no
// row, and those of this process whose result could not be written down. They keep their place in the queue.
// A death is no failed attempt; it is counted, and after maxDeaths of them the job gives up when it is next taken
// up. A job that was to be canceled is. It is one statement, so two processes that reclaim at once put a job
// back once. (River's own rescue waits for longer than any job may take.)
func (j *Jobs) reclaim(ctx context.Context) (int64, error) {
	sql := reclaimWords[j.db.Dialect]
	const canceled = "metadata -> 'cancel_attempted_at' IS NOT NULL"
	const deaths = "cast(coalesce(metadata ->> '" + deathsKey + "', '0') AS integer) + 1"
	statement := `UPDATE river_job SET
		state = CASE WHEN ` + canceled + ` THEN ` + sql.canceled + ` ELSE ` + sql.available + ` END,
		finalized_at = CASE WHEN ` + canceled + ` THEN ` + sql.now + ` END,
		attempt = ` + sql.max + `(attempt - 1, 0),
		metadata = ` + sql.setDeaths(deaths) + `
		WHERE state = 'running' AND (
			NOT EXISTS (SELECT 1 FROM processes WHERE processes.id = ` + sql.worker + `)
			OR (` + sql.worker + ` = $1 AND attempted_at < ` + j.db.Clock(-settleTime) + ` AND id NOT IN (` + j.inHand() + `)))`
	back, err := j.exec(ctx, statement, j.options.ProcessID)
	if err != nil {
		return 0, fmt.Errorf("put back the jobs of dead processes: %w", err)
	}
	return back, nil
}

// inHand lists the jobs of this process whose result is still to come or just being written down.
func (j *Jobs) inHand() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	ids := []string{"0"}
	for id, returned := range j.held {
		if !returned.IsZero() && time.Since(returned) > settleTime {
			delete(j.held, id)
			continue
		}
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	slices.Sort(ids)
	return strings.Join(ids, ", ")
}

// reclaimWords is where the two databases differ: the worker is the last one to have attempted the job.
var reclaimWords = map[models.Dialect]words{
	models.SQLite: {
		available: "'available'", canceled: "'cancelled'", now: "datetime('now', 'subsec')", max: "max",
		worker: "json_extract(attempted_by, '$[#-1]')", path: "'$." + deathsKey + "'", number: "%s",
	},
	models.Postgres: {
		available: "'available'::river_job_state", canceled: "'cancelled'::river_job_state", now: "clock_timestamp()", max: "greatest",
		worker: "attempted_by[array_upper(attempted_by, 1)]", path: "'{" + deathsKey + "}'", number: "to_jsonb(%s)",
	},
}

type words struct{ available, canceled, now, max, worker, path, number string }

func (w words) setDeaths(deaths string) string {
	return "jsonb_set(metadata, " + w.path + ", " + fmt.Sprintf(w.number, deaths) + ")"
}
