package limits

import "time"

// Figures are the configured rates of each plan; a plan may have several ("1000 per hour;5000 per day"). A plan whose
// rates are none or 0 is switched off.
type Figures map[*Plan][]Rate

// Overrides tells what an administrator gave one token, account or organization in place of the configured rates.
type Overrides interface {
	// Rates are those of a plan for the subject of this id. Found and none switch the plan off for it.
	Rates(plan *Plan, id int64) (rates []Rate, found bool)
}

// InForce is which rates hold for whom: the configured ones, or a subject's own.
type InForce struct {
	figures Figures
	own     Overrides
}

// NewInForce makes an InForce; own may be nil. It panics when a plan has no entry: a limit that was forgotten must not
// look like one that was switched off.
func NewInForce(figures Figures, own Overrides) *InForce {
	for _, plan := range Plans() {
		if _, ok := figures[plan]; !ok {
			panic("limits: no figure for the limit " + plan.Name)
		}
	}
	return &InForce{figures: figures, own: own}
}

// Knows reports whether there is an entry for the plan, be it that it is switched off.
func (f *InForce) Knows(plan *Plan) bool {
	_, known := f.figures[plan]
	return known
}

// Configured is a plan's rates for those without their own; none when it is switched off.
func (f *InForce) Configured(plan *Plan) []Rate { return switchedOn(f.figures[plan]) }

// Of is a plan's rates for the subject of this id, none when it is switched off. Addresses have no rates of their own.
func (f *InForce) Of(plan *Plan, id int64) []Rate {
	if f.own != nil && plan.Subject != Address {
		if rates, found := f.own.Rates(plan, id); found {
			return switchedOn(rates)
		}
	}
	return f.Configured(plan)
}

// Stack appends the limits of a plan for one key to a stack, each at a cost of 1.
func (f *InForce) Stack(stack []Limit, plan *Plan, key Key) []Limit {
	return Stack(stack, plan, key, f.Of(plan, key.ID))
}

// Stack appends one limit for each rate to a stack, each at a cost of 1.
func Stack(stack []Limit, plan *Plan, key Key, rates []Rate) []Limit {
	for _, rate := range rates {
		stack = append(stack, Limit{Plan: plan, Key: key, Rate: rate, Cost: 1})
	}
	return stack
}

// Lowered is what holds where both the rates and those by which somebody wants less are kept: of two rates of one
// window the lower, and every rate of another window besides. Nothing is ever raised by it.
func Lowered(rates, by []Rate) []Rate {
	if len(by) == 0 {
		return rates
	}
	lowered := append([]Rate(nil), rates...)
	for _, less := range by {
		if i := sameWindow(lowered, less); i < 0 {
			lowered = append(lowered, less)
		} else if less.Limit < lowered[i].Limit {
			lowered[i] = less
		}
	}
	return lowered
}

// sameWindow is the index of the rate with the window of another; -1 when there is none.
func sameWindow(rates []Rate, other Rate) int {
	for i := range rates {
		if rates[i].Period == other.Period {
			return i
		}
	}
	return -1
}

// switchedOn leaves out rates of 0. What is kept from the configuration has none, so that nothing is copied there.
func switchedOn(rates []Rate) []Rate {
	for i := range rates {
		if rates[i].Limit > 0 {
			continue
		}
		on := append([]Rate(nil), rates[:i]...)
		for _, rate := range rates[i+1:] {
			if rate.Limit > 0 {
				on = append(on, rate)
			}
		}
		return on
	}
	return rates
}

// Resolution is how much later than need be a window of this length may tell a request to come back, besides the
// rounding up to whole seconds.
func Resolution(period time.Duration) time.Duration {
	s := spanOf(period)
	return time.Duration(s.quantum * s.tick)
}
