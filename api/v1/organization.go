package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// organizationForm is what the members of an organization have in common. The prompts are texts, which a caller that may
// not read does not get.
type organizationForm struct {
	ID            int64   `json:"id"`
	Slug          string  `json:"slug" example:"example"`
	Name          string  `json:"name" example:"Example"`
	TimeZone      string  `json:"time_zone" example:"Europe/Vienna"`
	SummaryPrompt *string `json:"summary_prompt"`
	InitialPrompt *string `json:"initial_prompt"`
}

func organizationFormOf(p auth.Principal, of orgs.Profile) organizationForm {
	form := organizationForm{ID: of.ID, Slug: of.Slug, Name: of.Name, TimeZone: of.TimeZone}
	if p.MayRead() {
		form.SummaryPrompt, form.InitialPrompt = of.SummaryPrompt, of.InitialPrompt
	}
	return form
}

func showOrganizationOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show the caller's organization", Group: routes.GroupOrganization,
		Answers: routes.Answers{http.StatusOK: exampleOrganization()},
	}
}

func (a *API) showOrganization(c echo.Context, p auth.Principal) error {
	of, err := a.organizations.Profile(c.Request().Context(), p.OrganizationID())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, organizationFormOf(p, of))
}

type organizationUpdate struct {
	SummaryPrompt routes.Optional[string] `json:"summary_prompt" maxLength:"10000" description:"What summaries are told to be where neither tag, folder nor account says it; null and blank are none."`
	InitialPrompt routes.Optional[string] `json:"initial_prompt" maxLength:"10000" description:"What the speech engine is told where neither upload, tag nor folder says it; null and blank are none."`
}

func updateOrganizationOperation() routes.Operation {
	return routes.Operation{
		Summary: "Change what the organization says for its members", Group: routes.GroupOrganization,
		Request:  organizationUpdate{SummaryPrompt: routes.Given("Three bullet points, then the decisions.")},
		Notes:    "What is not named stays.",
		Answers:  routes.Answers{http.StatusOK: exampleOrganization()},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) updateOrganization(c echo.Context, p auth.Principal) error {
	var body organizationUpdate
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	if body == (organizationUpdate{}) {
		return problems.New(problems.InvalidParameter, "The body names nothing to change: summary_prompt or initial_prompt.")
	}
	of, err := a.organizations.SetPrompts(c.Request().Context(), p.OrganizationID(), orgs.Prompts{
		SummaryPrompt: orgs.Text(edit(body.SummaryPrompt)), InitialPrompt: orgs.Text(edit(body.InitialPrompt)),
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, organizationFormOf(p, of))
}
