package routes

import "github.com/labstack/echo/v4"

// LeaveOut is the seam of the probe's own tests: it stands between each row and its guard.
func LeaveOut(o Options, without func(row Row, guard echo.MiddlewareFunc) echo.MiddlewareFunc) Options {
	o.leaveOut = without
	return o
}

// AddBare adds a route beside the table, with the tripwire on.
func AddBare(t *Table, method, path string) {
	t.echo.Add(method, path, func(c echo.Context) error { return c.NoContent(204) })
}

// AddBareOnHost does so on a host of its own.
func AddBareOnHost(t *Table, host, method, path string) {
	t.echo.Host(host).Add(method, path, func(c echo.Context) error { return c.NoContent(204) })
}

// CutTripwire lets AddBare through.
func CutTripwire(t *Table) { t.mounting = true }
