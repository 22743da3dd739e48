package admin

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// organizationForm is an organization as its administrators see it.
type organizationForm struct {
	ID        int64  `json:"id"`
	Slug      string `json:"slug"`
	Name      string `json:"name"`
	TimeZone  string `json:"time_zone"`
	Members   int64  `json:"members"`
	CreatedAt string `json:"created_at"`
}

func organizationFormOf(of orgs.Organization) organizationForm {
	return organizationForm{of.ID, of.Slug, of.Name, of.TimeZone, of.Members, routes.Micro(of.CreatedAt)}
}

func exampleOrganization() organizationForm {
	return organizationForm{ID: 2, Slug: "north", Name: "North", TimeZone: "Europe/Vienna", Members: 5, CreatedAt: routes.Micro(exampleMoment())}
}

type organizationList struct {
	Organizations []organizationForm `json:"organizations"`
	Pagination    routes.Pagination  `json:"pagination"`
}

type pageQuery struct {
	Page    *int `query:"page" minimum:"1"`
	PerPage *int `query:"per_page" minimum:"1" maximum:"100" description:"25 by itself."`
}

func listOrganizationsOperation() routes.Operation {
	return routes.Operation{
		Summary: "List organizations", Group: routes.GroupAdministration, Request: pageQuery{},
		Answers: routes.Answers{http.StatusOK: organizationList{
			[]organizationForm{exampleOrganization()}, routes.PaginationOf(1, 25, 1),
		}},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) listOrganizations(c echo.Context, _ auth.Principal) error {
	page, perPage, err := paging(c.QueryParams())
	if err != nil {
		return err
	}
	list, total, err := a.Organizations.List(c.Request().Context(), page, perPage)
	if err != nil {
		return err
	}
	answer := organizationList{Organizations: []organizationForm{}, Pagination: routes.PaginationOf(page, perPage, total)}
	for _, of := range list {
		answer.Organizations = append(answer.Organizations, organizationFormOf(of))
	}
	return c.JSON(http.StatusOK, answer)
}

type newOrganization struct {
	Slug     string  `json:"slug" required:"true" maxLength:"63" description:"a-z, 0-9 and -, with a letter or a digit at both ends; no other organization's."`
	Name     string  `json:"name" required:"true" maxLength:"200"`
	TimeZone *string `json:"time_zone" maxLength:"64" description:"A name of the IANA; months are counted in it. UTC by itself."`
}

func createOrganizationOperation() routes.Operation {
	return routes.Operation{
		Summary: "Create an organization", Group: routes.GroupAdministration,
		Request: newOrganization{Slug: "north", Name: "North", TimeZone: new("Europe/Vienna")},
		Answers: routes.Answers{http.StatusCreated: exampleOrganization()}, Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict},
	}
}

func (a *API) createOrganization(c echo.Context, _ auth.Principal) error {
	var body newOrganization
	if err := routes.DecodeStrictJSON(c, &body); err != nil {
		return err
	}
	made, err := a.Organizations.Create(c.Request().Context(), orgs.Draft{Slug: body.Slug, Name: body.Name, TimeZone: orEmpty(body.TimeZone)})
	if err != nil {
		return err
	}
	routes.Made(c, "organization", made.ID)
	return c.JSON(http.StatusCreated, organizationFormOf(made))
}

func showOrganizationOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show an organization", Group: routes.GroupAdministration, Answers: routes.Answers{http.StatusOK: exampleOrganization()},
	}
}

func (a *API) showOrganization(c echo.Context, p auth.Principal) error {
	of, err := organization(c, p)
	if err != nil {
		return err
	}
	found, err := a.Organizations.Find(c.Request().Context(), of)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, organizationFormOf(found))
}

type organizationUpdate struct {
	Name     *string `json:"name" maxLength:"200"`
	TimeZone *string `json:"time_zone" maxLength:"64" description:"A name of the IANA; months are counted in it."`
}

func alterOrganizationOperation() routes.Operation {
	return routes.Operation{
		Summary: "Change an organization", Group: routes.GroupAdministration, Request: organizationUpdate{Name: new("North")},
		Answers: routes.Answers{http.StatusOK: exampleOrganization()}, Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) alterOrganization(c echo.Context, p auth.Principal) error {
	of, err := organization(c, p)
	if err != nil {
		return err
	}
	var body organizationUpdate
	if err := routes.DecodeStrictJSON(c, &body); err != nil {
		return err
	}
	if body == (organizationUpdate{}) {
		return problems.New(problems.InvalidParameter, "Give name or time_zone.")
	}
	altered, err := a.Organizations.Alter(c.Request().Context(), of, orgs.Change{Name: body.Name, TimeZone: body.TimeZone})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, organizationFormOf(altered))
}
