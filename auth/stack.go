package auth

import (
	"net/netip"

	"github.com/stenometer/stenometer/limits"
)

// Category is what a route's requests are counted as; it comes from the route's scopes alone.
type Category string

// The categories.
const (
	CategoryRead    Category = "read"
	CategoryWrite   Category = "write"
	CategoryProcess Category = "process"
)

// CategoryOf is process where the scopes contain it, read where there are none or exactly Read, else write.
func CategoryOf(scopes ...Scope) Category {
	category := CategoryRead
	for _, scope := range scopes {
		switch scope {
		case Process:
			return CategoryProcess
		case Read, AnyToken:
		default:
			category = CategoryWrite
		}
	}
	return category
}

// Figures are the rates in force for each plan; a plan may have several ("1000 per hour;5000 per day"). A plan
// whose rates are none or 0 is switched off. A plan that is absent was forgotten: NewGuard panics.
type Figures map[*limits.Plan][]limits.Rate

// of is the plan's rates that are not switched off.
func (f Figures) of(plan *limits.Plan) []limits.Rate {
	var rates []limits.Rate
	for _, rate := range f[plan] {
		if rate.Limit > 0 {
			rates = append(rates, rate)
		}
	}
	return rates
}

// Callers is which requests a limit of a row counts.
type Callers uint8

// The callers. Anonymous requests, which only public rows let in, count as sessions do.
const (
	TokenCallers Callers = 1 << iota
	SessionCallers
	AllCallers = TokenCallers | SessionCallers
)

// Stacked is one limit of a row's stack as the route table shows it. Without rates it is switched off.
type Stacked struct {
	Plan    *limits.Plan
	Rates   []limits.Rate
	Callers Callers
}

// Stacked is how a plan shows in the table on a row whose story takes it.
func (g *Guard) Stacked(plan *limits.Plan) Stacked {
	return Stacked{plan, g.figures.of(plan), AllCallers}
}

// Row is what the guard must know of a route besides its scopes.
type Row struct {
	Method, Path string
	// SessionOnly rows let in a session, and a full token where that is switched on; they have no scope.
	SessionOnly bool
	// Body is the most bytes that the body may declare.
	Body int64
	// TooLarge are further members of the 413 of a body that declares more.
	TooLarge map[string]any
	// Limits are the row's own, besides those of its category.
	Limits []*limits.Plan
	// InPlaceOfRead replaces the token's and the account's read limits; nil replaces nothing.
	InPlaceOfRead *limits.Plan
	// Uncounted is for probes of public rows: no limit applies.
	Uncounted bool
}

// Stack is every limit that applies to a guarded row, in the order in which a tie is settled.
func (g *Guard) Stack(row Row, scopes ...Scope) []Stacked {
	var stack []Stacked
	add := func(callers Callers, plan *limits.Plan) { stack = append(stack, g.onRow(row, callers, plan)) }
	category := CategoryOf(scopes...)
	if row.InPlaceOfRead != nil {
		if category != CategoryRead {
			panic("auth: " + row.Method + " " + row.Path + " replaces read limits that it does not have")
		}
		add(AllCallers, row.InPlaceOfRead)
	} else {
		account, token := categoryPlans(category)
		add(TokenCallers, account)
		add(TokenCallers, token)
	}
	if category == CategoryProcess {
		add(AllCallers, limits.OrganizationAI)
		add(AllCallers, limits.UserAI)
	}
	for _, plan := range row.Limits {
		add(AllCallers, plan)
	}
	if category == CategoryProcess {
		add(AllCallers, limits.AddressAI)
	}
	add(SessionCallers, limits.SessionAddress)
	return stack
}

// PublicStack is every limit that applies to a row on which no credential is looked at.
func (g *Guard) PublicStack(row Row) []Stacked {
	if row.Uncounted {
		return nil
	}
	stack := make([]Stacked, 0, len(row.Limits)+2)
	for _, plan := range row.Limits {
		stack = append(stack, g.onRow(row, AllCallers, plan))
	}
	return append(stack,
		g.onRow(row, SessionCallers, limits.SessionAddress),
		g.onRow(row, TokenCallers, limits.PublicAddress))
}

// onRow panics for a plan that has no figure: a limit that was forgotten must not look like one switched off.
func (g *Guard) onRow(row Row, callers Callers, plan *limits.Plan) Stacked {
	if _, ok := g.figures[plan]; !ok {
		panic("auth: " + row.Method + " " + row.Path + " has a limit without a figure")
	}
	return Stacked{plan, g.figures.of(plan), callers}
}

func categoryPlans(category Category) (account, token *limits.Plan) {
	switch category {
	case CategoryRead:
		return limits.AccountRead, limits.TokenRead
	case CategoryWrite:
		return limits.AccountWrite, limits.TokenWrite
	case CategoryProcess:
		return limits.AccountProcess, limits.TokenProcess
	}
	panic("auth: no category " + string(category))
}

// template is the part of a stack that is the same for every request of these callers.
func template(stack []Stacked, callers Callers) []limits.Limit {
	var entries []limits.Limit
	for _, stacked := range stack {
		if stacked.Callers&callers == 0 {
			continue
		}
		for _, rate := range stacked.Rates {
			entries = append(entries, limits.Limit{Plan: stacked.Plan, Rate: rate, Cost: 1})
		}
	}
	return entries
}

// forCaller is a template with the keys of one caller.
func forCaller(entries []limits.Limit, p Principal, counted netip.Addr) []limits.Limit {
	stack := make([]limits.Limit, len(entries))
	copy(stack, entries)
	for i := range stack {
		switch stack[i].Plan.Subject {
		case limits.Token:
			stack[i].Key = limits.Key{Org: p.orgID, ID: p.tokenID}
		case limits.Account:
			stack[i].Key = limits.Key{Org: p.orgID, ID: p.userID}
		case limits.Organization:
			stack[i].Key = limits.Key{Org: p.orgID, ID: p.orgID}
		case limits.Address:
			stack[i].Key = limits.Key{Addr: counted}
		}
	}
	return stack
}
