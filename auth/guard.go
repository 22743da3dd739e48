// Package auth says who is asking and what they may do. RequireScope is the one way in: it finds the caller,
// checks the scope and admits the request against every limit that applies, in one decision. What cannot be
// told is refused, never let in.
package auth

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/limits"
)

// Metrics counts what the guard must not do in silence.
type Metrics interface {
	// LimitRefused counts a request refused by the limit of this name.
	LimitRefused(limit string)
	// LimitsUnavailable counts a decision that the storage of the limits could not take.
	LimitsUnavailable()
	// CredentialsUnavailable counts a credential that could not be looked up.
	CredentialsUnavailable()
	// Unauthorized counts an answer 401.
	Unauthorized()
	// UnknownRole and MissingRole count requests of accounts whose role is none of the table's, or empty.
	UnknownRole()
	MissingRole()
}

// Options is what a Guard is made of. All of it is required.
type Options struct {
	Tokens   TokenFinder
	Sessions SessionFinder
	// Limits is the store that decides about requests of a class.
	Limits    func(limits.Class) limits.Store
	InForce   *limits.InForce
	Addresses *Addresses
	// AllowQueryToken lets a full token stand in ?token= of a GET.
	AllowQueryToken bool
	// TokensManageByToken lets a full token through doors that are otherwise for sessions alone.
	TokensManageByToken bool
	Metrics             Metrics
	Logger              *slog.Logger
	Now                 func() time.Time
}

// Guard decides about every request of a guarded route. It is made once and is safe for concurrent use.
type Guard struct {
	tokens    TokenFinder
	lookups   *lookups
	sessions  SessionFinder
	stores    func(limits.Class) limits.Store
	inForce   *limits.InForce
	addresses *Addresses

	allowQueryToken     bool
	tokensManageByToken bool

	sameOrigin   *http.CrossOriginProtection
	unrecognized *unrecognized
	metrics      Metrics
	now          func() time.Time
}

// NewGuard makes a Guard.
func NewGuard(o Options) *Guard {
	return &Guard{
		tokens: o.Tokens, lookups: newLookups(o.Tokens, maxRemembered), sessions: o.Sessions,
		stores: o.Limits, inForce: o.InForce, addresses: o.Addresses,
		allowQueryToken: o.AllowQueryToken, tokensManageByToken: o.TokensManageByToken,
		sameOrigin: http.NewCrossOriginProtection(), unrecognized: newUnrecognized(o),
		metrics: o.Metrics, now: o.Now,
	}
}

// rule is a row with everything that is the same for each of its requests.
type rule struct {
	row       Row
	scopes    []Scope
	store     limits.Store
	byToken   []*limits.Plan
	bySession []*limits.Plan
}

func (g *Guard) rule(row Row, scopes []Scope) rule {
	if row.SessionOnly != (len(scopes) == 0) {
		panic("auth: " + row.Method + " " + row.Path + " must name its scopes, or be for sessions and name none")
	}
	for _, scope := range scopes {
		if scope == (Scope{}) {
			panic("auth: " + row.Method + " " + row.Path + " names an empty scope")
		}
	}
	stack := g.Stack(row, scopes...)
	return rule{row, scopes, g.stores(classOf(row, scopes...)), plansFor(stack, TokenCallers), plansFor(stack, SessionCallers)}
}

// RequireScope is the middleware of a route: who calls, may they, is the body of a size that is read here, and
// is there room in every limit. Only then is the handler reached, and only then is anything charged.
func (g *Guard) RequireScope(row Row, scopes ...Scope) echo.MiddlewareFunc {
	rule := g.rule(row, scopes)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			v := g.visit(c)
			v.rule = &rule
			if err := g.authenticate(c, v); err != nil {
				return err
			}
			g.unrecognized.look(v.principal)
			if err := g.authorize(v.principal, rule); err != nil {
				return err
			}
			if err := g.requireSameOrigin(c.Request(), v.principal); err != nil {
				return err
			}
			if err := checkDeclared(c.Request(), row); err != nil {
				return err
			}
			weight, err := weightOf(c, row)
			if err != nil {
				return err
			}
			if err := g.admit(c, v, rule.store, rule.plansOf(v.principal), weight); err != nil {
				return err
			}
			g.noteUse(v)
			return next(c)
		}
	}
}

// weightOf is how many units the request counts.
func weightOf(c echo.Context, row Row) (int64, error) {
	if row.Weigh == nil {
		return 1, nil
	}
	return row.Weigh(c)
}

func (r rule) plansOf(p Principal) []*limits.Plan {
	if p.via == ViaSession {
		return r.bySession
	}
	return r.byToken
}

// Public is the admission of a row on which no credential is looked at. A request that presents a token is
// counted apart from the others, so that a script never uses up what the browsers beside it need.
func (g *Guard) Public(row Row) func(echo.Context) error {
	stack, store := g.PublicStack(row), g.stores(classOf(row))
	byToken, bySession := plansFor(stack, TokenCallers), plansFor(stack, SessionCallers)
	return func(c echo.Context) error {
		if err := checkDeclared(c.Request(), row); err != nil {
			return err
		}
		if row.Uncounted {
			return nil
		}
		v := g.visit(c)
		plans := bySession
		if presentsToken(c, g.allowQueryToken) {
			plans = byToken
		}
		return g.admit(c, v, store, plans, 1)
	}
}

// noteUse is queued only for requests that were let in: a refusal changes nothing.
func (g *Guard) noteUse(v *visit) {
	if v.principal.tokenID != 0 {
		g.tokens.Used(v.principal.tokenID, g.now(), v.address)
	}
}

// Standing is how every limit that applies to the request's caller stands, over all routes; nothing is charged.
func (g *Guard) Standing(c echo.Context) ([]limits.State, error) {
	ctx, v := c.Request().Context(), visitOf(c)
	if v == nil {
		return nil, errNoVisit
	}
	states, err := g.stores(limits.OnRead).Peek(ctx, g.stackOf(nil, g.standing(v.principal), v.principal, v.counted))
	if err != nil {
		return nil, g.undecided(ctx, err)
	}
	return states, nil
}
