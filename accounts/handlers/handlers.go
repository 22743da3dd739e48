// Package handlers lets people register, by themselves or by an invite, sign in by password or by OpenID Connect, choose a
// new password, and sign out over HTTP.
package handlers

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/accounts/oidc"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// Options is what the handlers are made of. All of it is required but SecureCookies.
type Options struct {
	Accounts *accounts.Accounts
	// Limits counts failed attempts to sign in.
	Limits limits.Store
	// LoginFailures is how many of them one account is allowed from one address.
	LoginFailures []limits.Rate
	// Addresses tells whether the client speaks TLS.
	Addresses *auth.Addresses
	// Audit keeps who signed in and how, and what else happens to passwords and sessions.
	Audit *audit.Log
	// OIDC is the sign-in by an issuer; the zero value has none.
	OIDC OIDC
	// SecureCookies marks every cookie Secure: the public URL is https, whatever the request looks like.
	SecureCookies bool
}

// RoleMap says which value of an issuer's claim gives which role.
type RoleMap interface {
	IsSet() bool
	Of(value string) string
}

// OIDC is the sign-in by an issuer of OpenID Connect.
type OIDC struct {
	// Issuer is asked; nil where there is none.
	Issuer *oidc.Issuer
	// Name is exactly what the issuer calls itself.
	Name  string
	Roles RoleMap
	// AutoRegister makes an account for whoever comes for the first time.
	AutoRegister bool
	// StateLife is how long a sign-in may be on its way.
	StateLife time.Duration
}

// Handlers answers the routes of sign-in and registration.
type Handlers struct {
	Options

	sameOrigin *http.CrossOriginProtection
}

// New makes the handlers.
func New(o Options) *Handlers {
	return &Handlers{Options: o, sameOrigin: http.NewCrossOriginProtection()}
}

// Declare lists the routes.
func (h *Handlers) Declare(t *routes.Table) {
	t.Public("POST", "/api/auth/login", "who signs in has no credential yet", h.login, loginOperation(),
		routes.Limit(limits.Login), routes.OwnLimit(limits.LoginFailures))
	t.Public("POST", "/api/auth/register", "who registers has no credential yet", h.register, registerOperation(),
		routes.Limit(limits.Register))
	t.Account("POST", "/api/auth/logout", h.logout, logoutOperation())
	t.Account("GET", "/api/auth/sessions", h.listSessions, listSessionsOperation())
	t.Account("DELETE", "/api/auth/sessions/:session", h.endSession, endSessionOperation())

	t.Account("POST", "/api/auth/password", h.changePassword, changePasswordOperation(), routes.OwnLimit(limits.LoginFailures))
	t.Public("POST", "/api/auth/password/forgot", "who forgot a password has no credential", h.forgotPassword, forgotPasswordOperation(),
		routes.Limit(limits.Login))
	t.Public("POST", "/api/auth/password/reset", "the token of the link is the credential", h.resetPassword, resetPasswordOperation(),
		routes.Limit(limits.Login))
	t.Public("POST", "/api/auth/invites/accept", "the token of the invite is the credential", h.acceptInvite, acceptInviteOperation(),
		routes.Limit(limits.Register))

	toldOnPage := routes.ToldOn("/sign-in", problems.OIDCRefused, problems.OIDCUnavailable, problems.Conflict, problems.FeatureDisabled, problems.AddressRateLimited)
	t.Public("GET", oidcPath+"/start", "who signs in has no credential yet", h.startOIDC, startOIDCOperation(), routes.Limit(limits.Login), toldOnPage)
	t.Public("GET", CallbackPath, "the issuer's code is the credential", h.callbackOIDC, callbackOIDCOperation(), routes.Limit(limits.Login), toldOnPage)
	t.Account("POST", oidcPath+"/link", h.linkOIDC, linkOIDCOperation())
}

// accountForm is an account on the wire.
type accountForm struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
	Email    string `json:"email"`
	Role     string `json:"role"`
}

func formOf(user accounts.User) accountForm {
	return accountForm{ID: user.ID, Username: user.Username, Email: user.Email, Role: user.Role}
}

// exampleAccount is the account that the API's examples tell of.
func exampleAccount() accountForm {
	return accountForm{ID: 1, Username: "ada", Email: "ada@example.org", Role: auth.RoleEditor}
}

// fromHere refuses forms of other sites, which could sign a browser in to an account of theirs.
func (h *Handlers) fromHere(c echo.Context) error {
	if err := h.sameOrigin.Check(c.Request()); err != nil {
		return problems.New(problems.CrossOrigin, "The request came from another site.").Because(err)
	}
	return nil
}

type registration struct {
	Email    string `json:"email" required:"true" maxLength:"254" format:"email" example:"ada@example.org"`
	Username string `json:"username" required:"true" maxLength:"80" example:"ada"`
	Password string `json:"password" required:"true" maxLength:"1024" format:"password"`
}

func registerOperation() routes.Operation {
	return routes.Operation{
		Summary: "Register an account and sign in", Group: routes.GroupAccount, Request: registration{"ada@example.org", "ada", "correct horse battery staple"},
		Notes:   "Answers 403 `registration_closed` where the operator does not take registrations.",
		Answers: routes.Answers{http.StatusCreated: exampleAccount()},
		Refusals: []problems.Kind{
			problems.InvalidParameter, problems.RegistrationClosed, problems.CrossOrigin, problems.Conflict,
		},
	}
}

func (h *Handlers) register(c echo.Context) error {
	if err := h.fromHere(c); err != nil {
		return err
	}
	var body registration
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	user, err := h.Accounts.Register(c.Request().Context(), accounts.NewUser{
		Email: body.Email, Username: body.Username, Password: body.Password,
	})
	if err != nil {
		return err
	}
	h.note(c, user.ID, registered, "")
	return h.signedIn(c, http.StatusCreated, user)
}

const signedOut = "You are signed out."

type signOut struct {
	Message string `json:"message"`
}

func logoutOperation() routes.Operation {
	return routes.Operation{
		Summary: "Sign out", Notes: "Ends the session of the cookie; a token is not a session and is answered 404.",
		Group: routes.GroupAccount, Answers: routes.Answers{http.StatusOK: signOut{signedOut}},
		Refusals: []problems.Kind{problems.NotFound},
	}
}

func (h *Handlers) logout(c echo.Context, p auth.Principal) error {
	if p.Via() != auth.ViaSession {
		return problems.New(problems.NotFound, "The request came with a token; there is no session to end.")
	}
	if err := h.Accounts.CloseSession(c.Request().Context(), cookieOf(c)); err != nil {
		return err
	}
	c.SetCookie(h.cookie(c, "", -1))
	return c.JSON(http.StatusOK, signOut{signedOut})
}
