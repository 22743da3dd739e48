package admin

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// givenLimit is one limit and its figures: what is configured, what the subject was given in its place, and what holds.
type givenLimit struct {
	Name       string  `json:"name"`
	Configured string  `json:"configured"`
	Own        *string `json:"own"`
	InForce    string  `json:"in_force"`
}

type givenLimits struct {
	Limits []givenLimit `json:"limits"`
}

func exampleGivenLimits(plan *limits.Plan, configured, own string) givenLimits {
	return givenLimits{[]givenLimit{{Name: plan.Name, Configured: configured, Own: &own, InForce: own}}}
}

// limitsUpdate names limits as the answer does.
type limitsUpdate struct {
	Limits map[string]*string `json:"limits" required:"true" maxItems:"30" eachMaxLength:"200" description:"Figures by the names of limits, such as 500 per minute; null returns to what is configured. Limits that are not named stay."`
}

const limitsNotes = "It holds in every process within a second. All that is asked is set, or nothing. More than what is configured, administrators of " +
	"the instance give alone."

func showUserLimitsOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show an account's limits", Group: routes.GroupAdministration,
		Answers: routes.Answers{http.StatusOK: exampleGivenLimits(limits.AccountRead, "1000 per 1 minute", "500 per 1 minute")},
	}
}

func (a *API) showUserLimits(c echo.Context, p auth.Principal) error {
	user, err := a.user(c, p)
	if err != nil {
		return err
	}
	return a.answerLimits(c, orgs.Subject{Kind: limits.Account, ID: user.ID})
}

func setUserLimitsOperation() routes.Operation {
	return routes.Operation{
		Summary: "Set an account's limits", Notes: limitsNotes, Group: routes.GroupAdministration,
		Request:  limitsUpdate{map[string]*string{limits.AccountRead.Name: new("500 per minute")}},
		Answers:  routes.Answers{http.StatusOK: exampleGivenLimits(limits.AccountRead, "1000 per 1 minute", "500 per 1 minute")},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) setUserLimits(c echo.Context, p auth.Principal) error {
	user, err := a.changedUser(c, p)
	if err != nil {
		return err
	}
	return a.setLimits(c, p, orgs.Subject{Kind: limits.Account, ID: user.ID})
}

func showOrganizationLimitsOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show an organization's limits", Group: routes.GroupAdministration,
		Answers: routes.Answers{http.StatusOK: exampleGivenLimits(limits.OrganizationAI, "200 per 1 minute", "100 per 1 minute")},
	}
}

func (a *API) showOrganizationLimits(c echo.Context, p auth.Principal) error {
	of, err := a.existing(c, p)
	if err != nil {
		return err
	}
	return a.answerLimits(c, orgs.Subject{Kind: limits.Organization, ID: of})
}

func setOrganizationLimitsOperation() routes.Operation {
	return routes.Operation{
		Summary: "Set an organization's limits", Notes: limitsNotes, Group: routes.GroupAdministration,
		Request:  limitsUpdate{map[string]*string{limits.OrganizationAI.Name: new("100 per minute")}},
		Answers:  routes.Answers{http.StatusOK: exampleGivenLimits(limits.OrganizationAI, "200 per 1 minute", "100 per 1 minute")},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) setOrganizationLimits(c echo.Context, p auth.Principal) error {
	of, err := a.existing(c, p)
	if err != nil {
		return err
	}
	return a.setLimits(c, p, orgs.Subject{Kind: limits.Organization, ID: of})
}

// existing is the organization of the path, which is there.
func (a *API) existing(c echo.Context, p auth.Principal) (int64, error) {
	of, err := organization(c, p)
	if err != nil {
		return 0, err
	}
	_, err = a.Organizations.Find(c.Request().Context(), of)
	return of, err
}

func (a *API) setLimits(c echo.Context, p auth.Principal, subject orgs.Subject) error {
	var body limitsUpdate
	if err := routes.DecodeStrictJSON(c, &body); err != nil {
		return err
	}
	if len(body.Limits) == 0 {
		return problems.New(problems.InvalidParameter, "limits must name a limit or more.").With("field", "limits")
	}
	figures := make(map[*limits.Plan]*config.Rates, len(body.Limits))
	for name, text := range body.Limits {
		plan := limits.PlanNamed(name)
		if plan == nil || plan.Subject != subject.Kind {
			return problems.New(problems.InvalidParameter, "limits names one that is not there to be set here; the answer to GET lists those that are.").
				With("field", "limits")
		}
		if figures[plan] = nil; text == nil {
			continue
		}
		rates, err := a.figure(p, plan, *text)
		if err != nil {
			return err
		}
		figures[plan] = &rates
	}
	if err := a.Figures.Set(c.Request().Context(), subject, figures); err != nil {
		return err
	}
	return a.answerLimits(c, subject)
}

// figure reads what somebody is given. An organization's administrators may take away: what the operator has configured
// for everybody is not theirs to raise.
func (a *API) figure(p auth.Principal, plan *limits.Plan, text string) (config.Rates, error) {
	rates, err := config.ParseRates(text)
	if err != nil {
		return nil, problems.New(problems.InvalidParameter, "limits: %s: %s.", plan.Name, err.Error()).With("field", "limits")
	}
	configured := a.InForce.Configured(plan)
	if !p.AdministersInstance() && !slices.Equal(limits.Lowered(rates, configured), rates) {
		return nil, problems.New(problems.InsufficientPermission,
			"limits: %s: more than the configured %s is given by administrators of the instance alone.", plan.Name, config.Rates(configured)).
			With("required_permission", auth.ManageTeamBilling.Name())
	}
	return rates, nil
}

// answerLimits shows every limit that is counted by this kind of subject.
func (a *API) answerLimits(c echo.Context, subject orgs.Subject) error {
	answer, err := a.givenLimits(c.Request().Context(), subject)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

func (a *API) givenLimits(ctx context.Context, subject orgs.Subject) (answer givenLimits, err error) {
	if err := a.Figures.Read(ctx); err != nil {
		return answer, err
	}
	answer.Limits = []givenLimit{}
	for _, plan := range limits.Plans() {
		if plan.Subject != subject.Kind {
			continue
		}
		one := givenLimit{Name: plan.Name, Configured: config.Rates(a.InForce.Configured(plan)).String()}
		one.InForce = config.Rates(a.InForce.Of(plan, subject.ID)).String()
		if own, found := a.Figures.Rates(plan, subject.ID); found {
			one.Own = new(config.Rates(own).String())
		}
		answer.Limits = append(answer.Limits, one)
	}
	return answer, nil
}
