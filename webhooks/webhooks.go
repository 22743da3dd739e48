package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/resting"
	"github.com/stenometer/stenometer/sealed"
)

// Options say how events are delivered. All are required but Trial and Grace.
type Options struct {
	Keys      *sealed.Keys
	Queue     *jobs.Jobs
	Strangers *outbound.Strangers
	// Enabled is false where the operator has switched webhooks off: events are not kept for them then.
	Enabled    bool
	MaxPerUser int
	// InternalSharing lets endpoints that ask for it be told of recordings that others share with their owners.
	InternalSharing bool
	// Timeout bounds one attempt, its answer included.
	Timeout time.Duration
	// Schedule is the wait before each attempt, the last for all further ones; Attempts the most of them.
	Schedule []time.Duration
	Attempts int
	// PauseAfter is how many deliveries given up in a row pause an endpoint; Trial how often one is tried then, 0 for never.
	PauseAfter int
	Trial      time.Duration
	// Grace is how long the old secret signs beside the new one.
	Grace time.Duration
	// PendingAge and PendingMax bound what waits for one endpoint, LogLife what is remembered of what is over.
	PendingAge time.Duration
	PendingMax int
	LogLife    time.Duration
	// DrainPerSecond bounds how fast that is sent which waited for a paused endpoint.
	DrainPerSecond int
	// DispatchEvery is how often it is looked for events and for deliveries that are due, SweepEvery for what is too old.
	DispatchEvery, SweepEvery time.Duration
	Now                       func() time.Time
	Metrics                   Metrics
	Logger                    *slog.Logger
}

// Webhooks are the endpoints of all accounts.
type Webhooks struct {
	Options

	db     *models.DB
	client *http.Client

	// trimmed is the event up to which the outbox was looked through.
	trimmed atomic.Int64

	cancel   context.CancelFunc
	dispatch *resting.Recurrent
	sweeping *resting.Recurrent
}

// New makes Webhooks that deliver nothing until Start.
func New(db *models.DB, o Options) *Webhooks {
	return &Webhooks{Options: o, db: db, client: o.Strangers.Client(o.Timeout)}
}

// Start begins to hand events to endpoints, and to forget what is too old. It is for processes that work jobs.
func (s *Webhooks) Start(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.dispatch = resting.Again(ctx, s.DispatchEvery, func(ctx context.Context) time.Duration {
		if err := s.Dispatch(ctx); err != nil && ctx.Err() == nil {
			s.Logger.WarnContext(ctx, "events could not be handed to webhooks, it is tried again", "error", err)
		}
		return s.DispatchEvery
	})
	s.sweeping = resting.Again(ctx, s.SweepEvery, func(ctx context.Context) time.Duration {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.Logger.WarnContext(ctx, "old deliveries could not be removed, it is tried again", "error", err)
		}
		return s.SweepEvery
	})
}

// Stop ends what Start began and waits for it.
func (s *Webhooks) Stop() {
	if s.cancel == nil {
		return
	}
	s.cancel()
	s.dispatch.End()
	s.sweeping.End()
}

// moment is now as it is stored.
func (s *Webhooks) moment() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

func locking(tx *gorm.DB) *gorm.DB {
	return tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
}

// notFound is the answer about another's endpoint as well as about none.
func notFound() error { return problems.New(problems.NotFound, "There is no such webhook.") }

// failed says what was attempted. A database that may answer later is the caller's to try again.
func failed(attempt string, err error) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return notFound()
	}
	return models.Unavailable(attempt, err) //nolint:wrapcheck // it says what was attempted
}
