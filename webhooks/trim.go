package webhooks

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

const (
	// trimAtOnce is how many events are looked at together, trimPages how often at most in one sweep: what there is more is
	// looked at by the next.
	trimAtOnce = 1000
	trimPages  = 100
	// trimAge is how long every event stays: whoever looks why nothing was told finds it.
	trimAge = time.Hour
)

// outOfUse is the condition on an event e of the outbox that nobody needs: it was handed out, and no delivery of it is
// left, since nobody wanted it or all of them were forgotten. The last of each recording stays, as the numbers of those
// that follow go on from it.
const outOfUse = `e.sequence IS NOT NULL AND e.occurred_at < ?
	AND NOT EXISTS (SELECT 1 FROM webhook_deliveries AS d WHERE d.event_id = e.event_id)
	AND (e.recording_id IS NULL
		OR EXISTS (SELECT 1 FROM outbox_events AS l WHERE l.recording_id = e.recording_id AND l.sequence IS NOT NULL AND l.id > e.id)
		OR NOT EXISTS (SELECT 1 FROM recordings AS r WHERE r.id = e.recording_id)
			AND NOT EXISTS (SELECT 1 FROM outbox_events AS w WHERE w.recording_id = e.recording_id AND w.sequence IS NULL))`

// trim removes events that nobody needs. It reads page by page, so that on SQLite nobody waits for it to look.
func (s *Webhooks) trim(ctx context.Context) error {
	for range trimPages {
		more, err := s.trimPage(ctx)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (s *Webhooks) trimPage(ctx context.Context) (more bool, err error) {
	since := s.trimmed.Load()
	read := s.db.Read.WithContext(ctx)
	var page, over []int64
	err = read.Model(&models.OutboxEvent{}).Where("id > ? AND sequence IS NOT NULL", since).Order("id").Limit(trimAtOnce).Pluck("id", &page).Error
	if err != nil {
		return false, fmt.Errorf("look through the outbox: %w", err)
	}
	if len(page) == 0 {
		s.trimmed.Store(0)
		return false, nil
	}
	last := page[len(page)-1]
	err = read.Table("outbox_events AS e").Where("e.id > ? AND e.id <= ?", since, last).Where(outOfUse, s.moment().Add(-trimAge)).Pluck("e.id", &over).Error
	if err != nil {
		return false, fmt.Errorf("look for events that nobody needs: %w", err)
	}
	if len(over) > 0 {
		err := s.db.Transaction(ctx, func(tx *gorm.DB) error { return tx.Where("id IN ?", over).Delete(&models.OutboxEvent{}).Error })
		if err != nil {
			return false, fmt.Errorf("trim the outbox: %w", err)
		}
	}
	if more = len(page) == trimAtOnce; !more {
		last = 0 // the next sweep begins anew
	}
	s.trimmed.Store(last)
	return more, nil
}
