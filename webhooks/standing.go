package webhooks

import (
	"context"
	"fmt"

	"github.com/stenometer/stenometer/models"
)

// Metrics count what is delivered. Reasons are those of the table, "" for what the receiver accepted.
type Metrics interface {
	WebhookAttempted(reason string)
	// WebhooksStand tells how many deliveries wait and how many endpoints are paused.
	WebhooksStand(waiting, paused int64)
}

func (s *Webhooks) count(outcomes []outcome) {
	for _, o := range outcomes {
		s.Metrics.WebhookAttempted(string(o.reason))
	}
}

// tell counts what stands.
func (s *Webhooks) tell(ctx context.Context) error {
	var waiting, paused int64
	read := s.db.Read.WithContext(ctx)
	if err := read.Model(&models.WebhookDelivery{}).Where("finished_at IS NULL").Count(&waiting).Error; err != nil {
		return fmt.Errorf("count the deliveries that wait: %w", err)
	}
	if err := read.Model(&models.Webhook{}).Where("auto_paused").Count(&paused).Error; err != nil {
		return fmt.Errorf("count the webhooks that are paused: %w", err)
	}
	s.Metrics.WebhooksStand(waiting, paused)
	return nil
}
