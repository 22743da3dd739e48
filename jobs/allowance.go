package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/stenometer/stenometer/limits"
)

// hopeless is the wait told for work that its limit can never admit: someone may raise the limit.
const hopeless = time.Minute

// Allowance charges paid work that no request was charged for, such as the transcription of an upload, to the AI
// limits of its account and its organization.
type Allowance struct {
	store   limits.Store
	inForce *limits.InForce
}

// NewAllowance counts in the store at the figures in force.
func NewAllowance(store limits.Store, inForce *limits.InForce) *Allowance {
	return &Allowance{store, inForce}
}

// ChargeWork takes one unit of each limit, or of none: a wait above zero says when to ask again.
func (a *Allowance) ChargeWork(ctx context.Context, userID, organizationID int64) (wait time.Duration, err error) {
	stack := a.inForce.Stack(nil, limits.OrganizationAI, limits.Key{Org: organizationID, ID: organizationID})
	stack = a.inForce.Stack(stack, limits.UserAI, limits.Key{Org: organizationID, ID: userID})
	if len(stack) == 0 {
		return 0, nil
	}
	decision, err := a.store.Take(ctx, stack, nil)
	if err != nil {
		return 0, fmt.Errorf("charge a job to the AI limits of account %d: %w", userID, err)
	}
	if decision.Admitted {
		return 0, nil
	}
	wait = decision.States[decision.Binding].Wait
	if wait <= 0 {
		return hopeless, nil
	}
	return wait, nil
}
