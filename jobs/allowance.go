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
	store                 limits.Store
	account, organization []limits.Rate
}

// NewAllowance counts in the store at the figures in force; none, or a figure of 0, is no limit.
func NewAllowance(store limits.Store, account, organization []limits.Rate) *Allowance {
	return &Allowance{store, account, organization}
}

// ChargeWork takes one unit of each limit, or of none: a wait above zero says when to ask again.
func (a *Allowance) ChargeWork(ctx context.Context, userID, organizationID int64) (wait time.Duration, err error) {
	var stack []limits.Limit
	add := func(plan *limits.Plan, rates []limits.Rate, id int64) {
		for _, rate := range rates {
			if rate.Limit > 0 {
				stack = append(stack, limits.Limit{Plan: plan, Key: limits.Key{Org: organizationID, ID: id}, Rate: rate, Cost: 1})
			}
		}
	}
	add(limits.OrganizationAI, a.organization, organizationID)
	add(limits.UserAI, a.account, userID)
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
