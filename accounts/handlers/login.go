package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

type credentials struct {
	Email    string `json:"email,omitempty" maxLength:"254" example:"ada@example.org"`
	Username string `json:"username,omitempty" maxLength:"254" description:"Instead of the e-mail address."`
	Password string `json:"password" maxLength:"1024" format:"password"`
}

func loginOperation() routes.Operation {
	return routes.Operation{
		Summary: "Sign in", Notes: "The answer sets the session cookie. Failed attempts are counted per account and address.",
		Group: routes.GroupAccount, Request: credentials{Email: "ada@example.org", Password: "correct horse battery staple"}, Answers: routes.Answers{http.StatusOK: exampleAccount()},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.InvalidCredentials, problems.CrossOrigin},
	}
}

// login verifies a password and opens a session. Failures are counted for the account and the address together:
// a guesser is stopped, also with the right password at last, and the owner gets in from everywhere else.
func (h *Handlers) login(c echo.Context) error {
	if err := h.fromHere(c); err != nil {
		return err
	}
	var body credentials
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	name := body.Email
	if name == "" {
		name = body.Username
	}
	if name == "" || body.Password == "" {
		return problems.New(problems.InvalidParameter, "Give email (or username) and password.")
	}
	ctx := c.Request().Context()
	claim, err := h.Accounts.Claim(ctx, name)
	if err != nil {
		return err
	}
	failures := h.failures(c, claim)
	if err := h.standing(c, failures); err != nil {
		return err
	}
	user, err := h.Accounts.Verify(ctx, claim, body.Password)
	if problems.Is(err, problems.InvalidCredentials) {
		h.noteFailure(c, claim)
		return h.failed(c, failures, err)
	}
	if err != nil {
		return err
	}
	h.note(c, user.ID, signIn, "")
	return h.signedIn(c, http.StatusOK, user)
}

// failures is the count of this account's failures from this address.
func (h *Handlers) failures(c echo.Context, claim accounts.Claim) []limits.Limit {
	var stack []limits.Limit
	for _, rate := range h.LoginFailures {
		if rate.Limit == 0 {
			continue
		}
		stack = append(stack, limits.Limit{
			Plan: limits.LoginFailures, Key: limits.Key{Addr: auth.AddressOf(c), Part: claim.Part()}, Rate: rate, Cost: 1,
		})
	}
	return stack
}

// standing refuses when the failures are used up, before the password is looked at.
func (h *Handlers) standing(c echo.Context, failures []limits.Limit) error {
	if len(failures) == 0 {
		return nil
	}
	states, err := h.Limits.Peek(c.Request().Context(), failures)
	if err != nil {
		return err
	}
	refusal := limits.Refusal{Decision: limits.Decision{States: states, Binding: -1}}
	for i, state := range states {
		if state.Context.Remaining > 0 {
			continue
		}
		states[i].Context.Reached, states[i].Wait = true, state.Next
		if refusal.Decision.Binding < 0 || state.Next > states[refusal.Decision.Binding].Wait {
			refusal.Decision.Binding = i
		}
	}
	if refusal.Decision.Binding < 0 {
		return nil
	}
	return &refusal
}

// failed counts a failure and tells it with the answer. Of many at once no more are told apart from a 429 than the
// count allows.
func (h *Handlers) failed(c echo.Context, failures []limits.Limit, answer error) error {
	if len(failures) == 0 {
		return answer
	}
	decision, err := h.Limits.Take(c.Request().Context(), failures, nil)
	if err != nil {
		return err
	}
	if !decision.Admitted {
		return &limits.Refusal{Decision: decision}
	}
	auth.AddDecision(c, decision.States)
	return answer
}

// signedIn answers with the account and the cookie of a new session.
func (h *Handlers) signedIn(c echo.Context, status int, user accounts.User) error {
	if err := h.setSession(c, user); err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(status, formOf(user))
}

// setSession opens a session and sets its cookie.
func (h *Handlers) setSession(c echo.Context, user accounts.User) error {
	value, lifetime, err := h.Accounts.OpenSession(c.Request().Context(), cookieOf(c), user, browserOf(c))
	if err != nil {
		return err
	}
	c.SetCookie(h.cookie(c, value, int(lifetime.Seconds())))
	return nil
}

// cookie is that of the session; scripts can't read it, and other sites' requests that change something don't
// carry it.
func (h *Handlers) cookie(c echo.Context, value string, maxAge int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure is set exactly where the client speaks TLS; on plain HTTP it would end sign-in.
		Name: auth.SessionCookie, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: h.SecureCookies || h.Addresses.Secure(c.Request()),
	}
}

func cookieOf(c echo.Context) string {
	cookie, err := c.Cookie(auth.SessionCookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}
