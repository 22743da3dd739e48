package routes

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/streams"
)

// untimedKey is where the request without the time of its row waits for a stream.
const untimedKey = "routes.untimed"

// Answer declares a row that answers at once or, where its caller asks for that, with a stream: a Paid row whose handler
// is given the Opener without which no stream can be written. A request that opens none keeps the row's time; a stream
// has its own clocks, and ends when its credential does. The handler's Principal tells who the caller is by now, for
// answers that take several calls. A key of idempotency is for answers that can be kept: a stream is refused with one.
func (t *Table) Answer(
	method, path string, scope auth.Scope, price budgets.Price,
	h func(echo.Context, auth.Principal, budgets.Purse, streams.Opener) error, op Operation, opts ...Option,
) {
	row, spec := t.row(DoorAnswer, method, path, op, opts)
	t.scoped(&row, spec.guard, scope)
	row.Price, row.AwaitsModel, row.Streams = price, true, true
	handler := t.paid(price, func(c echo.Context, p auth.Principal, purse budgets.Purse) error {
		return h(c, t.guard.Lasting(c), purse, t.opener(c, p))
	})
	if row.Idempotent = method == http.MethodPost; row.Idempotent && t.keys != nil {
		handler = t.idempotent(t.timeOf(row)-t.timeouts.Handler, handler)
	}
	t.mount(row, t.guard.RequireScope(spec.guard, scope), handler)
}

// opener is the request's permission to be answered with a stream.
func (t *Table) opener(c echo.Context, p auth.Principal) streams.Opener {
	if t.streams == nil {
		return streams.Opener{}
	}
	if key, err := IdempotencyKey(c.Request()); key != "" || err != nil {
		return t.streams.Openers().Refused(problems.New(problems.InvalidParameter,
			"A stream cannot be kept and sent again: leave %s out, or ask without stream.", keyHeader).With("field", keyHeader))
	}
	untimed, ok := c.Get(untimedKey).(*http.Request)
	if !ok {
		return streams.Opener{}
	}
	return t.streams.Openers().Of(c.Response(), untimed, streams.Caller{
		OrganizationID: p.OrganizationID(), Frames: framesOf(c.Path()), Alive: t.guard.Alive(c),
	})
}

// framesOf is how streams of a row end.
func framesOf(path string) streams.Frames {
	if SpeaksOpenAI(path) {
		return streams.OpenAI
	}
	return streams.APIv1
}

// streamGuard says what a stream is bounded by.
func (t *Table) streamGuard() string {
	if t.streams == nil {
		return "nothing: no stream can be opened"
	}
	clocks := t.streams.Clocks
	return fmt.Sprintf("%d slots an organization, first byte %s, idle %s, total %s, client stall %s",
		t.streams.Places, clocks.FirstByte, clocks.Idle, clocks.Total, clocks.ClientStall)
}
