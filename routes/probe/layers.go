package probe

import (
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
)

// one is a figure that the second request runs into.
func one() []limits.Rate { return []limits.Rate{{Limit: 1, Period: time.Minute}} }

// layers: each limit of the stack in turn is the one without room. The refusal names it, tells the wait, and leaves
// the others as they were.
func (s *subject) layers() {
	callers := []struct {
		name  string
		who   auth.Callers
		trial trial
	}{{"by token", auth.TokenCallers, s.good()}, {"by session", auth.SessionCallers, trial{cookie: s.session()}}}
	for _, caller := range callers {
		if s.row.Door == routes.DoorAccount && caller.who == auth.TokenCallers {
			if !s.target.TokensManageByToken {
				continue
			}
			caller.trial = trial{bearer: s.token(auth.FullName)}
		}
		s.stack(caller.name, caller.who, caller.trial)
		for _, plan := range s.expected(caller.who) {
			s.layer(caller.name, plan, caller.trial)
		}
	}
}

// stack: an answer names exactly the limits that must apply.
func (s *subject) stack(name string, who auth.Callers, t trial) {
	var want []string
	for _, plan := range s.expected(who) {
		want = append(want, plan.Name)
	}
	sort.Strings(want)
	r := s.try(s.handler(Ample()), t)
	got := make([]string, 0, len(want))
	for limit := range remaining(r) {
		got = append(got, limit)
	}
	sort.Strings(got)
	s.expect("the limits of a request "+name, slices.Equal(got, want), text(strings.Join(got, " ")))
}

func (s *subject) layer(name string, plan *limits.Plan, t trial) {
	figures := Ample()
	figures[plan] = one()
	h := s.handler(figures)
	t.from = s.newAddress()
	first := s.try(h, t)
	s.allowed("the limit "+plan.Name+" "+name+" with room for one", first)
	second := s.try(h, t)
	limit, _ := second.body["limit"].(map[string]any)
	check := "the limit " + plan.Name + " " + name + " without room"
	named := second.code == plan.Kind.Code() && limit["name"] == plan.Name
	s.expect(check, second.status == http.StatusTooManyRequests && named, second)
	s.expect(check+" tells the wait", second.header.Get("Retry-After") != "", text("no Retry-After"))
	before, after := remaining(first), remaining(second)
	for other, left := range before {
		if other != plan.Name {
			s.expect(check+" leaves "+other+" as it was", after[other] == left, text(left+" became "+after[other]))
		}
	}
}

// expected is the stack as the product states it, from the row's door and scopes. Only a row's own limits are taken
// from the table.
func (s *subject) expected(who auth.Callers) []*limits.Plan {
	public, session := s.row.Door == routes.DoorPublic, who == auth.SessionCallers
	category, ai := "read", false
	for _, scope := range s.row.Scopes {
		switch {
		case scope == auth.Process:
			category, ai = "process", true
		case scope != auth.Read && scope != auth.AnyToken && category == "read":
			category = "write"
		}
	}
	own := s.ownPlans()
	plans := slices.Clone(own)
	if !public && !session && !slices.Contains(own, limits.Status) {
		plans = append(plans, byName("token_"+category), byName("account_"+category))
	}
	if ai {
		plans = append(plans, limits.UserAI, limits.OrganizationAI, limits.AddressAI)
	}
	switch {
	case session:
		plans = append(plans, limits.SessionAddress)
	case public:
		plans = append(plans, limits.PublicAddress)
	}
	return plans
}

// ownPlans is what the table shows on the row besides the limits of every row of its category.
func (s *subject) ownPlans() []*limits.Plan {
	common := []*limits.Plan{
		limits.TokenRead, limits.TokenWrite, limits.TokenProcess, limits.AccountRead, limits.AccountWrite, limits.AccountProcess,
		limits.UserAI, limits.OrganizationAI, limits.AddressAI, limits.SessionAddress, limits.PublicAddress,
	}
	var own []*limits.Plan
	for _, stacked := range s.row.Stack {
		if !slices.Contains(common, stacked.Plan) {
			own = append(own, stacked.Plan)
		}
	}
	return own
}

func byName(name string) *limits.Plan {
	for _, plan := range limits.Plans() {
		if plan.Name == name {
			return plan
		}
	}
	panic("probe: no limit is called " + name)
}

var member = regexp.MustCompile(`"([a-z0-9_]+)";r=(\d+)`)

// remaining reads how many requests each limit of an answer has left.
func remaining(r result) map[string]string {
	left := map[string]string{}
	for _, match := range member.FindAllStringSubmatch(r.header.Get("RateLimit"), -1) {
		left[match[1]] = match[2]
	}
	return left
}
