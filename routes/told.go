package routes

import (
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/problems"
)

// onPage is the page on which browsers are told why they came to nothing.
type onPage struct {
	path  string
	kinds []problems.Kind
}

const toldKey = "routes.told"

// ToldOn is for rows that people's browsers are sent to, who would be shown JSON: a refusal of one of the kinds sends
// whoever reads pages to this one, with the code and nothing else. Everybody else is answered as on every row.
func ToldOn(page string, kinds ...problems.Kind) Option {
	return func(s *rowSpec) { s.page = onPage{page, kinds} }
}

// toldAt is where a browser reads of a problem; empty where it is answered like everybody.
func toldAt(c echo.Context, kind problems.Kind) string {
	on, _ := c.Get(toldKey).(onPage)
	if !slices.Contains(on.kinds, kind) || !strings.Contains(strings.Join(c.Request().Header.Values("Accept"), ","), "text/html") {
		return ""
	}
	return on.path + "?error=" + url.QueryEscape(kind.Code())
}
