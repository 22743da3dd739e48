package auth

import (
	"context"
	"errors"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
)

var errNoVisit = errors.New("the request did not pass the guard")

// admit takes the one decision over the whole stack. A request weighs the same in every limit, but in none more than
// its figure: whoever has the whole of it left may always use it up. A storage that cannot decide lets nothing in.
func (g *Guard) admit(c echo.Context, v *visit, store limits.Store, plans []*limits.Plan, weight int64) error {
	stack := g.stackOf(v.stackRoom[:0], plans, v.principal, v.counted)
	if len(stack) == 0 {
		return nil
	}
	if weight > 1 {
		for i := range stack {
			stack[i].Cost = max(1, min(weight, stack[i].Rate.Limit))
		}
	}
	ctx := c.Request().Context()
	decision, err := store.Take(ctx, stack, v.room())
	if err != nil {
		return g.undecided(ctx, err)
	}
	if !decision.Admitted {
		return &limits.Refusal{Decision: decision}
	}
	v.tell(decision.States)
	return nil
}

// undecided counts a decision that the storage could not take. Any other error is a fault of the program, which lets
// nothing in either and is logged as one.
func (g *Guard) undecided(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if problems.Is(err, problems.LimitsUnavailable) {
		g.metrics.LimitsUnavailable()
	}
	return err
}

// standing is every limit that applies to a caller, over all routes.
func (g *Guard) standing(p Principal) []*limits.Plan {
	var plans []*limits.Plan
	if p.via == ViaSession {
		plans = append(plans, limits.SessionAddress)
	} else {
		plans = append(plans,
			limits.AccountRead, limits.AccountWrite, limits.AccountProcess,
			limits.TokenRead, limits.TokenWrite, limits.TokenProcess)
	}
	plans = append(plans, limits.OrganizationAI, limits.UserAI, limits.AddressAI, limits.Status)
	if p.via == ViaSession || (g.tokensManageByToken && p.scopes.Full()) {
		plans = append(plans, limits.TokenCreate, limits.TokenChange)
	}
	return plans
}
