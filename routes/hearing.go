package routes

import (
	"io"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
)

// Hearing declares a row that hears a file while its caller waits for what is said in it: a Paid row whose body is an
// upload. The file may take as long as it keeps coming; what is done with it then the story bounds. The handler's Principal is
// as that of an Upload. A key of idempotency
// is refused: requests with one are told apart by their bodies, and of this one nothing is kept.
func (t *Table) Hearing(
	method, path string, scope auth.Scope, bound Bound, price budgets.Price,
	h func(echo.Context, auth.Principal, budgets.Purse, io.Reader) error, op Operation, opts ...Option,
) {
	row, spec := t.row(DoorHearing, method, path, op, opts)
	t.takesFile(&row, &spec, bound)
	row.Price = price
	t.scoped(&row, spec.guard, scope)
	paid := t.paid(price, func(c echo.Context, _ auth.Principal, purse budgets.Purse) error {
		return h(c, t.guard.Lasting(c), purse, c.Request().Body)
	})
	t.mount(row, t.guard.RequireScope(spec.guard, scope), func(c echo.Context) error {
		if key, err := IdempotencyKey(c.Request()); key != "" || err != nil {
			return problems.New(problems.InvalidParameter, "Neither file nor answer is kept here: leave %s out.", keyHeader).With("field", keyHeader)
		}
		return paid(c)
	})
}

// takesFile gives a row the bound of uploads in place of that of JSON.
func (t *Table) takesFile(row *Row, spec *rowSpec, bound Bound) {
	if bound != MaxUpload {
		panic("routes: " + row.Method + " " + row.Path + " names no bound")
	}
	row.Body = t.bounds.Upload + uploadFrame
	spec.guard.Body, spec.guard.TooLarge = row.Body, problems.UploadTooLarge(t.bounds.Upload)
}
