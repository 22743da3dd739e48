package routes

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
)

// retryTimeout is the hint after a request that took too long.
const retryTimeout = 5 * time.Second

// Public declares a row that asks for no credential. The reason is shown wherever the table is.
func (t *Table) Public(method, path, reason string, h func(echo.Context) error, op Operation, opts ...Option) {
	row, spec := t.row(DoorPublic, method, path, op, opts)
	row.Reason = reason
	row.Stack = t.guard.PublicStack(spec.guard)
	t.mount(row, t.public(spec), h)
}

// public is the guard of a public row: the address limits, then the handler, whose 401s are counted.
func (t *Table) public(spec rowSpec) echo.MiddlewareFunc {
	admit := t.guard.Public(spec.guard)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if spec.page.path != "" {
				c.Set(toldKey, spec.page)
			}
			if err := admit(c); err != nil {
				return err
			}
			return t.guard.CountFailure(c, next(c))
		}
	}
}

// Token declares a row of the API: a token with the scope, or a session.
func (t *Table) Token(
	method, path string, scope auth.Scope,
	h func(echo.Context, auth.Principal) error, op Operation, opts ...Option,
) {
	row, spec := t.row(DoorToken, method, path, op, opts)
	t.scoped(&row, spec.guard, scope)
	t.mount(row, t.guard.RequireScope(spec.guard, scope), withPrincipal(h))
}

// Paid declares a row that starts work at a provider, for which its caller pays: a Token row whose requests are worked
// once by their idempotency key, and refused with budget_exceeded when nothing is left for work of the price. The
// Purse is the handler's permission to spend; nothing is held yet.
func (t *Table) Paid(
	method, path string, scope auth.Scope, price budgets.Price,
	h func(echo.Context, auth.Principal, budgets.Purse) error, op Operation, opts ...Option,
) {
	row, spec := t.row(DoorPaid, method, path, op, opts)
	t.scoped(&row, spec.guard, scope)
	row.Price = price
	handler := t.paid(price, h)
	if row.Idempotent = method == http.MethodPost; row.Idempotent && t.keys != nil {
		handler = t.idempotent(t.timeOf(row)-t.timeouts.Handler, handler)
	}
	t.mount(row, t.guard.RequireScope(spec.guard, scope), handler)
}

// paid opens the caller's purse, if there is anything in it.
func (t *Table) paid(price budgets.Price, h func(echo.Context, auth.Principal, budgets.Purse) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		p := auth.PrincipalOf(c)
		purse := t.purses.Of(budgets.Payer{OrganizationID: p.OrganizationID(), UserID: p.UserID(), TokenID: p.TokenID()})
		if err := purse.Open(c.Request().Context(), price); err != nil {
			return err
		}
		return h(c, p, purse)
	}
}

// Upload declares a row whose body is larger than a JSON body may be, and whose file is worked on later, for money. The
// reader ends with a problem when the body is over its bound, cut short or too slow. The handler's Principal tells who the
// caller is once the file is here: it may have taken hours.
func (t *Table) Upload(
	method, path string, scope auth.Scope, bound Bound, later budgets.Deferred,
	h func(echo.Context, auth.Principal, io.Reader) error, op Operation, opts ...Option,
) {
	row, spec := t.row(DoorUpload, method, path, op, opts)
	t.takesFile(&row, &spec, bound)
	row.Price, row.Later = later.Price(), true
	t.scoped(&row, spec.guard, scope)
	t.mount(row, t.guard.RequireScope(spec.guard, scope), func(c echo.Context) error {
		return h(c, t.guard.Lasting(c), c.Request().Body)
	})
}

// Account declares a row for signed-in browsers, and for full tokens where the operator switched that on.
func (t *Table) Account(
	method, path string, h func(echo.Context, auth.Principal) error, op Operation, opts ...Option,
) {
	row, spec := t.row(DoorAccount, method, path, op, opts)
	spec.guard.SessionOnly = true
	t.scoped(&row, spec.guard)
	t.mount(row, t.guard.RequireScope(spec.guard), withPrincipal(h))
}

func withPrincipal(h func(echo.Context, auth.Principal) error) echo.HandlerFunc {
	return func(c echo.Context) error { return h(c, auth.PrincipalOf(c)) }
}

func (t *Table) scoped(row *Row, guard auth.Row, scopes ...auth.Scope) {
	row.Scopes = scopes
	row.Category = auth.CategoryOf(scopes...)
	row.Needs, row.Administration, row.InstanceWide = guard.Needs, guard.Administration, guard.InstanceWide
	row.Stack = t.guard.Stack(guard, scopes...)
}

// row begins a row with its options.
func (t *Table) row(door Door, method, path string, op Operation, opts []Option) (Row, rowSpec) {
	spec := rowSpec{guard: auth.Row{Method: method, Path: path, Body: t.bounds.JSON}}
	for _, opt := range opts {
		opt(&spec)
	}
	return Row{
		Method: method, Path: path, Door: door, Operation: op, Body: spec.guard.Body,
		Taken: t.stacked(spec.taken), LongAnswer: spec.longAnswer, AwaitsModel: spec.awaitsModel, AwaitsAgent: spec.awaitsAgent,
		Price: spec.later.Price(), Later: spec.later != budgets.Deferred{}, Weighs: spec.weighs, Action: spec.action, Uncounted: spec.guard.Uncounted,
	}, spec
}

// entered is what a row does before its guard: set the request's clock and the bound of its body. A path that is
// a row of its own under another method is answered 405, never read as the value of a parameter.
func (t *Table) entered(row Row, guarded echo.HandlerFunc) echo.HandlerFunc {
	timed := !row.TakesFile() && !row.LongAnswer
	whole := t.timeOf(row)
	return func(c echo.Context) error {
		if methods, ok := t.literal[c.Request().URL.Path]; ok && c.Request().URL.Path != row.Path {
			return methodNotAllowed(c, methods)
		}
		body, _ := c.Request().Body.(*bodyReader)
		if body != nil {
			body.left = row.Body
		}
		if !timed {
			return guarded(c)
		}
		return t.timed(c, row, body, whole, guarded)
	}
}

// timeOf is the whole time of a row's requests.
func (t *Table) timeOf(row Row) time.Duration {
	switch {
	case row.AwaitsAgent:
		return max(t.timeouts.Handler, t.timeouts.Model, t.timeouts.Agent)
	case row.AwaitsModel:
		return max(t.timeouts.Handler, t.timeouts.Model)
	}
	return t.timeouts.Handler
}

// timed gives a row its time. Whoever runs out of it without a problem of its own answers 503.
func (t *Table) timed(c echo.Context, row Row, body *bodyReader, whole time.Duration, guarded echo.HandlerFunc) error {
	untimed := c.Request()
	ctx, cancel := context.WithTimeout(untimed.Context(), whole)
	defer cancel()
	if body != nil {
		body.deadline, _ = ctx.Deadline()
	}
	if row.Streams {
		c.Set(untimedKey, untimed)
	}
	c.SetRequest(untimed.WithContext(ctx))
	defer c.SetRequest(untimed)
	err := guarded(c)
	var known *problems.Error
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil && !errors.As(err, &known) {
		return problems.New(problems.Timeout, "The request took longer than the server allows.").After(retryTimeout).Because(err)
	}
	return err
}

// reached stands in for every handler of a dry table. It reads the body as a handler would, so that the bounds
// of the reader are proved with the guards.
func reached(c echo.Context) error {
	if _, err := io.Copy(io.Discard, c.Request().Body); err != nil {
		return err
	}
	c.Response().Header().Set("X-Reached", c.Path())
	return c.NoContent(http.StatusNoContent)
}
