package handlers

import (
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/oauth2"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/accounts/oidc"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

const (
	stateCookie = "stenometer_oidc"
	oidcPath    = "/api/auth/oidc"
	// CallbackPath is where an issuer sends browsers back to.
	CallbackPath = oidcPath + "/callback"
	// unmappedNotice tells a page that the account's role came of no claim and has no verb.
	unmappedNotice = "oidc_role_unmapped"
)

// retryIssuer is the hint of when an issuer that is down may be asked again.
const retryIssuer = 5 * time.Second

const toldNote = "Who asks for `text/html` is sent to the page of the sign-in instead of being refused, with the code as `error`."

type startQuery struct {
	Next string `query:"next" maxLength:"500" description:"The local path at which the browser goes on; / by itself, and in place of what is none."`
}

func startOIDCOperation() routes.Operation {
	return routes.Operation{
		Summary: "Sign in by OpenID Connect", Group: routes.GroupAccount, Request: startQuery{},
		Notes:    "For browsers: sends them to the issuer. Answers 403 `feature_disabled` where the operator has named none. " + toldNote,
		Answers:  routes.Answers{http.StatusFound: routes.Nothing{}},
		Refusals: []problems.Kind{problems.FeatureDisabled, problems.OIDCUnavailable},
	}
}

func (h *Handlers) startOIDC(c echo.Context) error {
	address, err := h.beginOIDC(c, localPath(c.QueryParam("next")), 0)
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusFound, address)
}

// issuerAddress is where a browser is to be sent.
type issuerAddress struct {
	URL string `json:"url"`
}

func linkOIDCOperation() routes.Operation {
	return routes.Operation{
		Summary: "Link the account to a sign-in by OpenID Connect", Group: routes.GroupAccount, Request: linkRequest{Next: new("/account")},
		Notes:    "The answer is the address to which the same browser is to be sent. Who comes back signed in to the account has its sign-in there linked to it.",
		Answers:  routes.Answers{http.StatusOK: issuerAddress{"https://login.example.org/authorize?client_id=stenometer"}},
		Refusals: []problems.Kind{problems.FeatureDisabled, problems.OIDCUnavailable, problems.NotFound},
	}
}

type linkRequest struct {
	Next *string `json:"next" maxLength:"500" description:"The local path at which the browser goes on; / by itself."`
}

// linkOIDC is no GET that other sites can make a browser send: whoever could would have their own sign-in linked to the
// account of somebody else.
func (h *Handlers) linkOIDC(c echo.Context, p auth.Principal) error {
	if p.Via() != auth.ViaSession {
		return problems.New(problems.NotFound, "The request came with a token; there is no browser to send to the issuer.")
	}
	var body linkRequest
	if err := routes.DecodeOptionalJSON(c, &body); err != nil {
		return err
	}
	next := "/"
	if body.Next != nil {
		next = localPath(*body.Next)
	}
	address, err := h.beginOIDC(c, next, p.UserID())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, issuerAddress{address})
}

// beginOIDC puts what is needed when the browser comes back into a cookie of its own.
func (h *Handlers) beginOIDC(c echo.Context, next string, userID int64) (string, error) {
	if h.OIDC.Issuer == nil {
		return "", problems.New(problems.FeatureDisabled, "This server has no sign-in by OpenID Connect.")
	}
	state, sealed, err := h.Accounts.NewState(next, oauth2.GenerateVerifier(), userID, h.OIDC.StateLife)
	if err != nil {
		return "", err
	}
	address, err := h.OIDC.Issuer.Begin(c.Request().Context(), state.Value, state.Nonce, state.Verifier)
	if err != nil {
		return "", oidcProblem(err)
	}
	c.SetCookie(h.stateCookie(c, sealed, int(h.OIDC.StateLife.Seconds())+1))
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return address, nil
}

// stateCookie is read by the callback alone. Lax, not strict: the browser comes from the issuer's site.
func (h *Handlers) stateCookie(c echo.Context, value string, maxAge int) *http.Cookie {
	cookie := h.cookie(c, value, maxAge) //nolint:gosec // it has what that of the session has
	cookie.Name, cookie.Path = stateCookie, oidcPath
	return cookie
}

type callbackQuery struct {
	Code  string `query:"code"`
	State string `query:"state"`
	Error string `query:"error"`
	Iss   string `query:"iss"`
}

func callbackOIDCOperation() routes.Operation {
	return routes.Operation{
		Summary: "Come back from the issuer of OpenID Connect", Group: routes.GroupAccount, Request: callbackQuery{},
		Notes: "For browsers: sets the session cookie and sends them on to the path they asked for. It has `notice=" + unmappedNotice + "` where no claim gave a " +
			"role, so that the account has no verb. An account that has the same e-mail address and is not linked is never signed in to: 409. " + toldNote,
		Answers:  routes.Answers{http.StatusFound: routes.Nothing{}},
		Refusals: []problems.Kind{problems.FeatureDisabled, problems.OIDCRefused, problems.OIDCUnavailable, problems.Conflict, problems.StorageFull},
	}
}

func (h *Handlers) callbackOIDC(c echo.Context) error {
	if h.OIDC.Issuer == nil {
		return problems.New(problems.FeatureDisabled, "This server has no sign-in by OpenID Connect.")
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	c.SetCookie(h.stateCookie(c, "", -1))
	state, arrival, err := h.arrival(c)
	if err != nil {
		h.note(c, 0, oidcRefused, audit.Refused(problems.Of(err).Kind))
		return err
	}
	user, action, err := h.admit(c, state, arrival)
	if err != nil {
		h.note(c, 0, oidcRefused, audit.Refused(problems.Of(err).Kind))
		return err
	}
	next := localPath(state.Next)
	if arrival.Governed && arrival.Role == "" {
		next = withNotice(next, unmappedNotice)
	}
	if err := h.setSession(c, user); err != nil {
		return err
	}
	h.note(c, user.ID, action, "")
	return c.Redirect(http.StatusFound, next)
}

// arrival is who comes back: the state first, so that a code that was begun elsewhere is never traded.
func (h *Handlers) arrival(c echo.Context) (accounts.State, accounts.Arrival, error) {
	ctx := c.Request().Context()
	sealed := ""
	if cookie, err := c.Cookie(stateCookie); err == nil {
		sealed = cookie.Value
	}
	state, err := h.Accounts.TakeState(ctx, sealed, c.QueryParam("state"))
	if err != nil {
		return accounts.State{}, accounts.Arrival{}, err
	}
	if named := c.QueryParam("iss"); named != "" && named != h.OIDC.Name {
		return state, accounts.Arrival{}, problems.New(problems.OIDCRefused, "The answer came from another issuer than the one that was asked.")
	}
	code := c.QueryParam("code")
	if code == "" || c.QueryParam("error") != "" {
		return state, accounts.Arrival{}, problems.New(problems.OIDCRefused, "The issuer did not sign you in.")
	}
	who, err := h.OIDC.Issuer.Finish(ctx, code, state.Nonce, state.Verifier)
	if err != nil {
		return state, accounts.Arrival{}, oidcProblem(err)
	}
	arrival := accounts.Arrival{
		Issuer: who.Issuer, Subject: who.Subject, Email: who.Email, EmailDenied: who.EmailDenied, Name: who.Name, Governed: h.OIDC.Roles.IsSet(),
	}
	arrival.Role = strongest(h.OIDC.Roles, who.Values)
	return state, arrival, nil
}

// strongest is the role with most verbs that a claim's values give; empty for none.
func strongest(roles RoleMap, values []string) (strongest string) {
	for _, value := range values {
		if role := roles.Of(value); role != "" && (strongest == "" || auth.RoleWithin(strongest, role)) {
			strongest = role
		}
	}
	return strongest
}

// admit is the account of who comes back: for a link the one that began it, which must still be signed in to here.
func (h *Handlers) admit(c echo.Context, state accounts.State, arrival accounts.Arrival) (accounts.User, string, error) {
	ctx := c.Request().Context()
	if state.UserID == 0 {
		user, err := h.Accounts.Admit(ctx, arrival, h.OIDC.AutoRegister)
		return user, oidcSignIn, err
	}
	session, found, err := h.Accounts.FindSession(ctx, cookieOf(c))
	if err != nil {
		return accounts.User{}, "", problems.New(problems.DatabaseUnavailable, "The session could not be checked; try again.").After(time.Second).Because(err)
	}
	if !found || session.UserID != state.UserID {
		return accounts.User{}, "", problems.New(problems.OIDCRefused, "The session that began this link is over. Sign in and begin again.")
	}
	user, err := h.Accounts.Link(ctx, state.UserID, arrival)
	return user, oidcLink, err
}

// oidcProblem is what a browser is told; what the issuer said is in the log.
func oidcProblem(err error) error {
	switch {
	case errors.Is(err, oidc.ErrUnavailable):
		return problems.New(problems.OIDCUnavailable, "The issuer of the sign-in cannot be reached. Try again.").After(retryIssuer).Because(err)
	case errors.Is(err, oidc.ErrRefused):
		return problems.New(problems.OIDCRefused, "The issuer does not accept this sign-in any more. Begin again.").Because(err)
	case errors.Is(err, oidc.ErrForged):
		return problems.New(problems.OIDCRefused, "The issuer's answer does not prove who you are.").Because(err)
	}
	return err
}
