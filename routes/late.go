package routes

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
)

// maxSecret is longer than any token.
const maxSecret = 512

var errNotAdmitted = errors.New("a row whose credential stands in its body was answered before anybody was admitted")

// Late declares a row whose credential stands in its body, an upload's, in the field secret: Late.Admit is the rest of
// its guard, and an answer before it is a fault of the program. The file may take as long as it keeps coming.
func (t *Table) Late(
	method, path string, scope auth.Scope, bound Bound, later budgets.Deferred,
	h func(echo.Context, auth.Late) error, op Operation, opts ...Option,
) {
	row, spec := t.row(DoorLate, method, path, op, opts)
	t.takesFile(&row, &spec, bound)
	row.Price, row.Later = later.Price(), true
	row.Scopes, row.Category = []auth.Scope{scope}, auth.CategoryOf(scope)
	row.Stack = t.guard.LateStack(spec.guard, auth.TokenCallers, scope)
	guard := t.guard.RequireLate(spec.guard, scope)
	if t.dry {
		guard = t.admittedByForm(guard)
	}
	t.mount(row, guard, t.afterAdmission(h))
}

// afterAdmission keeps an answer back until it is known that somebody was let in.
func (t *Table) afterAdmission(h func(echo.Context, auth.Late) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		response, late := c.Response(), t.guard.Late(c)
		writer := response.Writer
		held := &heldAnswer{header: writer.Header()}
		response.Writer = held
		defer func() { response.Writer = writer }()
		err := h(c, late)
		if err != nil {
			return err
		}
		if !late.Admitted() {
			response.Committed = false // nothing of it has left the server
			return errNotAdmitted
		}
		if held.status == 0 {
			return nil
		}
		writer.WriteHeader(held.status)
		_, err = writer.Write(held.body.Bytes())
		return err
	}
}

// admittedByForm stands in, on a dry table, for handlers that admit by a field of their form.
func (t *Table) admittedByForm(guard echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return guard(func(c echo.Context) error {
			secret, err := secretOf(c.Request())
			if err != nil {
				return err
			}
			if _, err := t.guard.Late(c).Admit(c.Request().Context(), secret); err != nil {
				return err
			}
			return next(c)
		})
	}
}

// secretOf reads the fields before the file.
func secretOf(r *http.Request) (string, error) {
	boundary, err := FormBoundary(r)
	if err != nil {
		return "", nil //nolint:nilerr // without a form there is no secret
	}
	part, err := multipart.NewReader(r.Body, boundary).NextRawPart()
	if err != nil || part.FormName() != "secret" {
		return "", nil //nolint:nilerr // the same
	}
	text, err := io.ReadAll(io.LimitReader(part, maxSecret))
	return string(text), err
}
