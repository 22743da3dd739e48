package stores

import (
	"context"
	"net/netip"
	"time"

	"github.com/stenometer/stenometer/limits"
)

// Ours is how our own stack of limits is asked.
type Ours struct {
	// Limits is how many are stacked: the account's and the token's, then the organization's and the address's.
	// One is the token's alone.
	Limits int
	// Rate of every limit; the zero Rate never binds in a minute.
	Rate limits.Rate
	// OneOrganization puts all accounts into one, as most installations have it: their counters share a lock.
	OneOrganization bool
}

// neverBinds is a figure that no run reaches in a window of a minute.
func neverBinds() limits.Rate { return limits.Rate{Limit: limits.MaxFigure, Period: time.Minute} }

// maxCounters is above what a million tokens make with four limits each.
const maxCounters = 4_000_000

// InMemory decides in a store of its own, by the clock.
func (o Ours) InMemory(now func() time.Time) Decider {
	return o.Over(limits.NewMemoryOf(now, maxCounters))
}

// Over decides in a store that is there. It panics when the store fails: a figure of failures is no figure.
func (o Ours) Over(store limits.Store) Decider {
	rate := o.Rate
	if rate.Limit == 0 {
		rate = neverBinds()
	}
	plans := []*limits.Plan{limits.AccountRead, limits.TokenRead, limits.OrganizationAI, limits.AddressAI}
	if o.Limits == 1 {
		plans = []*limits.Plan{limits.TokenRead}
	}
	plans = plans[:o.Limits]
	return func() Decide {
		ctx := context.Background()
		stack, room := make([]limits.Limit, len(plans)), make([]limits.State, len(plans))
		for i, plan := range plans {
			stack[i] = limits.Limit{Plan: plan, Rate: rate, Cost: 1}
		}
		return func(i int) bool {
			o.name(stack, i)
			decision, err := store.Take(ctx, stack, room)
			if err != nil {
				panic(err)
			}
			return decision.Admitted
		}
	}
}

// name writes the keys of token number i into the stack, as the guard does.
func (o Ours) name(stack []limits.Limit, i int) {
	organization := int64(i/perAccount/perOrganization + 1)
	if o.OneOrganization {
		organization = 1
	}
	account := i/perAccount + 1
	for j := range stack {
		switch stack[j].Plan.Subject {
		case limits.Token:
			stack[j].Key = limits.Key{Org: organization, ID: int64(i + 1)}
		case limits.Account:
			stack[j].Key = limits.Key{Org: organization, ID: int64(account)}
		case limits.Organization:
			stack[j].Key = limits.Key{Org: organization, ID: organization}
		case limits.Address:
			stack[j].Key = limits.Key{Addr: netip.AddrFrom4([4]byte{10, byte(account >> 16), byte(account >> 8), byte(account)})}
		}
	}
}
