package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
)

// The states of a delivery. It is open, and has no end yet, while it is pending or failed.
const (
	statusPending   = "pending"
	statusFailed    = "failed"
	statusSuccess   = "success"
	statusPermanent = "permanent_failure"
	statusDropped   = "dropped"
)

// blocking is how often the event before is tried until the next one of the recording waits no longer for it.
const blocking = 3

// open and unblocked are conditions on a delivery d: the next event of a recording waits for the one before.
const (
	open      = "d.finished_at IS NULL"
	unblocked = `NOT EXISTS (SELECT 1 FROM webhook_deliveries AS earlier WHERE earlier.webhook_id = d.webhook_id
		AND earlier.recording_id = d.recording_id AND earlier.sequence < d.sequence AND earlier.finished_at IS NULL AND earlier.attempts < ?)`
)

// startAtOnce is how many endpoints one look sets going.
const startAtOnce = 200

// DeliverArgs asks for what is due to be delivered to an endpoint.
type DeliverArgs struct {
	WebhookID int64 `json:"webhook_id"`
}

// Kind names the job.
func (DeliverArgs) Kind() string { return "deliver_webhook" }

// Dispatch hands out the events that wait and sets going the delivery to each endpoint for which something is due. It is
// called again and again, in every process that works jobs; what one has taken up the others leave.
func (s *Webhooks) Dispatch(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = s.handOut(ctx); err != nil {
			return err
		}
	}
	if !s.Enabled {
		return nil
	}
	due, err := s.due(s.db.Read.WithContext(ctx))
	if err != nil || len(due) == 0 {
		return err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if alone, err := s.alone(tx); !alone {
			return err
		}
		due, err := s.due(tx) // what stood above may have been taken up by another process
		if err != nil {
			return err
		}
		for _, endpoint := range due {
			if err := s.set(ctx, tx, endpoint); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("start deliveries: %w", err)
	}
	return nil
}

// dueEndpoint has something to be delivered now. Hangs is true of one that let us wait for something that is still open.
type dueEndpoint struct {
	ID    int64
	Hangs bool
}

// due lists the endpoints to which no living job delivers what is due.
func (s *Webhooks) due(tx *gorm.DB) ([]dueEndpoint, error) {
	now := s.moment()
	var endpoints []dueEndpoint
	err := tx.Raw(`SELECT w.id, EXISTS (SELECT 1 FROM webhook_deliveries AS d WHERE d.webhook_id = w.id AND `+open+` AND d.reason = ?) AS hangs FROM webhooks AS w JOIN users AS u ON u.id = w.user_id
		WHERE `+mayBeTold+` AND (w.busy_until IS NULL OR w.busy_until < ?) AND (
			(w.enabled AND EXISTS (SELECT 1 FROM webhook_deliveries AS d WHERE d.webhook_id = w.id AND `+open+` AND d.due_at <= ? AND `+unblocked+`))
			OR (w.auto_paused AND w.trial_at <= ? AND EXISTS (SELECT 1 FROM webhook_deliveries AS d WHERE d.webhook_id = w.id AND `+open+`)))
		ORDER BY w.id LIMIT ?`, TimedOut, managing(), now, now, blocking, now, startAtOnce).Scan(&endpoints).Error
	if err != nil {
		return nil, fmt.Errorf("look for what is due: %w", err)
	}
	return endpoints, nil
}

// set puts the job in, and marks the endpoint as taken until it should be over.
func (s *Webhooks) set(ctx context.Context, tx *gorm.DB, endpoint dueEndpoint) error {
	queue := jobs.Webhooks
	if endpoint.Hangs {
		queue = jobs.SlowWebhooks
	}
	job, err := s.Queue.Enqueue(ctx, tx, DeliverArgs{endpoint.ID}, &river.InsertOpts{Queue: queue})
	if err != nil {
		return err //nolint:wrapcheck // Enqueue says what was attempted
	}
	until := s.moment().Add(s.lease())
	return tx.Model(&models.Webhook{}).Where("id = ?", endpoint.ID).UpdateColumns(map[string]any{"job_id": job, "busy_until": until}).Error
}

// lease is how long a job is believed to deliver without a sign of life: one round of attempts and some waiting in line.
func (s *Webhooks) lease() time.Duration { return 2*s.Timeout + time.Minute }
