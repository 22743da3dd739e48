package auth

import (
	"net/netip"

	"github.com/labstack/echo/v4"

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

// MaxBatch is the most things that one request may name, and so the most units that it can weigh.
const MaxBatch = 1000

// Categories lists them.
func Categories() []Category { return []Category{CategoryRead, CategoryWrite, CategoryProcess} }

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
	return Stacked{plan, g.inForce.Configured(plan), AllCallers}
}

// Row is what the guard must know of a route besides its scopes.
type Row struct {
	Method, Path string
	// SessionOnly rows let in a session, and a full token where that is switched on; they have no scope.
	SessionOnly bool
	// Needs is the verb that the caller's role must have; zero for rows that are open to every role.
	Needs Verb
	// Administration rows let a token in only with the mark of administration. They name the verb that they need.
	Administration bool
	// InstanceWide rows of administration are about more than one organization: they are for administrators of the
	// instance alone.
	InstanceWide bool
	// Body is the most bytes that the body may declare.
	Body int64
	// TooLarge are further members of the 413 of a body that declares more.
	TooLarge map[string]any
	// Limits are the row's own, besides those of its category.
	Limits []*limits.Plan
	// InPlaceOfRead replaces the token's and the account's read limits; nil replaces nothing.
	InPlaceOfRead *limits.Plan
	// Weigh, bounded by MaxBatch, is how many units a request counts, at least 1; nil counts one. It may read the body
	// and put it back.
	Weigh func(echo.Context) (int64, error)
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
		account, token := CategoryPlans(category)
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
	if !g.inForce.Knows(plan) {
		panic("auth: " + row.Method + " " + row.Path + " has a limit without a figure")
	}
	return Stacked{plan, g.inForce.Configured(plan), callers}
}

// CategoryPlans are the limits that count the requests of a category, of the account and of the token. It panics for
// what is no category.
func CategoryPlans(category Category) (account, token *limits.Plan) {
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

// plansFor is which limits of a stack count these callers, switched off or not: one caller may have figures of its own.
func plansFor(stack []Stacked, callers Callers) []*limits.Plan {
	var plans []*limits.Plan
	for _, stacked := range stack {
		if stacked.Callers&callers != 0 {
			plans = append(plans, stacked.Plan)
		}
	}
	return plans
}

// stackOf appends to a stack the limits of the plans at the figures in force for one caller.
func (g *Guard) stackOf(stack []limits.Limit, plans []*limits.Plan, p Principal, counted netip.Addr) []limits.Limit {
	for _, plan := range plans {
		key := keyOf(plan, p, counted)
		if by := p.lowered[plan]; len(by) > 0 {
			stack = limits.Stack(stack, plan, key, limits.Lowered(g.inForce.Of(plan, key.ID), by))
			continue
		}
		stack = g.inForce.Stack(stack, plan, key)
	}
	return stack
}

// keyOf is the counter of a plan that a caller's requests are counted in.
func keyOf(plan *limits.Plan, p Principal, counted netip.Addr) limits.Key {
	switch plan.Subject {
	case limits.Token:
		return limits.Key{Org: p.orgID, ID: p.tokenID}
	case limits.Account:
		return limits.Key{Org: p.orgID, ID: p.userID}
	case limits.Organization:
		return limits.Key{Org: p.orgID, ID: p.orgID}
	case limits.Address:
	}
	return limits.Key{Addr: counted}
}
