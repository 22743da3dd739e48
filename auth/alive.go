package auth

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/problems"
)

// endedSession is what a browser is told whose session opens nothing.
const endedSession = "The session has ended; sign in again."

// Alive looks up again, whenever it is called, the credential by which a request came in, and refuses what the guard
// would refuse now: a stream must not outlive its credential, or the scope that let it in. It counts nothing and charges
// nothing. It may be called when the request's own time is over.
func (g *Guard) Alive(c echo.Context) func(context.Context) error {
	present := g.present(c)
	return func(ctx context.Context) error {
		_, err := present(ctx)
		return err
	}
}

// Lasting is who the guard let in, for a story that goes on for long and asks again who that is now.
func (g *Guard) Lasting(c echo.Context) Principal {
	p := PrincipalOf(c)
	p.present = g.present(c)
	return p
}

// present gives the caller of a request as it is whenever that is asked, and refuses what the guard would refuse then.
func (g *Guard) present(c echo.Context) func(context.Context) (Principal, error) {
	v := visitOf(c)
	if v == nil || v.rule == nil {
		return func(context.Context) (Principal, error) { return Principal{}, errNoVisit }
	}
	was, rule, hash, cookie := v.principal, *v.rule, v.hash, v.cookie
	return func(ctx context.Context) (Principal, error) {
		now, err := g.again(ctx, was, hash, cookie)
		if err != nil {
			return Principal{}, err
		}
		return now, g.authorize(now, rule)
	}
}

// again is who comes in by the credential now.
func (g *Guard) again(ctx context.Context, was Principal, hash [32]byte, cookie string) (Principal, error) {
	if was.via == ViaSession {
		session, found, err := g.sessions.FindSession(ctx, cookie)
		switch {
		case err != nil:
			return Principal{}, g.lookupFailed(err, ctx.Err())
		case !found || session.UserID != was.userID:
			return Principal{}, problems.New(problems.InvalidToken, endedSession)
		}
		return principalOfSession(session), nil
	}
	token, found, err := g.lookups.find(ctx, hash)
	if err != nil {
		return Principal{}, g.lookupFailed(err, ctx.Err())
	}
	if fault := g.faultOf(token, found); fault != "" {
		return Principal{}, problems.New(problems.InvalidToken, "%s", fault)
	}
	return principalOf(token, was.via), nil
}
