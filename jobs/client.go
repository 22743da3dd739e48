package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/stenometer/stenometer/models"
)

// The queues. A job goes to Long unless its InsertOpts name Chores, which is for short jobs that must not wait
// behind transcriptions, or Webhooks, whose jobs wait for receivers and for nothing of this machine. SlowWebhooks is for
// receivers that have let us wait: as many of them as there are workers would keep all others waiting. Imports is for jobs
// that fetch files, for the same reason: whoever sends one slowly must not keep transcriptions waiting.
const (
	Long         = river.QueueDefault
	Chores       = "chores"
	Webhooks     = "webhooks"
	SlowWebhooks = "webhooks_slow"
	Imports      = "imports"
)

const (
	choreWorkers = 4
	// webhookWorkers are so many that receivers which hang for the first time leave some to the others.
	webhookWorkers     = 128
	slowWebhookWorkers = 32
	importWorkers      = 32
)

// MaxTime bounds a job whatever its worker's Timeout says; workers that say nothing get DefaultTime. River
// believes a job without end to be lost only after rescueAfter, which only matters where our own heartbeats
// have failed to notice.
const (
	MaxTime     = 24 * time.Hour
	DefaultTime = 10 * time.Minute
	rescueAfter = MaxTime + time.Hour
)

// client is what River's clients have in common over their drivers.
type client interface {
	Start(ctx context.Context) error
	StopAndCancel(ctx context.Context) error
	JobCancel(ctx context.Context, id int64) (*rivertype.JobRow, error)
	JobGet(ctx context.Context, id int64) (*rivertype.JobRow, error)
}

// connect makes the clients. On PostgreSQL River works by pgx, which can wait for notifications, and inserts by
// database/sql, in gorm's transactions; on SQLite one client does both.
func (j *Jobs) connect() error {
	if j.db.Dialect == models.SQLite {
		both, err := river.NewClient(riversqlite.New(j.db.JobsSQL()), j.config(true))
		j.client, j.inserter = both, both
		return err
	}
	working, err := river.NewClient(riverpgxv5.New(j.db.Pool()), j.config(true))
	if err != nil {
		return err
	}
	inserting, err := river.NewClient(riverdatabasesql.New(j.db.JobsSQL()), j.config(false))
	j.client, j.inserter = working, inserting
	return err
}

func (j *Jobs) config(working bool) *river.Config {
	config := &river.Config{
		ID:      j.options.ProcessID,
		Logger:  slog.New(fromWarn{j.options.Logger.Handler()}),
		Workers: j.workers,
		// While two versions run side by side, jobs that only the newer knows are left to it.
		FetchOnlyKnownKinds:         true,
		FetchCooldown:               20 * time.Millisecond, // River's 100 ms would be most of what a short job takes
		JobTimeout:                  DefaultTime,
		RescueStuckJobsAfter:        rescueAfter,
		DiscardedJobRetentionPeriod: keptGivenUp,
		CancelledJobRetentionPeriod: keptGivenUp,
		MaxAttempts:                 j.options.MaxAttempts,
		RetryPolicy:                 retryPolicy{base: j.options.RetryBase},
		ErrorHandler:                errorLog{j.options.Logger},
	}
	if working && j.options.Role != "web" {
		config.Queues = map[string]river.QueueConfig{
			Long: {MaxWorkers: j.options.MaxWorkers}, Chores: {MaxWorkers: choreWorkers}, Webhooks: {MaxWorkers: webhookWorkers},
			SlowWebhooks: {MaxWorkers: slowWebhookWorkers}, Imports: {MaxWorkers: importWorkers},
		}
	}
	return config
}

// Migrate brings River's tables up to its version; it belongs inside models.DB.Migrate, which lets one process
// at a time do it.
func Migrate(ctx context.Context, db *models.DB) error {
	if db.Dialect == models.SQLite {
		return migrate(ctx, riversqlite.New(db.JobsSQL()))
	}
	return migrate(ctx, riverpgxv5.New(db.Pool()))
}

func migrate[TTx any](ctx context.Context, driver riverdriver.Driver[TTx]) error {
	// River tells each of its steps at level info, which is no news to an operator.
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		return fmt.Errorf("migrate the job queue: %w", err)
	}
	return nil
}

var (
	_ client = (*river.Client[pgx.Tx])(nil)
	_ client = (*river.Client[*sql.Tx])(nil)
)

// retryPolicy waits base after the first failure and four times as long after each further one, at most a day,
// give or take a tenth so that jobs which failed together do not come back together.
type retryPolicy struct{ base time.Duration }

func (p retryPolicy) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().Add(p.wait(len(job.Errors)+1, 0.9+0.2*rand.Float64())) //nolint:gosec // spreads retries; nobody gains by guessing
}

func (p retryPolicy) wait(failures int, jitter float64) time.Duration {
	wait := float64(p.base) * math.Pow(4, float64(failures-1))
	return time.Duration(min(wait, float64(24*time.Hour)) * jitter)
}
