package auth

import (
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
)

// retryLookup is the hint of how soon a database that did not answer may be asked again.
const retryLookup = time.Second

// authenticate finds who calls, or refuses 401. A token in any place makes it a token request: its fault is not
// healed by a cookie beside it.
func (g *Guard) authenticate(c echo.Context, v *visit) error {
	cred := readCredential(c, g.allowQueryToken)
	switch {
	case cred.presented:
		return g.byToken(c, v, cred)
	case cred.cookies:
		return g.unauthorized(c, v, problems.InvalidToken, "Two different session cookies were sent; remove this site's cookies and sign in again.")
	case cred.cookie != "":
		return g.bySession(c, v, cred.cookie)
	case cred.misplaced:
		return g.unauthorized(c, v, problems.InvalidToken, "A token in the query string does not count here; send it in the Authorization header.")
	case cred.foreign:
		return g.unauthorized(c, v, problems.InvalidToken, "The Authorization header must be of the scheme Bearer.")
	}
	return g.unauthorized(c, v, problems.AuthenticationRequired, "This route needs a token: send it as \"Authorization: Bearer <token>\".")
}

func (g *Guard) byToken(c echo.Context, v *visit, cred credential) error {
	if cred.fault != "" {
		return g.unauthorized(c, v, problems.InvalidToken, cred.fault)
	}
	ctx := c.Request().Context()
	v.hash = sha256.Sum256([]byte(cred.token))
	token, found, err := g.lookups.find(ctx, v.hash)
	if err != nil {
		return g.lookupFailed(err, ctx.Err())
	}
	if fault := g.faultOf(token, found); fault != "" {
		return g.unauthorized(c, v, problems.InvalidToken, fault)
	}
	if cred.inQuery && !token.Scopes.Full() {
		return g.unauthorized(c, v, problems.InvalidToken, "A scoped token counts only in a header.")
	}
	via := ViaHeader
	if cred.inQuery {
		via = ViaQuery
	}
	v.principal = principalOf(token, via)
	return nil
}

// faultOf says why a token opens nothing now; "" for one that does.
func (g *Guard) faultOf(token Token, found bool) string {
	switch {
	case !found:
		return "The token is not known."
	case token.Revoked:
		return "The token was revoked."
	case token.ExpiresAt != nil && !g.now().Before(*token.ExpiresAt):
		return "The token has expired."
	case token.OwnerDisabled:
		return "The token's account is disabled."
	}
	return ""
}

func principalOf(token Token, via Via) Principal {
	return Principal{
		userID: token.UserID, orgID: token.OrganizationID, tokenID: token.ID,
		role: token.Role, scopes: token.Scopes, via: via, lowered: token.RateLimits, administration: token.Administration,
		instance: token.Instance,
	}
}

func (g *Guard) bySession(c echo.Context, v *visit, cookie string) error {
	ctx := c.Request().Context()
	session, found, err := g.sessions.FindSession(ctx, cookie)
	if err != nil {
		return g.lookupFailed(err, ctx.Err())
	}
	if !found {
		return g.unauthorized(c, v, problems.InvalidToken, endedSession)
	}
	v.cookie = cookie
	v.principal = principalOfSession(session)
	return nil
}

func principalOfSession(session Session) Principal {
	return Principal{
		userID: session.UserID, orgID: session.OrganizationID,
		role: session.Role, scopes: FullScopes(), via: ViaSession, administration: true, instance: session.Instance,
	}
}

// lookupFailed is never 401: a client that is told so throws its credential away.
func (g *Guard) lookupFailed(err, gone error) error {
	if gone != nil {
		return gone
	}
	g.metrics.CredentialsUnavailable()
	return problems.New(problems.DatabaseUnavailable, "The credential could not be checked; try again.").
		After(retryLookup).Because(err)
}

// unauthorized counts a 401 against its address and turns it into a 429 once those are used up, which ends
// guessing without ever being in the way of a valid credential.
func (g *Guard) unauthorized(c echo.Context, v *visit, kind problems.Kind, message string) error {
	return g.countFailure(c, v, problems.New(kind, "%s", message))
}

func (g *Guard) countFailure(c echo.Context, v *visit, refusal error) error {
	g.metrics.Unauthorized()
	if err := g.admit(c, v, g.stores(limits.OnWrite), []*limits.Plan{limits.AuthFailures}, 1); err != nil {
		return err
	}
	return refusal
}

// CountFailure passes on what a public row answered; a 401 among it counts as every other 401 does.
func (g *Guard) CountFailure(c echo.Context, answer error) error {
	if answer == nil || problems.Of(answer).Kind.Status() != http.StatusUnauthorized {
		return answer
	}
	v := visitOf(c)
	if v == nil {
		return answer
	}
	return g.countFailure(c, v, answer)
}
