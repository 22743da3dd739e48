package handlers

import (
	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
)

// What the audit log calls that which happens here.
const (
	signIn         = "sign_in"
	signInFailed   = "sign_in.failed"
	registered     = "user.register"
	sessionEnded   = "session.end"
	passwordChange = "password.change"
	passwordFailed = "password.change.failed"
	passwordReset  = "password.reset"
	resetAsked     = "password.forgot"
	inviteAccept   = "invite.accept"
	oidcSignIn     = "oidc.sign_in"
	oidcLink       = "oidc.link"
	oidcRefused    = "oidc.refused"
)

// note writes what an account did, or was done in its name. What somebody wrote who is no account yet is not kept: people
// type passwords where names belong.
func (h *Handlers) note(c echo.Context, userID int64, action, outcome string) {
	h.write(c, audit.Entry{ActorID: userID, Action: action, Outcome: outcome})
}

// noteFailure writes a failed sign-in. The organization is given, for looking it up would take longer where there is an
// account.
func (h *Handlers) noteFailure(c echo.Context, claim accounts.Claim) {
	h.write(c, audit.Entry{
		ActorID: claim.UserID(), OrganizationID: claim.OrganizationID(), Action: signInFailed, Outcome: audit.Refused(problems.InvalidCredentials),
	})
}

func (h *Handlers) write(c echo.Context, entry audit.Entry) {
	entry.Address, entry.RequestID = auth.ClientAddressOf(c), c.Response().Header().Get(echo.HeaderXRequestID)
	if entry.ActorID != 0 {
		entry.Object = audit.Object("user", entry.ActorID)
	}
	h.Audit.Write(c.Request().Context(), entry)
}

// browserOf is what a session's owner is to know it by again.
func browserOf(c echo.Context) accounts.Browser {
	return accounts.Browser{Address: auth.ClientAddressOf(c), UserAgent: c.Request().UserAgent()}
}
