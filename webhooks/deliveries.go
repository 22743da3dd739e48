package webhooks

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// MaxDeliveries and DefaultDeliveries bound a list of deliveries, MaxReplays what one request replays.
const (
	MaxDeliveries     = 200
	DefaultDeliveries = 50
	MaxReplays        = 1000
)

// Delivery is one event on its way to an endpoint, and what came of it.
type Delivery struct {
	ID, WebhookID  int64
	EventID        string
	EventType      string
	Attempts       int
	Status         string
	Reason         Reason
	ResponseStatus *int
	ResponseBody   *string
	Duration       *time.Duration
	NextRetryAt    *time.Time
	CreatedAt      time.Time
	DeliveredAt    *time.Time
	FinishedAt     *time.Time
	ReplayedAt     *time.Time
	Sequence       int64
	Payload        string
}

func deliveryOf(row models.WebhookDelivery) Delivery {
	d := Delivery{
		ID: row.ID, WebhookID: row.WebhookID, EventID: row.EventID, EventType: row.EventType, Attempts: row.Attempts, Status: row.Status,
		ResponseStatus: row.ResponseStatus, ResponseBody: row.ResponseBody, NextRetryAt: row.DueAt, CreatedAt: row.CreatedAt,
		DeliveredAt: row.DeliveredAt, FinishedAt: row.FinishedAt, ReplayedAt: row.ReplayedAt, Sequence: row.Sequence, Payload: row.Payload,
	}
	if row.Reason != nil {
		d.Reason = Reason(*row.Reason)
	}
	if row.DurationMS != nil {
		took := time.Duration(*row.DurationMS) * time.Millisecond
		d.Duration = &took
	}
	return d
}

// told finds an endpoint whose deliveries the caller may see. Those of one for the organization tell of others' recordings:
// who made it and may not manage those any more sees the endpoint alone.
func told(tx *gorm.DB, p auth.Principal, id int64) (models.Webhook, error) {
	hook, err := find(tx, p, id)
	if err == nil && hook.Scope == ScopeOrganization {
		err = p.Permit(auth.ManageIntegrations)
	}
	return hook, err
}

// Deliveries lists an endpoint's, newest first, those before an id where one is given.
func (s *Webhooks) Deliveries(ctx context.Context, p auth.Principal, id int64, limit int, before int64) ([]Delivery, error) {
	tx := s.db.Read.WithContext(ctx)
	hook, err := told(tx, p, id)
	if err != nil {
		return nil, failed("list deliveries", err)
	}
	query := tx.Where("webhook_id = ?", hook.ID).Order("id DESC").Limit(limit)
	if before > 0 {
		query = query.Where("id < ?", before)
	}
	var rows []models.WebhookDelivery
	if err := query.Omit("payload").Find(&rows).Error; err != nil {
		return nil, failed("list deliveries", err)
	}
	deliveries := make([]Delivery, 0, len(rows))
	for _, row := range rows {
		deliveries = append(deliveries, deliveryOf(row))
	}
	return deliveries, nil
}

// Delivery gives one with its body.
func (s *Webhooks) Delivery(ctx context.Context, p auth.Principal, id, delivery int64) (Delivery, error) {
	tx := s.db.Read.WithContext(ctx)
	hook, err := told(tx, p, id)
	if err != nil {
		return Delivery{}, failed("find a delivery", err)
	}
	row, err := deliveryIn(tx, hook.ID, delivery)
	if err != nil {
		return Delivery{}, err
	}
	return deliveryOf(row), nil
}

func deliveryIn(tx *gorm.DB, hook, id int64) (models.WebhookDelivery, error) {
	var rows []models.WebhookDelivery
	if err := tx.Where("webhook_id = ? AND id = ?", hook, id).Limit(1).Find(&rows).Error; err != nil {
		return models.WebhookDelivery{}, failed("find a delivery", err)
	}
	if len(rows) == 0 {
		return models.WebhookDelivery{}, problems.New(problems.NotFound, "There is no such delivery.")
	}
	return rows[0], nil
}

// reachable finds an endpoint that can be sent something now or, when it is paused, later.
func (s *Webhooks) reachable(ctx context.Context, p auth.Principal, id int64, paused bool) (models.Webhook, error) {
	hook, err := told(s.db.Read.WithContext(ctx), p, id)
	if err != nil {
		return hook, failed("find a webhook", err)
	}
	if !hook.Enabled && !(paused && hook.AutoPaused) {
		return hook, problems.New(problems.Conflict, "The webhook is disabled: enable it first.")
	}
	return hook, s.judge(ctx, hook)
}

// Test queues an event for this endpoint alone, whatever it subscribes to.
func (s *Webhooks) Test(ctx context.Context, p auth.Principal, id int64) (Delivery, error) {
	hook, err := s.reachable(ctx, p, id, false)
	if err != nil {
		return Delivery{}, err
	}
	now := s.moment()
	data, err := encode(Event{Type: Test, Data: map[string]any{"reason": "A test of the webhook was asked for.", "webhook_id": hook.ID}})
	if err != nil {
		return Delivery{}, failed("test a webhook", err)
	}
	event := models.OutboxEvent{EventID: newID(), Type: string(Test), Data: string(data), OccurredAt: now}
	payload, err := payloadFor(hook, event, 0, nil)
	if err != nil {
		return Delivery{}, failed("test a webhook", err)
	}
	return s.queue(ctx, models.WebhookDelivery{WebhookID: hook.ID, EventID: event.EventID, EventType: event.Type, Payload: payload}, nil)
}

// Replay queues a delivery again, as an event of its own.
func (s *Webhooks) Replay(ctx context.Context, p auth.Principal, id, delivery int64) (Delivery, error) {
	hook, err := s.reachable(ctx, p, id, true)
	if err != nil {
		return Delivery{}, err
	}
	old, err := deliveryIn(s.db.Read.WithContext(ctx), hook.ID, delivery)
	if err != nil {
		return Delivery{}, err
	}
	again, err := s.again(hook, old)
	if err != nil {
		return Delivery{}, err
	}
	again.RecordingID = nil // an old event does not hold up new ones
	return s.queue(ctx, again, &old)
}

func (s *Webhooks) again(hook models.Webhook, old models.WebhookDelivery) (models.WebhookDelivery, error) {
	again := models.WebhookDelivery{
		WebhookID: hook.ID, EventID: newID(), EventType: old.EventType, RecordingID: old.RecordingID, OwnerUserID: old.OwnerUserID,
		Sequence: old.Sequence, Status: statusPending,
	}
	now := s.moment()
	again.DueAt, again.CreatedAt = &now, now
	payload, err := replayed(hook, old, again.EventID, now)
	if err != nil {
		return again, failed("replay a delivery", err)
	}
	again.Payload = payload
	return again, nil
}

// queue puts a delivery in that somebody asked for, if there is room; old is the one that it repeats.
func (s *Webhooks) queue(ctx context.Context, d models.WebhookDelivery, old *models.WebhookDelivery) (Delivery, error) {
	now := s.moment()
	d.Status, d.DueAt, d.CreatedAt = statusPending, &now, now
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if _, err := s.space(tx, d.WebhookID, 1); err != nil {
			return err
		}
		if err := tx.Create(&d).Error; err != nil {
			return err
		}
		if old == nil {
			return nil
		}
		return tx.Model(old).UpdateColumn("replayed_at", now).Error
	})
	if err != nil {
		return Delivery{}, failed("queue a delivery", err)
	}
	return deliveryOf(d), nil
}

// space is how many more may wait for the endpoint, at least as many as are needed.
func (s *Webhooks) space(tx *gorm.DB, id int64, needed int) (int, error) {
	var waiting int64
	if err := tx.Model(&models.WebhookDelivery{}).Where("webhook_id = ? AND finished_at IS NULL", id).Count(&waiting).Error; err != nil {
		return 0, err
	}
	left := s.PendingMax - int(waiting)
	if left < needed {
		return 0, problems.New(problems.Conflict, "%d deliveries wait for this webhook, and no more may.", waiting)
	}
	return left, nil
}

// ReplayFailed queues again what was given up or dropped and was not replayed since, oldest first, as many as there is room
// for; left is how many there are still.
func (s *Webhooks) ReplayFailed(ctx context.Context, p auth.Principal, id int64) (queued, left int, err error) {
	hook, err := s.reachable(ctx, p, id, true)
	if err != nil {
		return 0, 0, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if _, err := find(locking(tx), p, id); err != nil { // of two at once the second finds nothing left
			return err
		}
		room, err := s.space(tx, id, 1)
		if err != nil {
			return err
		}
		lost := func() *gorm.DB {
			return tx.Model(&models.WebhookDelivery{}).
				Where("webhook_id = ? AND status IN ? AND replayed_at IS NULL", id, []string{statusPermanent, statusDropped})
		}
		var all int64
		if err := lost().Count(&all).Error; err != nil {
			return err
		}
		var rows []models.WebhookDelivery
		if err := lost().Order("id").Limit(min(room, MaxReplays)).Find(&rows).Error; err != nil || len(rows) == 0 {
			return err
		}
		queued, left = len(rows), int(all)-len(rows)
		return s.replayAll(tx, hook, rows)
	})
	if err != nil {
		return 0, 0, failed("replay deliveries", err)
	}
	return queued, left, nil
}

func (s *Webhooks) replayAll(tx *gorm.DB, hook models.Webhook, rows []models.WebhookDelivery) error {
	deliveries := make([]models.WebhookDelivery, len(rows))
	ids := make([]int64, len(rows))
	for i, old := range rows {
		again, err := s.again(hook, old)
		if err != nil {
			return err
		}
		again.Waited = true // all at once would be too much for a receiver that has just come back
		deliveries[i], ids[i] = again, old.ID
	}
	if err := tx.CreateInBatches(deliveries, atOnce).Error; err != nil {
		return err
	}
	return tx.Model(&models.WebhookDelivery{}).Where("id IN ?", ids).UpdateColumn("replayed_at", s.moment()).Error
}

// WithoutContent is the delivery's body for who may not read titles; empty if it cannot be told apart.
func (d Delivery) WithoutContent() string {
	payload, err := bare(d.Payload)
	if err != nil {
		return ""
	}
	return payload
}
