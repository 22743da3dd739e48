package recordings

import (
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// counted reads how many recordings an account has. No row counts nothing: there is no such account.
func counted(db *gorm.DB, userID int64) (models.RecordingCounts, error) {
	var rows []models.RecordingCounts
	if err := db.Where("user_id = ?", userID).Limit(1).Find(&rows).Error; err != nil {
		return models.RecordingCounts{}, unavailable("read the counts of recordings", err)
	}
	if len(rows) == 0 {
		return models.RecordingCounts{}, nil
	}
	return rows[0], nil
}

// allStatuses are the states that a recording can have.
func allStatuses() []string {
	return []string{StatusPending, StatusQueued, StatusProcessing, StatusSummarizing, StatusCompleted, StatusFailed}
}

// sum is how many recordings have one of the statuses.
func sum(counts models.RecordingCounts, statuses []string) (total int64) {
	by := map[string]int64{
		StatusPending: counts.Pending, StatusQueued: counts.Queued, StatusProcessing: counts.Processing,
		StatusSummarizing: counts.Summarizing, StatusCompleted: counts.Completed, StatusFailed: counts.Failed,
	}
	for _, status := range statuses {
		total += by[status]
	}
	return total
}
