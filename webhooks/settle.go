package webhooks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// settle writes down what came of a round, and what follows of it for the endpoint. It is over when nothing else is due:
// the endpoint is nobody's then, in the same transaction, as most are told of one event at a time.
func (s *Webhooks) settle(ctx context.Context, r round, outcomes []outcome) (over bool, err error) {
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var hooks []models.Webhook
		if err := locking(tx).Where("id = ?", r.hook.ID).Limit(1).Find(&hooks).Error; err != nil {
			return err
		}
		if over = len(hooks) == 0 || hooks[0].JobID != r.jobID; len(hooks) == 0 {
			return nil // deleted meanwhile, its deliveries with it
		}
		hook := hooks[0]
		for _, o := range outcomes {
			if err := s.settleOne(tx, &hook, o, r.trial); err != nil {
				return err
			}
		}
		if !over {
			if over, err = s.nothingIsDue(tx, hook); err != nil {
				return err
			}
			until := s.moment().Add(s.lease())
			if hook.BusyUntil = &until; over {
				hook.BusyUntil = nil
			}
		}
		return tx.Model(&hook).Select("enabled", "auto_paused", "consecutive_failures", "trial_at", "last_success_at", "last_delivery_at", "busy_until", "updated_at").
			UpdateColumns(&hook).Error
	})
	if err != nil {
		return false, fmt.Errorf("write down what came of deliveries to webhook %d: %w", r.hook.ID, err)
	}
	return over, nil
}

func (s *Webhooks) nothingIsDue(tx *gorm.DB, hook models.Webhook) (bool, error) {
	if !hook.Enabled {
		return true, nil // a trial is one delivery
	}
	var due []int64
	err := tx.Model(&models.WebhookDelivery{}).Where("webhook_id = ? AND finished_at IS NULL AND due_at <= ?", hook.ID, s.moment()).Limit(1).Pluck("id", &due).Error
	return len(due) == 0, err
}

func (s *Webhooks) settleOne(tx *gorm.DB, hook *models.Webhook, o outcome, trial bool) error {
	now := s.moment()
	hook.LastDeliveryAt, hook.UpdatedAt = &now, now
	attempts := o.delivery.Attempts + 1
	columns := map[string]any{"attempts": attempts, "duration_ms": o.took.Milliseconds(), "response_status": nil, "response_body": nil, "reason": nil}
	if o.status != 0 {
		columns["response_status"], columns["response_body"] = o.status, o.preview
	}
	if !hook.IncludeContent {
		columns["payload"] = o.delivery.Payload // it may have been written with text that was not sent
	}
	if o.reason != noReason {
		columns["reason"] = string(o.reason)
	}
	var then func() error
	switch {
	case o.reason == noReason:
		columns["status"], columns["delivered_at"], columns["finished_at"], columns["due_at"] = statusSuccess, now, now, nil
		then = func() error { return s.succeeded(tx, hook, now) }
	case o.reason == Gone:
		columns["status"], columns["finished_at"], columns["due_at"] = statusPermanent, now, nil
		then = func() error { return disable(tx, hook, now) }
	case trial:
		// Tried for all that wait: its own attempts are not what ends it, and the next trial may be by another.
		columns["status"], columns["due_at"] = statusFailed, now
		then = func() error { s.pauseUntilTrial(hook, now); return nil }
	case hook.AutoPaused:
		// Sent together with the one that paused it: it waits with those that come after.
		columns["status"], columns["due_at"] = statusFailed, now
	case o.reason.retried() && attempts < s.Attempts:
		columns["status"], columns["due_at"] = statusFailed, now.Add(s.wait(attempts, o.wait))
	default:
		columns["status"], columns["finished_at"], columns["due_at"] = statusPermanent, now, nil
		then = func() error { return s.gaveUp(tx, hook, now) }
	}
	// Only what is open: it may have been dropped while it was sent.
	err := tx.Model(&models.WebhookDelivery{}).Where("id = ? AND finished_at IS NULL", o.delivery.ID).UpdateColumns(columns).Error
	if err != nil || then == nil {
		return err
	}
	return then()
}

// wait is how long after an attempt the next one follows: as the schedule says, a tenth more or less so that what failed
// together does not come back together, and not before the receiver said.
func (s *Webhooks) wait(attempts int, asked time.Duration) time.Duration {
	scheduled := s.Schedule[min(attempts, len(s.Schedule)-1)]
	jittered := time.Duration(float64(scheduled) * (0.9 + 0.2*rand.Float64())) //nolint:gosec // spreads retries; nobody gains by guessing
	return max(jittered, asked)
}

// succeeded ends a run of failures, and the pause.
func (s *Webhooks) succeeded(tx *gorm.DB, hook *models.Webhook, now time.Time) error {
	hook.LastSuccessAt, hook.ConsecutiveFailures = &now, 0
	if !hook.AutoPaused {
		return nil
	}
	return resume(tx, hook, now)
}

// resume lets what waited flow, at a bounded rate.
func resume(tx *gorm.DB, hook *models.Webhook, now time.Time) error {
	hook.Enabled, hook.AutoPaused, hook.ConsecutiveFailures, hook.TrialAt = true, false, 0, nil
	return tx.Model(&models.WebhookDelivery{}).Where("webhook_id = ? AND finished_at IS NULL", hook.ID).
		UpdateColumns(map[string]any{"waited": true, "due_at": now}).Error
}

// gaveUp counts a delivery that ended without success, and pauses the endpoint when there are too many in a row. Those of
// the run wait on then like all that come after them: a receiver that was down for a day misses nothing, and gets what
// belongs to one recording in order.
func (s *Webhooks) gaveUp(tx *gorm.DB, hook *models.Webhook, now time.Time) error {
	hook.ConsecutiveFailures++
	if hook.ConsecutiveFailures < s.PauseAfter || !hook.Enabled {
		return nil
	}
	hook.Enabled, hook.AutoPaused = false, true
	s.pauseUntilTrial(hook, now)
	run := tx.Model(&models.WebhookDelivery{}).Select("id").Where("webhook_id = ? AND status = ?", hook.ID, statusPermanent)
	if hook.LastSuccessAt != nil {
		run = run.Where("finished_at > ?", *hook.LastSuccessAt)
	}
	run = run.Order("finished_at DESC, id DESC").Limit(hook.ConsecutiveFailures)
	return tx.Model(&models.WebhookDelivery{}).Where("id IN (?)", run).
		UpdateColumns(map[string]any{"status": statusFailed, "finished_at": nil, "due_at": now}).Error
}

func (s *Webhooks) pauseUntilTrial(hook *models.Webhook, now time.Time) {
	hook.TrialAt = nil
	if s.Trial > 0 {
		next := now.Add(s.Trial)
		hook.TrialAt = &next
	}
}

// disable switches an endpoint off; what waits for it is dropped, and can be replayed.
func disable(tx *gorm.DB, hook *models.Webhook, now time.Time) error {
	hook.Enabled, hook.AutoPaused, hook.TrialAt = false, false, nil
	return drop(tx.Where("webhook_id = ? AND finished_at IS NULL", hook.ID), WasDisabled, now).Error
}
