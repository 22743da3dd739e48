package auth

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/limits"
)

var errNoVisit = errors.New("the request did not pass the guard")

// admit takes the one decision over the whole stack. A storage that cannot decide lets nothing in.
func (g *Guard) admit(c echo.Context, v *visit, stack []limits.Limit) error {
	if len(stack) == 0 {
		return nil
	}
	ctx := c.Request().Context()
	decision, err := g.store.Take(ctx, stack, nil)
	if err != nil {
		return g.limitsUnavailable(ctx, err)
	}
	g.outage.ended(g.logger)
	if !decision.Admitted {
		g.metrics.LimitRefused(decision.States[decision.Binding].Plan.Name)
		return &limits.Refusal{Decision: decision}
	}
	v.states = append(v.states, decision.States...)
	return nil
}

func (g *Guard) limitsUnavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	g.metrics.LimitsUnavailable()
	g.outage.began(g.logger, err)
	return limits.Unavailable(err)
}

// standing is the template of every limit that applies to a caller, over all routes.
func (g *Guard) standing(p Principal) []limits.Limit {
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
	var entries []limits.Limit
	for _, plan := range plans {
		for _, rate := range g.figures.of(plan) {
			entries = append(entries, limits.Limit{Plan: plan, Rate: rate, Cost: 1})
		}
	}
	return entries
}

// outage logs the first failure of the storage of the limits and its end, not each request between.
type outage struct{ down atomic.Bool }

func (o *outage) began(logger *slog.Logger, err error) {
	if o.down.CompareAndSwap(false, true) {
		logger.Error("the storage of the limits does not answer; requests are refused until it does", "error", err.Error())
	}
}

func (o *outage) ended(logger *slog.Logger) {
	if o.down.Load() && o.down.CompareAndSwap(true, false) {
		logger.Info("the storage of the limits answers again")
	}
}
