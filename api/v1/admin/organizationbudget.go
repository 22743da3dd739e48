package admin

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// organizationBudget is what is stored for an organization. InForce is what bounds it: the server's default where nothing
// is stored; null bounds nothing.
type organizationBudget struct {
	OrganizationID int64    `json:"organization_id"`
	MonthlyUSD     *float64 `json:"monthly_usd"`
	InForce        *float64 `json:"in_force_usd"`
	Currency       string   `json:"currency"`
}

type organizationBudgetUpdate struct {
	MonthlyUSD routes.Optional[float64] `json:"monthly_usd" minimum:"0" maximum:"1000000000" description:"US dollars, rounded to the micro-dollar; null returns to the server's default."`
}

func showOrganizationBudgetOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show an organization's budget", Group: routes.GroupAdministration,
		Answers: routes.Answers{http.StatusOK: exampleOrganizationBudget()},
	}
}

func (a *API) showOrganizationBudget(c echo.Context, p auth.Principal) error {
	id, err := organization(c, p)
	if err != nil {
		return err
	}
	of := budgets.Subject{OrganizationID: id}
	stored, err := a.Budgets.Stored(c.Request().Context(), of)
	if err != nil {
		return err
	}
	return a.answerOrganizationBudget(c, of, stored)
}

func exampleOrganizationBudget() organizationBudget {
	return organizationBudget{1, new(25.0), new(25.0), "USD"}
}

func setOrganizationBudgetOperation() routes.Operation {
	return routes.Operation{
		Summary: "Set an organization's budget", Group: routes.GroupAdministration, Request: organizationBudgetUpdate{routes.Given(25.0)},
		Notes:   "It holds from the next call on. Members that are not known are refused, and then nothing is changed. The answer is what is stored.",
		Answers: routes.Answers{http.StatusOK: exampleOrganizationBudget()}, Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) setOrganizationBudget(c echo.Context, p auth.Principal) error {
	id, err := organization(c, p)
	if err != nil {
		return err
	}
	of := budgets.Subject{OrganizationID: id}
	var body organizationBudgetUpdate
	if err := routes.DecodeStrictJSON(c, &body); err != nil {
		return err
	}
	if !body.MonthlyUSD.Set {
		return problems.New(problems.InvalidParameter, "monthly_usd must be given: a number of US dollars, or null for the server's default.")
	}
	stored, err := a.Budgets.Set(c.Request().Context(), of, budgets.SetMicros(microsOf(body.MonthlyUSD.Pointer())))
	if err != nil {
		return err
	}
	return a.answerOrganizationBudget(c, of, stored)
}

func (a *API) answerOrganizationBudget(c echo.Context, of budgets.Subject, stored budgets.Stored) error {
	inForce := stored.Micros
	if inForce == nil {
		inForce = a.Budgets.Default
	}
	return c.JSON(http.StatusOK, organizationBudget{of.OrganizationID, budgets.DollarsOrNone(stored.Micros), budgets.DollarsOrNone(inForce), "USD"})
}
