package routes

import (
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/limits"
)

// Option says what differs on a row.
type Option func(*rowSpec)

// rowSpec is a row while its options are applied.
type rowSpec struct {
	guard      auth.Row
	taken      []*limits.Plan
	longAnswer bool
	weighs     string
	action     string
	page       onPage

	awaitsModel bool
	awaitsAgent bool
	later       budgets.Deferred
}

// Limit adds a limit to the row's stack.
func Limit(plan *limits.Plan) Option {
	return func(s *rowSpec) { s.guard.Limits = append(s.guard.Limits, plan) }
}

// InPlaceOfRead counts the row by this limit instead of the read limits of token and account.
func InPlaceOfRead(plan *limits.Plan) Option {
	return func(s *rowSpec) { s.guard.InPlaceOfRead = plan }
}

// OwnLimit names on the row a limit that its story takes itself, at the moment that is right for it.
func OwnLimit(plan *limits.Plan) Option {
	return func(s *rowSpec) { s.taken = append(s.taken, plan) }
}

// AwaitsModel is for rows that answer when a model has: they have Timeouts.Model.
func AwaitsModel() Option {
	return func(s *rowSpec) { s.awaitsModel = true }
}

// AwaitsAgent is for rows that answer when a model has looked things up, in several calls: they have Timeouts.Agent.
func AwaitsAgent() Option {
	return func(s *rowSpec) { s.awaitsAgent = true }
}

// Later marks a row that can start paid work but is never refused for money. It hands out no Purse.
func Later(work budgets.Deferred) Option {
	return func(s *rowSpec) { s.later = work }
}

// Needs is for rows that only some roles may use: the caller's role must have the verb.
func Needs(verb auth.Verb) Option {
	if verb == (auth.Verb{}) {
		panic("routes: a row that needs a verb names it")
	}
	return func(s *rowSpec) { s.guard.Needs = verb }
}

// Administration is for rows of administrators: the caller's role must have the verb, and a token the mark besides its
// scope. The action is what the audit log calls the row, a stable word such as "user.disable".
func Administration(verb auth.Verb, action string) Option {
	needs := Needs(verb)
	return func(s *rowSpec) { needs(s); s.guard.Administration, s.action = true, action }
}

// InstanceWide is for rows of administration that are about more than one organization: they are for administrators of
// the instance alone.
func InstanceWide(action string) Option {
	administration := Administration(auth.AdministerMembers, action)
	return func(s *rowSpec) { administration(s); s.guard.InstanceWide = true }
}

// LongAnswer is for rows that send files: the answer may take longer than a JSON handler may.
func LongAnswer() Option { return func(s *rowSpec) { s.longAnswer = true } }

// Uncounted is for probes, which must be answered whatever else is going on.
func Uncounted() Option { return func(s *rowSpec) { s.guard.Uncounted = true } }
