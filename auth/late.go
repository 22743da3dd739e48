package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
)

// What a request weighs whose sender is known only by its body, in the MiB that it declares: a tenth of an address's
// room at least, so that small ones are bounded too, and all of it where no length is told.
const (
	lateUnits      = 520
	leastLateUnits = 52
)

var errAdmittedTwice = errors.New("the request was admitted before")

// Late is a request whose credential stands in its body. Only a Guard makes one; the zero value lets nobody in.
type Late struct {
	guard *Guard
	c     echo.Context
	visit *visit
}

// RequireLate is the middleware of a row whose credential stands in its body, where RequireScope finds none: the size
// that is declared, and what the address may still send, are judged before a byte of it is read. The rest is for
// Late.Admit. No other place of a credential is looked at.
func (g *Guard) RequireLate(row Row, scopes ...Scope) echo.MiddlewareFunc {
	rule := g.lateRule(row, TokenCallers, scopes)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			v := g.visit(c)
			v.rule = &rule
			if err := checkDeclared(c.Request(), row); err != nil {
				return err
			}
			if err := g.admitAddress(c, v); err != nil {
				return err
			}
			return next(c)
		}
	}
}

// Late is the request that RequireLate let through.
func (g *Guard) Late(c echo.Context) Late { return Late{g, c, visitOf(c)} }

// Admit is the rest of RequireScope for the token that the body named: who that is, and whether there is room in every
// limit. A missing secret and one that is wrong in whatever way are refused alike, and so is one that ends while the file
// arrives: that is for Principal.Present.
func (l Late) Admit(ctx context.Context, secret string) (Principal, error) {
	g, v := l.guard, l.visit
	if v == nil || v.rule == nil {
		return Principal{}, errNoVisit
	}
	if v.admitted {
		return Principal{}, errAdmittedTwice
	}
	secret = strings.TrimSpace(secret)
	if !Check(secret) {
		return Principal{}, g.strange(l.c, v)
	}
	hash := sha256.Sum256([]byte(secret))
	token, found, err := g.lookups.find(ctx, hash)
	if err != nil {
		return Principal{}, g.lookupFailed(err, ctx.Err())
	}
	p := principalOf(token, ViaSecret)
	if g.faultOf(token, found) != "" || g.authorize(p, *v.rule) != nil {
		return Principal{}, g.strange(l.c, v)
	}
	v.hash = hash
	if err := g.admitLate(l.c, v, p); err != nil {
		return Principal{}, err
	}
	return l.lasting(), nil
}

func (l Late) lasting() Principal {
	p := l.guard.Lasting(l.c)
	again := p.present
	p.present = func(ctx context.Context) (Principal, error) {
		now, err := again(ctx)
		if problems.Is(err, problems.InvalidToken) || problems.Is(err, problems.InsufficientScope) {
			return Principal{}, l.guard.strange(l.c, l.visit)
		}
		return now, err
	}
	return p
}

// Admitted reports whether anybody was let in.
func (l Late) Admitted() bool { return l.visit != nil && l.visit.admitted }

// admitLate charges the caller's own limits: what the address has sent is charged already.
func (g *Guard) admitLate(c echo.Context, v *visit, p Principal) error {
	v.principal = p
	if err := g.admit(c, v, v.rule.store, v.rule.byToken, 1); err != nil {
		return err
	}
	v.admitted = true
	g.noteUse(v)
	return nil
}

// admitAddress charges the address for what it is about to send.
func (g *Guard) admitAddress(c echo.Context, v *visit) error {
	weight := int64(lateUnits)
	if declared := c.Request().ContentLength; declared >= 0 {
		weight = min(lateUnits, max(leastLateUnits, (declared+1<<20-1)>>20))
	}
	return g.admit(c, v, v.rule.store, []*limits.Plan{limits.Recorder}, weight)
}

// strange is the one refusal of whoever is not let in by what its body says.
func (g *Guard) strange(c echo.Context, v *visit) error {
	return g.unauthorized(c, v, problems.InvalidToken, "What authenticates this request is missing or not valid.")
}

// LateStack is every limit that applies to a row whose credential comes with its body; TokenCallers are those whose body
// names a token.
func (g *Guard) LateStack(row Row, callers Callers, scopes ...Scope) []Stacked {
	account, token := CategoryPlans(CategoryOf(scopes...))
	stack := []Stacked{g.onRow(row, AllCallers, account)}
	if callers == TokenCallers {
		stack = append(stack, g.onRow(row, AllCallers, token))
	}
	for _, plan := range row.Limits {
		stack = append(stack, g.onRow(row, AllCallers, plan))
	}
	return append(stack, g.onRow(row, AllCallers, limits.Recorder))
}

// lateRule is the rule of such a row; what its byToken names is charged when the caller is known.
func (g *Guard) lateRule(row Row, callers Callers, scopes []Scope) rule {
	made := g.rule(row, scopes)
	made.byToken, made.bySession = nil, nil
	for _, stacked := range g.LateStack(row, callers, scopes...) {
		if stacked.Plan != limits.Recorder {
			made.byToken = append(made.byToken, stacked.Plan)
		}
	}
	return made
}
