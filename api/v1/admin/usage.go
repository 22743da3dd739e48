package admin

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// organizationUsage is a month of an organization, by its accounts. Sums are US dollars, to the micro-dollar.
type organizationUsage struct {
	OrganizationID int64             `json:"organization_id"`
	Month          string            `json:"month" example:"2026-03"`
	TimeZone       string            `json:"time_zone"`
	Currency       string            `json:"currency"`
	ResetsAt       string            `json:"resets_at"`
	Organization   usageSums         `json:"organization"`
	Users          []memberUsage     `json:"users"`
	Pagination     routes.Pagination `json:"pagination"`
}

// usageSums is what was used and is held; a budget is null where nothing is bounded.
type usageSums struct {
	Spent              float64  `json:"spent"`
	Held               float64  `json:"held"`
	Budget             *float64 `json:"budget"`
	Tokens             int64    `json:"tokens"`
	TokensBudget       *int64   `json:"tokens_budget"`
	AudioSeconds       int64    `json:"audio_seconds"`
	AudioSecondsBudget *int64   `json:"audio_seconds_budget"`
}

type memberUsage struct {
	UserID   int64     `json:"user_id"`
	Username string    `json:"username"`
	Usage    usageSums `json:"usage"`
}

func usageSumsOf(state budgets.State) usageSums {
	return usageSums{
		Spent: budgets.Dollars(state.Money.Spent), Held: budgets.Dollars(state.Money.Held), Budget: budgets.DollarsOrNone(state.Money.Budget),
		Tokens: state.Tokens.Spent, TokensBudget: state.Tokens.Budget, AudioSeconds: state.Seconds.Spent, AudioSecondsBudget: state.Seconds.Budget,
	}
}

type usageQuery struct {
	Month   *string `query:"month" description:"A month such as 2026-03; the present one by itself."`
	Page    *int    `query:"page" minimum:"1"`
	PerPage *int    `query:"per_page" minimum:"1" maximum:"100" description:"25 by itself."`
}

func showOrganizationUsageOperation() routes.Operation {
	sums := usageSums{Spent: 1.25, Held: 0.5, Budget: new(25.0), Tokens: 12_000, AudioSeconds: 3600}
	return routes.Operation{
		Summary: "Show what an organization spent, by account", Group: routes.GroupAdministration, Request: usageQuery{},
		Notes: "Those who spent most come first. The month is that of the organization's time zone; the budgets are those of now, whatever the month.",
		Answers: routes.Answers{http.StatusOK: organizationUsage{
			OrganizationID: 1, Month: "2026-03", TimeZone: "Europe/Vienna", Currency: "USD", ResetsAt: "2026-03-31T22:00:00.000000Z",
			Organization: sums, Users: []memberUsage{{7, "bob", sums}}, Pagination: routes.PaginationOf(1, 25, 1),
		}},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) showOrganizationUsage(c echo.Context, p auth.Principal) error {
	of, err := a.existing(c, p)
	if err != nil {
		return err
	}
	page, perPage, err := paging(c.QueryParams())
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	month, err := a.Budgets.Month(ctx, of, c.QueryParam("month"))
	if err != nil {
		return err
	}
	whole, err := a.Budgets.State(ctx, of, 0, month)
	if err != nil {
		return err
	}
	members, total, err := a.Budgets.Members(ctx, of, month, page, perPage)
	if err != nil {
		return err
	}
	answer := organizationUsage{
		OrganizationID: of, Month: month.Name, TimeZone: month.Zone, Currency: "USD", ResetsAt: routes.Micro(month.ResetsAt),
		Organization: usageSumsOf(whole), Users: []memberUsage{}, Pagination: routes.PaginationOf(page, perPage, total),
	}
	for _, member := range members {
		answer.Users = append(answer.Users, memberUsage{member.UserID, member.Username, usageSumsOf(member.State)})
	}
	return c.JSON(http.StatusOK, answer)
}
