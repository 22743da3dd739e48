package webhooks

import (
	"time"

	"gorm.io/gorm"
)

// Thresholds announces that a budget was spent to a threshold.
type Thresholds struct{}

// BudgetThreshold writes the event in the transaction in which the threshold was reached. The account is the one whose
// work reached it.
func (Thresholds) BudgetThreshold(tx *gorm.DB, organizationID, userID int64, data map[string]any, at time.Time) error {
	return Announce(tx, Event{Type: BudgetThreshold, OrganizationID: organizationID, UserID: userID, Data: data, OccurredAt: at})
}
