package routes

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// The names of the headers, as net/http keys them.
const (
	headerVary          = "Vary"
	headerOrigin        = "Origin"
	headerAllowOrigin   = "Access-Control-Allow-Origin"
	headerAllowMethods  = "Access-Control-Allow-Methods"
	headerAllowHeaders  = "Access-Control-Allow-Headers"
	headerExposeHeaders = "Access-Control-Expose-Headers"
	headerMaxAge        = "Access-Control-Max-Age"
	headerAsksMethod    = "Access-Control-Request-Method"
)

const (
	// sendable are the headers that a page may send besides those that need no leave.
	sendable = "Authorization, X-API-Token, API-Token, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-ID"
	// readable are the headers of ours that a page may read besides those that need no leave.
	readable = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, X-Should-Retry, " +
		"ETag, Idempotent-Replayed, X-Request-ID, Allow, Content-Disposition, Content-Range, WWW-Authenticate"
	// preflightAge is how many seconds a browser may remember a preflight. Chromium remembers none for longer.
	preflightAge = "7200"
	// anyMethod is what a path without rows takes, so that the page can read its 404.
	anyMethod = "OPTIONS, DELETE, GET, HEAD, PATCH, POST, PUT"
)

// cors tells browsers which pages of other origins may call with a token and read the answers. There is no
// Access-Control-Allow-Credentials, ever: a cookie proves nothing across origins. The nil cors allows none.
type cors struct {
	// values holds what the answer to each allowed origin says, ready to stand in its header.
	values                        map[string][]string
	vary, expose, headers, maxAge []string
}

func newCORS(origins []string) *cors {
	if len(origins) == 0 {
		return nil
	}
	c := &cors{
		values: make(map[string][]string, len(origins)),
		vary:   []string{headerOrigin}, expose: []string{readable}, headers: []string{sendable}, maxAge: []string{preflightAge},
	}
	for _, origin := range origins {
		c.values[origin] = []string{origin}
	}
	return c
}

// allowed is the request's origin where it is one of ours, ready for a header. Two Origin headers come from no browser.
func (c *cors) allowed(r *http.Request) []string {
	if sent := r.Header[headerOrigin]; c != nil && len(sent) == 1 {
		return c.values[sent[0]]
	}
	return nil
}

// setHeaders lets a page of an allowed origin read the answer, whatever it becomes. Vary stands on the others too: a
// cache must not hand a page the answer that was made for none.
func (c *cors) setHeaders(h http.Header, r *http.Request) {
	if c == nil {
		return
	}
	h[headerVary] = c.vary
	if origin := c.allowed(r); origin != nil {
		h[headerAllowOrigin], h[headerExposeHeaders] = origin, c.expose
	}
}

// asks reports whether the request is a preflight of an allowed origin. Others are answered as any OPTIONS is, which
// browsers take for a no.
func (c *cors) asks(r *http.Request) bool {
	return c != nil && r.Method == http.MethodOptions && r.Header.Get(headerAsksMethod) != "" && c.allowed(r) != nil
}

// preflight answers in place of the row, before its guard: a browser sends no credential with it.
func (c *cors) preflight(ctx echo.Context) error {
	methods, known := ctx.Get(echo.ContextKeyHeaderAllow).(string)
	if !known {
		methods = anyMethod
	}
	h := ctx.Response().Header()
	delete(h, headerExposeHeaders)
	h[headerAllowHeaders], h[headerMaxAge] = c.headers, c.maxAge
	h.Set(headerAllowMethods, strings.TrimPrefix(methods, "OPTIONS, "))
	return ctx.NoContent(http.StatusNoContent)
}
