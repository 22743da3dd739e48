package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/resting"
)

// watchEvery is how often it is asked, while a receiver is waited for, whether its endpoint may still be told: of a disabled
// account everything is over within a second.
const watchEvery = 300 * time.Millisecond

var errTellsNothing = errors.New("the endpoint is told nothing any more")

// mayBeTold is the condition on a webhook w and its account u under which anything is sent, also of what has waited. Its
// value is managing().
const mayBeTold = "u.disabled_at IS NULL AND (w.scope = '" + ScopeUser + "' OR u.role IN ?)"

// managing are the roles of which the organization's endpoints may be.
func managing() []string {
	var roles []string
	for _, role := range auth.Roles() {
		if role.May(auth.ManageIntegrations) {
			roles = append(roles, role.Name)
		}
	}
	return roles
}

// belongsTo finds an endpoint that the job delivers to.
func belongsTo(tx *gorm.DB, id, jobID int64) *gorm.DB {
	return tx.Table("webhooks AS w").Joins("JOIN users AS u ON u.id = w.user_id").
		Where("w.id = ? AND w.job_id = ? AND "+mayBeTold, id, jobID, managing())
}

// watched is ctx for as long as the endpoint may be told. stop ends the watching, and reports whether it may not.
func (s *Webhooks) watched(ctx context.Context, r round) (working context.Context, stop func() (over bool)) {
	working, cancel := context.WithCancelCause(ctx)
	watching := resting.Again(working, watchEvery, func(ctx context.Context) time.Duration {
		// A database that does not answer ends nothing.
		if living, err := s.living(ctx, r); err == nil && !living {
			cancel(errTellsNothing)
			return 0
		}
		return watchEvery
	})
	return working, func() bool {
		watching.End()
		over := errors.Is(context.Cause(working), errTellsNothing)
		cancel(nil)
		return over
	}
}

func (s *Webhooks) living(ctx context.Context, r round) (bool, error) {
	var found int64
	err := belongsTo(s.db.Read.WithContext(ctx), r.hook.ID, r.jobID).Where("w.enabled OR w.auto_paused").Count(&found).Error
	if err != nil {
		return false, fmt.Errorf("ask whether webhook %d is still told: %w", r.hook.ID, err)
	}
	return found > 0, nil
}
