package admin

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// memberForm is an account as its administrators see it.
type memberForm struct {
	ID             int64  `json:"id"`
	OrganizationID int64  `json:"organization_id"`
	Email          string `json:"email"`
	Username       string `json:"username"`
	Role           string `json:"role"`
	// InstanceAdmin is true of who administers the whole instance.
	InstanceAdmin bool `json:"instance_admin"`
	// DisabledAt is since when the account opens nothing; null while it does.
	DisabledAt *string `json:"disabled_at"`
	CreatedAt  string  `json:"created_at"`
}

func memberFormOf(user accounts.User) memberForm {
	return memberForm{
		ID: user.ID, OrganizationID: user.OrganizationID, Email: user.Email, Username: user.Username, Role: user.Role,
		InstanceAdmin: user.InstanceAdmin, DisabledAt: routes.MicroOrNull(user.DisabledAt), CreatedAt: routes.Micro(user.CreatedAt),
	}
}

// exampleMoment is when the examples happened.
func exampleMoment() time.Time { return time.Date(2026, time.March, 4, 8, 0, 0, 0, time.UTC) }

func exampleMember() memberForm {
	return memberForm{ID: 7, OrganizationID: 1, Email: "bob@example.org", Username: "bob", Role: auth.RoleEditor, CreatedAt: routes.Micro(exampleMoment())}
}

type memberList struct {
	Users      []memberForm      `json:"users"`
	Pagination routes.Pagination `json:"pagination"`
}

type memberQuery struct {
	Q              *string `query:"q" maxLength:"100" description:"Text in the address or the name."`
	Role           *string `query:"role" description:"Accounts of this role."`
	Disabled       *string `query:"disabled" enum:"true,false" description:"Disabled accounts, or those that are not."`
	OrganizationID *int64  `query:"organization_id" minimum:"1" description:"For administrators of the instance; others see their own organization."`
	Page           *int    `query:"page" minimum:"1"`
	PerPage        *int    `query:"per_page" minimum:"1" maximum:"100" description:"25 by itself."`
}

func listUsersOperation() routes.Operation {
	return routes.Operation{
		Summary: "List accounts", Group: routes.GroupAdministration, Request: memberQuery{},
		Answers:  routes.Answers{http.StatusOK: memberList{[]memberForm{exampleMember()}, routes.PaginationOf(1, 25, 1)}},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) listUsers(c echo.Context, p auth.Principal) error {
	query := c.QueryParams()
	asked := accounts.Members{OrganizationID: administered(p), Text: query.Get("q"), Role: query.Get("role")}
	var err error
	if asked.Page, asked.PerPage, err = paging(query); err != nil {
		return err
	}
	if asked.Disabled, err = mark(query, "disabled"); err != nil {
		return err
	}
	if asked.Role != "" && !slices.ContainsFunc(auth.Roles(), func(role auth.Role) bool { return role.Name == asked.Role }) {
		return problems.New(problems.InvalidParameter, "role must be one of %s.", strings.Join(roleNames(), ", ")).With("field", "role")
	}
	narrowed, err := whole(query, "organization_id", math.MaxInt64)
	if err != nil {
		return err
	}
	answer := memberList{Users: []memberForm{}, Pagination: routes.PaginationOf(asked.Page, asked.PerPage, 0)}
	if narrowed != 0 && asked.OrganizationID != 0 && narrowed != asked.OrganizationID {
		return c.JSON(http.StatusOK, answer) // another organization's accounts do not exist
	}
	if narrowed != 0 {
		asked.OrganizationID = narrowed
	}
	page, total, err := a.Accounts.Members(c.Request().Context(), asked)
	if err != nil {
		return err
	}
	for _, user := range page {
		answer.Users = append(answer.Users, memberFormOf(user))
	}
	answer.Pagination = routes.PaginationOf(asked.Page, asked.PerPage, total)
	return c.JSON(http.StatusOK, answer)
}

func roleNames() []string {
	var names []string
	for _, role := range auth.Roles() {
		names = append(names, role.Name)
	}
	return names
}

type newMember struct {
	Email          string  `json:"email" required:"true" maxLength:"254"`
	Username       string  `json:"username" required:"true" maxLength:"80"`
	Password       *string `json:"password" maxLength:"1024" description:"8 bytes or more. Without one nobody can sign in until it is reset."`
	Role           *string `json:"role" description:"An assignable role that may do nothing the caller's may not; editor by itself."`
	OrganizationID *int64  `json:"organization_id" minimum:"1" description:"For administrators of the instance; the caller's own by itself."`
}

func createUserOperation() routes.Operation {
	return routes.Operation{
		Summary: "Create an account", Group: routes.GroupAdministration,
		Request:  newMember{Email: "bob@example.org", Username: "bob", Role: new(auth.RoleEditor)},
		Answers:  routes.Answers{http.StatusCreated: exampleMember()},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.NotFound, problems.Conflict},
	}
}

func (a *API) createUser(c echo.Context, p auth.Principal) error {
	var body newMember
	if err := routes.DecodeStrictJSON(c, &body); err != nil {
		return err
	}
	wish := accounts.NewUser{Email: body.Email, Username: body.Username, Role: orEmpty(body.Role), OrganizationID: orZero(body.OrganizationID)}
	if body.Password != nil {
		if wish.Password = *body.Password; wish.Password == "" {
			return problems.New(problems.InvalidParameter, "password must not be empty; leave it out for none.").With("field", "password")
		}
	}
	user, err := a.Accounts.CreateMember(c.Request().Context(), by(c, p), wish)
	if err != nil {
		return err
	}
	routes.Made(c, "user", user.ID)
	return c.JSON(http.StatusCreated, memberFormOf(user))
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func orZero(number *int64) int64 {
	if number == nil {
		return 0
	}
	return *number
}
