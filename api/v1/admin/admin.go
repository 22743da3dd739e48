// Package admin is the JSON API of administrators. admin.go is its table; each file beside it is one noun: it reads a
// request, calls one story, and writes the answer. Every row is a row of administration: the door asks for the verb and
// the mark, and keeps the audit log. Here it is only asked whose the thing is: an organization's administrators see and
// change that organization alone, and what is another's does not exist for them.
package admin

import (
	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/settings"
	"github.com/stenometer/stenometer/tokens"
)

// Options is what the API needs; all of it is required.
type Options struct {
	Recordings    *recordings.Recordings
	Jobs          *jobs.Jobs
	Settings      *settings.Settings
	Accounts      *accounts.Accounts
	Tokens        *tokens.Tokens
	Organizations *orgs.Organizations
	Figures       *orgs.Figures
	InForce       *limits.InForce
	Budgets       *budgets.Budgets
	Audit         *audit.Log
}

// API has the handlers.
type API struct{ Options }

// New makes the API.
func New(o Options) *API { return &API{o} }

// Declare adds the rows.
func (a *API) Declare(t *routes.Table) {
	a.declareUsers(t)
	a.declareOrganizations(t)
	a.declareJobs(t)
	a.declareInvites(t)
	a.declareSettings(t)
	t.Token("GET", "/api/v1/admin/audit", auth.Settings, a.listAudit, listAuditOperation(), administers("audit.list"))
}

// administers is the option of most rows.
func administers(action string) routes.Option {
	return routes.Administration(auth.AdministerMembers, action)
}

// manages is the option of rows about money and limits.
func manages(action string) routes.Option {
	return routes.Administration(auth.ManageTeamBilling, action)
}

// declareUsers adds what is asked of accounts.
func (a *API) declareUsers(t *routes.Table) {
	t.Token("GET", "/api/v1/admin/users", auth.Settings, a.listUsers, listUsersOperation(), administers("user.list"))
	t.Token("POST", "/api/v1/admin/users", auth.Settings, a.createUser, createUserOperation(), administers("user.create"))
	t.Token("GET", "/api/v1/admin/users/:user", auth.Settings, a.showUser, showUserOperation(), administers("user.show"))
	t.Token("PATCH", "/api/v1/admin/users/:user", auth.Settings, a.alterUser, alterUserOperation(), administers("user.alter"))
	t.Token("DELETE", "/api/v1/admin/users/:user", auth.Settings, a.deleteUser, deleteUserOperation(), administers("user.delete"))
	t.Token("POST", "/api/v1/admin/users/:user/sign-out", auth.Settings, a.signOutUser, signOutUserOperation(), administers("user.sign_out"))

	t.Token("GET", "/api/v1/admin/users/:user/tokens", auth.Settings, a.listUserTokens, listUserTokensOperation(), administers("user.tokens.list"))
	t.Token("DELETE", "/api/v1/admin/users/:user/tokens/:token", auth.Settings, a.revokeUserToken, revokeUserTokenOperation(), administers("user.token.revoke"))

	t.Token("GET", "/api/v1/admin/users/:user/limits", auth.Settings, a.showUserLimits, showUserLimitsOperation(), manages("user.limits.show"))
	t.Token("PUT", "/api/v1/admin/users/:user/limits", auth.Settings, a.setUserLimits, setUserLimitsOperation(), manages("user.limits.set"))
	t.Token("GET", "/api/v1/admin/users/:user/budget", auth.Settings, a.showUserBudget, showUserBudgetOperation(), manages("user.budget.show"))
	t.Token("PUT", "/api/v1/admin/users/:user/budget", auth.Settings, a.setUserBudget, setUserBudgetOperation(), manages("user.budget.set"))
}

// declareOrganizations adds what is asked of organizations.
func (a *API) declareOrganizations(t *routes.Table) {
	t.Token("GET", "/api/v1/admin/organizations", auth.Settings, a.listOrganizations, listOrganizationsOperation(), routes.InstanceWide("organization.list"))
	t.Token("POST", "/api/v1/admin/organizations", auth.Settings, a.createOrganization, createOrganizationOperation(), routes.InstanceWide("organization.create"))
	t.Token("GET", "/api/v1/admin/organizations/:organization", auth.Settings, a.showOrganization, showOrganizationOperation(), administers("organization.show"))
	t.Token("PATCH", "/api/v1/admin/organizations/:organization", auth.Settings, a.alterOrganization, alterOrganizationOperation(), administers("organization.alter"))

	t.Token("GET", "/api/v1/admin/organizations/:organization/limits", auth.Settings, a.showOrganizationLimits, showOrganizationLimitsOperation(),
		manages("organization.limits.show"))
	t.Token("PUT", "/api/v1/admin/organizations/:organization/limits", auth.Settings, a.setOrganizationLimits, setOrganizationLimitsOperation(),
		manages("organization.limits.set"))
	t.Token("GET", "/api/v1/admin/organizations/:organization/budget", auth.Settings, a.showOrganizationBudget, showOrganizationBudgetOperation(),
		manages("organization.budget.show"))
	t.Token("PUT", "/api/v1/admin/organizations/:organization/budget", auth.Settings, a.setOrganizationBudget, setOrganizationBudgetOperation(),
		manages("organization.budget.set"))
	t.Token("GET", "/api/v1/admin/organizations/:organization/usage", auth.Settings, a.showOrganizationUsage, showOrganizationUsageOperation(),
		manages("organization.usage.show"))
}

// administered is the organization whose things a caller sees, 0 for all.
func administered(p auth.Principal) int64 {
	if p.AdministersInstance() {
		return 0
	}
	return p.OrganizationID()
}

// organization is the id in the path: the caller's own organization, or any for an administrator of the instance. Others do
// not exist; whether one of the instance does, the story tells.
func organization(c echo.Context, p auth.Principal) (int64, error) {
	id, err := routes.IDParam(c, "organization")
	if err != nil {
		return 0, err
	}
	if id != p.OrganizationID() && !p.AdministersInstance() {
		return 0, problems.New(problems.NotFound, "There is no such organization.")
	}
	return id, nil
}

// user is the account in the path. Another organization's does not exist.
func (a *API) user(c echo.Context, p auth.Principal) (accounts.User, error) {
	id, err := routes.IDParam(c, "user")
	if err != nil {
		return accounts.User{}, err
	}
	return a.Accounts.Member(c.Request().Context(), administered(p), id)
}

// changedUser is user for what takes something from the account, as the stories of accounts judge it themselves: who
// administers the instance could else be locked out by an organization's administrator.
func (a *API) changedUser(c echo.Context, p auth.Principal) (accounts.User, error) {
	user, err := a.user(c, p)
	if err == nil && user.InstanceAdmin && !p.AdministersInstance() {
		err = problems.New(problems.InsufficientPermission, "The account administers the instance: only its like change it.").
			With("required_permission", auth.AdministerMembers.Name())
	}
	return user, err
}

// by is who asks, for a story.
func by(c echo.Context, p auth.Principal) accounts.By {
	return accounts.By{Instance: p.AdministersInstance(), Entry: audit.Entry{
		ActorID: p.UserID(), TokenID: p.TokenID(), Address: auth.ClientAddressOf(c), RequestID: c.Response().Header().Get(echo.HeaderXRequestID),
	}}
}
