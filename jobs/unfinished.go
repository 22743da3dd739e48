package jobs

import (
	"context"
	"fmt"

	"gorm.io/gorm"
)

// Unfinished reports, in the caller's transaction, whether a job is there and will be worked or is at work.
func (j *Jobs) Unfinished(ctx context.Context, tx *gorm.DB, id int64) (bool, error) {
	var count int64
	err := tx.WithContext(ctx).Table("river_job").
		Where("id = ? AND state NOT IN ('completed', 'cancelled', 'discarded')", id).Count(&count).Error
	if err != nil {
		return false, fmt.Errorf("look for job %d: %w", id, err)
	}
	return count > 0, nil
}
