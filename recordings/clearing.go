package recordings

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/webhooks"
)

// portion is how many recordings one transaction changes at most: however many bear a tag, memory stays small and
// other writers, who on SQLite wait for the transaction, wait for milliseconds.
const portion = 500

// inPortions repeats the step, each time in a transaction of its own, until it says that nothing is left. What is done by
// then stays when it fails or the request ends; whoever asks again goes on from there.
func (s *Recordings) inPortions(ctx context.Context, attempt string, step func(tx *gorm.DB) (left bool, err error)) error {
	for left := true; left; {
		err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
			var err error
			left, err = step(tx)
			return err
		})
		if err != nil {
			return unavailable(attempt, err)
		}
	}
	return nil
}

// lockAll locks recordings by their ids. All who lock several do so in this order, lest they wait for each other.
func lockAll(tx *gorm.DB, ids []int64) ([]models.Recording, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []models.Recording
	err := locking(tx).Select("id", "organization_id", "user_id", "title", "folder_id", "updated_at").
		Where("id IN ?", ids).Order("id").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("lock the recordings: %w", err)
	}
	return rows, nil
}

// changedAll is changed for a portion of recordings that the transaction has locked. Columns of theirs that change
// too are written in the same breath: each update of a row costs an entry in every index.
func (s *Recordings) changedAll(tx *gorm.DB, rows []models.Recording, columns map[string]any, fields ...Field) error {
	now := s.moment()
	var together []int64
	events := make([]webhooks.Event, len(rows))
	for i := range rows {
		row := &rows[i]
		row.UpdatedAt = later(row.UpdatedAt, now)
		events[i] = updated(row, fields)
		if row.UpdatedAt.Equal(now) {
			together = append(together, row.ID)
			continue
		}
		if err := moveTo(tx, row.UpdatedAt, columns, row.ID); err != nil { // changed in this very microsecond: seldom
			return err
		}
	}
	if err := moveTo(tx, now, columns, together...); err != nil {
		return err
	}
	return webhooks.Announce(tx, events...)
}
