package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

type invited struct {
	Token    string `json:"token" required:"true" maxLength:"256"`
	Username string `json:"username" required:"true" maxLength:"80" example:"grace"`
	Password string `json:"password" required:"true" maxLength:"1024" format:"password"`
}

func acceptInviteOperation() routes.Operation {
	return routes.Operation{
		Summary: "Accept an invite and sign in", Group: routes.GroupAccount, Request: invited{"inv_…", "grace", "correct horse battery staple"},
		Notes: "The token is what stands behind # in the link. Address, organization and role are the invite's. An address that has an account by now is " +
			"answered 409, and that account stays as it is.",
		Answers:  routes.Answers{http.StatusCreated: accountForm{ID: 2, Username: "grace", Email: "grace@example.org", Role: exampleAccount().Role}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.InvalidLink, problems.CrossOrigin, problems.Conflict},
	}
}

func (h *Handlers) acceptInvite(c echo.Context) error {
	if err := h.fromHere(c); err != nil {
		return err
	}
	var body invited
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	user, err := h.Accounts.Accept(c.Request().Context(), body.Token, body.Username, body.Password)
	if err != nil {
		return err
	}
	h.note(c, user.ID, inviteAccept, "")
	return h.signedIn(c, http.StatusCreated, user)
}
