package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

type newPassword struct {
	Current string `json:"current" required:"true" maxLength:"1024" format:"password"`
	New     string `json:"new" required:"true" maxLength:"1024" format:"password" description:"8 to 1024 bytes, and neither the e-mail address nor the username."`
}

func changePasswordOperation() routes.Operation {
	return routes.Operation{
		Summary: "Change the password", Group: routes.GroupAccount, Request: newPassword{"correct horse battery staple", "a longer and better sentence"},
		Notes: "Ends every session of the account, and gives the browser that asks a new one. A wrong `current` is answered 401 `invalid_credentials` " +
			"and counts as a failed sign-in; the session that asks goes on.",
		Answers: routes.Answers{http.StatusOK: exampleAccount()}, Refusals: []problems.Kind{problems.InvalidParameter, problems.InvalidCredentials},
	}
}

func (h *Handlers) changePassword(c echo.Context, p auth.Principal) error {
	var body newPassword
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	ctx := c.Request().Context()
	claim, err := h.Accounts.ClaimOf(ctx, p.UserID())
	if err != nil {
		return err
	}
	failures := h.failures(c, claim)
	if err := h.standing(c, failures); err != nil {
		return err
	}
	err = h.Accounts.ChangePassword(ctx, claim, body.Current, body.New)
	if problems.Is(err, problems.InvalidCredentials) {
		h.note(c, p.UserID(), passwordFailed, audit.Refused(problems.InvalidCredentials))
		return h.failed(c, failures, err)
	}
	if err != nil {
		return err
	}
	h.note(c, p.UserID(), passwordChange, "")
	user, err := h.Accounts.Find(ctx, p.UserID())
	if err != nil {
		return err
	}
	return h.rotated(c, p, user)
}

type forgotten struct {
	Email string `json:"email" required:"true" maxLength:"254" format:"email" example:"ada@example.org"`
}

// linkOnItsWay is the answer to everybody who forgot a password.
type linkOnItsWay struct {
	Message string `json:"message"`
}

const onItsWay = "If there is an account with this address, a link is on its way to it."

func forgotPasswordOperation() routes.Operation {
	return routes.Operation{
		Summary: "Ask for a link to set a new password", Group: routes.GroupAccount, Request: forgotten{"ada@example.org"},
		Notes: "The answer is the same whether or not there is such an account. An account is sent at most 3 links an hour. Where the server sends no mail, " +
			"nothing is sent, and the operator makes links with `server user reset`.",
		Answers: routes.Answers{http.StatusAccepted: linkOnItsWay{onItsWay}}, Refusals: []problems.Kind{problems.InvalidParameter, problems.CrossOrigin},
	}
}

func (h *Handlers) forgotPassword(c echo.Context) error {
	if err := h.fromHere(c); err != nil {
		return err
	}
	var body forgotten
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	if err := h.Accounts.Forgot(c.Request().Context(), body.Email); err != nil {
		return err
	}
	h.note(c, 0, resetAsked, "202")
	return c.JSON(http.StatusAccepted, linkOnItsWay{onItsWay})
}

type passwordByLink struct {
	Token    string `json:"token" required:"true" maxLength:"256"`
	Password string `json:"password" required:"true" maxLength:"1024" format:"password" description:"8 to 1024 bytes, and neither the e-mail address nor the username."`
}

// passwordSet says that a password is set.
type passwordSet struct {
	Message string `json:"message"`
}

const setSentence = "The password is set. Sign in with it."

func resetPasswordOperation() routes.Operation {
	return routes.Operation{
		Summary: "Set a new password by a link", Group: routes.GroupAccount, Request: passwordByLink{"rst_…", "a longer and better sentence"},
		Notes:    "The token is what stands behind # in the link. It works once, and ends every session of the account.",
		Answers:  routes.Answers{http.StatusOK: passwordSet{setSentence}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.InvalidLink, problems.CrossOrigin},
	}
}

func (h *Handlers) resetPassword(c echo.Context) error {
	if err := h.fromHere(c); err != nil {
		return err
	}
	var body passwordByLink
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	user, err := h.Accounts.Reset(c.Request().Context(), body.Token, body.Password)
	if err != nil {
		return err
	}
	h.note(c, user.ID, passwordReset, "")
	return c.JSON(http.StatusOK, passwordSet{setSentence})
}
