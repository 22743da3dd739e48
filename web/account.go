package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

//go:embed assets/account.html
var accountText string

//go:embed assets/account.css
var accountStyle string

//go:embed assets/account.js
var accountScript []byte

// accountRules let the pages of accounts have their own style and this server's script, which asks this server. No form
// is sent by the browser itself: where the script did not load, a password would stand in an address.
const accountRules = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src '%s'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guide is where the user guide is read.
const guide = "https://github.com/stenometer/stenometer/tree/main/docs/user-guide"

// failures are what the sign-in page says of an attempt that ended at another address, by the code of the refusal. No
// other text can be put on the page by its address.
var failures = map[string]string{
	problems.OIDCRefused.Code():        "The sign-in was refused. Try again, from the same browser and without a break.",
	problems.OIDCUnavailable.Code():    "The other sign-in cannot be reached at the moment. Try again soon, or use your password.",
	problems.Conflict.Code():           "There is an account with your address already, or this sign-in belongs to another one. Sign in as before, and link the two.",
	problems.FeatureDisabled.Code():    "This server has no other sign-in than by password.",
	problems.AddressRateLimited.Code(): "Too many requests came from your address. Try again in a while.",
}

// notices are what a page says of what was done before it was opened.
var notices = map[string]string{
	"password_set":       "The password is set. Sign in with it.",
	"oidc_role_unmapped": "No role is mapped to you, so that you may look, and change little. Ask your administrator.",
}

// account is what a page of accounts shows.
type account struct {
	Title, Failure, Notice string
	Guide, Issuer          string
	OpenIDConnect, Mail    bool
	Style                  template.CSS
}

func (w *Pages) declareAccount(t *routes.Table) {
	const newcomers = "who signs in has no credential yet"
	t.Public("GET", "/", "who is not signed in is sent to where that is done", w.showHome, homeOperation())
	t.Public("GET", "/sign-in", newcomers, w.shows("sign-in", "Sign in"), pageOperation("Show the page on which people sign in", signInQuery{}))
	t.Public("GET", "/reset-password", newcomers, w.shows("reset-password", "Set a new password"),
		pageOperation("Show the page of a forgotten password", nil))
	t.Public("GET", "/invite", newcomers, w.shows("invite", "Make your account"), pageOperation("Show the page of an invite", nil))
	t.Public("GET", "/assets/account.js", newcomers, w.sendScript, scriptOperation())
}

// signInQuery is what the page of the sign-in may be told.
type signInQuery struct {
	Error  *string `query:"error" description:"The code of the refusal that led here; one that the page does not know says nothing."`
	Notice *string `query:"notice" description:"What was done before; one that the page does not know says nothing."`
}

func pageOperation(summary string, request any) routes.Operation {
	return routes.Operation{
		Summary: summary, Group: routes.GroupAccount, Request: request,
		Notes:   "For browsers, with JavaScript. The token of a link stands behind #, which is not sent.",
		Answers: routes.Answers{http.StatusOK: routes.File{Types: []string{"text/html"}}},
	}
}

func homeOperation() routes.Operation {
	operation := pageOperation("Show who is signed in", nil)
	operation.Notes = "For browsers, with JavaScript. One without a session is sent to the page of the sign-in."
	operation.Answers[http.StatusFound] = routes.Nothing{}
	return operation
}

func scriptOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show the script of the pages", Group: routes.GroupAccount,
		Answers: routes.Answers{http.StatusOK: routes.File{Types: []string{"text/javascript"}}, http.StatusNotModified: routes.Nothing{}},
	}
}

// showHome looks at no session: the script asks who is signed in, as every client does. A browser that has none is not
// made to ask in vain, which would count as a failure of its address.
func (w *Pages) showHome(c echo.Context) error {
	if _, err := c.Cookie(auth.SessionCookie); err != nil {
		keepToItself(c.Response().Header())
		return c.Redirect(http.StatusFound, "sign-in")
	}
	return w.show(c, "home", "Stenometer")
}

func (w *Pages) shows(name, title string) func(echo.Context) error {
	return func(c echo.Context) error { return w.show(c, name, title) }
}

// show writes a page. None is kept: a copy would show a token's page, or who was signed in, to who comes next.
func (w *Pages) show(c echo.Context, name, title string) error {
	shown := account{
		Title: title, Failure: failures[c.QueryParam("error")], Notice: notices[c.QueryParam("notice")], Guide: guide,
		Issuer: w.issuer, OpenIDConnect: w.issuer != "", Mail: w.mail,
		Style: template.CSS(accountStyle), //nolint:gosec // our own file, not a caller's words
	}
	var page bytes.Buffer
	if err := w.account.ExecuteTemplate(&page, name, shown); err != nil {
		return fmt.Errorf("write the page %s: %w", name, err)
	}
	keepToItself(c.Response().Header())
	c.Response().Header().Set("Content-Security-Policy", w.accountRules)
	return c.Blob(http.StatusOK, "text/html; charset=utf-8", page.Bytes())
}

// sendScript sends the script; whoever has this state of it already gets a 304.
func (w *Pages) sendScript(c echo.Context) error {
	hash := sha256.Sum256(accountScript)
	header := c.Response().Header()
	header.Set("Content-Type", "text/javascript; charset=utf-8")
	header.Set("Cache-Control", "public, no-cache")
	header.Set("ETag", `"`+hex.EncodeToString(hash[:8])+`"`)
	whole := c.Request().Clone(c.Request().Context())
	for _, name := range []string{"Range", "If-Match", "If-Unmodified-Since"} {
		whole.Header.Del(name) // it is small, and a part of a script is none
	}
	http.ServeContent(c.Response(), whole, "account.js", time.Time{}, bytes.NewReader(accountScript))
	return nil
}

// hostOf is how people know an issuer.
func hostOf(issuer string) string {
	parsed, err := url.Parse(issuer)
	if err != nil || parsed.Host == "" {
		return issuer
	}
	return parsed.Host
}
