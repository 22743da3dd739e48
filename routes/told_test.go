package routes_test

import (
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// Rule: a browser that is refused where people are sent is told on a page, by the code alone; every other client, and a
// browser that is refused otherwise, is answered as on every row.
func TestBrowsersAreToldOnAPage(t *testing.T) {
	t.Parallel()
	h := open(t, plan{declare: func(table *routes.Table, _ *house) {
		refuse := func(c echo.Context) error {
			c.Response().Header().Set("Cache-Control", "public")
			if c.QueryParam("else") != "" {
				return problems.New(problems.NotFound, "Not here.")
			}
			return problems.New(problems.OIDCRefused, "The issuer said <b>no</b>.")
		}
		table.Public("GET", "/api/back", "the issuer's code is the credential", refuse, said, routes.ToldOn("/sign-in", problems.OIDCRefused))
		table.Public("GET", "/api/other", "the issuer's code is the credential", refuse, said)
	}})
	page := header("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
	told := h.call("GET", "/api/back", page)
	if told.StatusCode != http.StatusFound || told.Header.Get("Location") != "/sign-in?error=oidc_refused" || told.Header.Get("Cache-Control") == "public" {
		t.Errorf("a browser is answered %d %v", told.StatusCode, told.Header)
	}
	h.want(h.call("GET", "/api/back"), http.StatusForbidden, "oidc_refused")
	h.want(h.call("GET", "/api/back", header("Accept", "*/*")), http.StatusForbidden, "oidc_refused")
	h.want(h.call("GET", "/api/back?else=1", page), http.StatusNotFound, "not_found")
	h.want(h.call("GET", "/api/other", page), http.StatusForbidden, "oidc_refused")
}
