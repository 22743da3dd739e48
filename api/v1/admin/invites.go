package admin

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// declareInvites adds what is asked of invites.
func (a *API) declareInvites(t *routes.Table) {
	t.Token("GET", "/api/v1/admin/invites", auth.Settings, a.listInvites, listInvitesOperation(), administers("invite.list"))
	t.Token("POST", "/api/v1/admin/invites", auth.Settings, a.createInvite, createInviteOperation(), administers("invite.create"))
	t.Token("DELETE", "/api/v1/admin/invites/:invite", auth.Settings, a.withdrawInvite, withdrawInviteOperation(), administers("invite.withdraw"))
}

// teamInvite is an invite of the caller's organization.
type teamInvite struct {
	ID         int64   `json:"id"`
	Email      string  `json:"email"`
	Role       string  `json:"role"`
	InvitedBy  *int64  `json:"invited_by"`
	CreatedAt  string  `json:"created_at"`
	ExpiresAt  string  `json:"expires_at"`
	AcceptedAt *string `json:"accepted_at"`
}

func teamInviteOf(invite accounts.Invite) teamInvite {
	return teamInvite{
		ID: invite.ID, Email: invite.Email, Role: invite.Role, InvitedBy: invite.InvitedBy, CreatedAt: routes.Micro(invite.CreatedAt),
		ExpiresAt: routes.Micro(invite.ExpiresAt), AcceptedAt: routes.MicroOrNull(invite.AcceptedAt),
	}
}

// madeInvite shows the link, or without PUBLIC_URL the token, this once.
type madeInvite struct {
	teamInvite
	Link   string `json:"link"`
	Mailed bool   `json:"mailed"`
}

type teamInviteList struct {
	Invites    []teamInvite      `json:"invites"`
	Pagination routes.Pagination `json:"pagination"`
}

func exampleInvite() teamInvite {
	return teamInvite{
		ID: 3, Email: "grace@example.org", Role: auth.RoleEditor, InvitedBy: new(int64(1)), CreatedAt: routes.Micro(exampleMoment()),
		ExpiresAt: routes.Micro(exampleMoment().AddDate(0, 0, accounts.DefaultInviteDays)),
	}
}

func listInvitesOperation() routes.Operation {
	return routes.Operation{
		Summary: "List the organization's invites", Group: routes.GroupAdministration, Request: pageQuery{},
		Notes:    "Newest first; those that were accepted stay.",
		Answers:  routes.Answers{http.StatusOK: teamInviteList{[]teamInvite{exampleInvite()}, routes.PaginationOf(1, 25, 1)}},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) listInvites(c echo.Context, p auth.Principal) error {
	page, perPage, err := paging(c.QueryParams())
	if err != nil {
		return err
	}
	invites, total, err := a.Accounts.Invites(c.Request().Context(), p.OrganizationID(), (page-1)*perPage, perPage)
	if err != nil {
		return err
	}
	answer := teamInviteList{Invites: []teamInvite{}, Pagination: routes.PaginationOf(page, perPage, total)}
	for _, invite := range invites {
		answer.Invites = append(answer.Invites, teamInviteOf(invite))
	}
	return c.JSON(http.StatusOK, answer)
}

type newInvite struct {
	Email         string  `json:"email" required:"true" maxLength:"254" format:"email"`
	Role          *string `json:"role" maxLength:"20" description:"An assignable role that may no more than the caller's own; editor by itself."`
	ExpiresInDays *int64  `json:"expires_in_days" minimum:"1" maximum:"30" description:"7 by itself."`
}

func createInviteOperation() routes.Operation {
	return routes.Operation{
		Summary: "Invite somebody to the organization", Group: routes.GroupAdministration,
		Request: newInvite{Email: "grace@example.org", Role: new(auth.RoleEditor), ExpiresInDays: new(int64(7))},
		Notes: "The link is shown this once, and mailed where the server sends mail, unless the address was mailed an invite of the organization within " +
			"`INVITE_MAIL_SECONDS`; `mailed` says which. It makes one account, of exactly this address and role, as long as " +
			"who invited may still give it. An open invite of the address is void then. Members that are not known are refused.",
		Answers:  routes.Answers{http.StatusCreated: madeInvite{exampleInvite(), "https://notes.example.org/invite#inv_…", true}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict},
	}
}

func (a *API) createInvite(c echo.Context, p auth.Principal) error {
	var body newInvite
	if err := routes.DecodeStrictJSON(c, &body); err != nil {
		return err
	}
	wish := accounts.NewInvite{Email: body.Email}
	if body.Role != nil {
		wish.Role = *body.Role
	}
	if body.ExpiresInDays != nil {
		wish.Days = *body.ExpiresInDays
	}
	invite, link, err := a.Accounts.Invite(c.Request().Context(), by(c, p), wish)
	if err != nil {
		return err
	}
	routes.Made(c, "invite", invite.ID)
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusCreated, madeInvite{teamInviteOf(invite), link, invite.Mailed})
}

// inviteWithdrawal says that an invite is void.
type inviteWithdrawal struct {
	Message string `json:"message"`
}

const withdrawnSentence = "The invite was withdrawn."

func withdrawInviteOperation() routes.Operation {
	return routes.Operation{
		Summary: "Withdraw an invite", Group: routes.GroupAdministration, Answers: routes.Answers{http.StatusOK: inviteWithdrawal{withdrawnSentence}},
	}
}

func (a *API) withdrawInvite(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "invite")
	if err != nil {
		return err
	}
	if err := a.Accounts.Withdraw(c.Request().Context(), p.OrganizationID(), id); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, inviteWithdrawal{withdrawnSentence})
}
