package auth

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// SessionCookie is the name of the cookie of a signed-in browser.
const SessionCookie = "stenometer_session"

// The places of a token besides the cookie; answers vary by all of them.
const (
	authorization = "Authorization"
	apiTokenX     = "X-Api-Token" //nolint:gosec // the name of a header
	apiToken      = "Api-Token"
	queryToken    = "token"
)

// maxCookie bounds the value that is looked up as a session.
const maxCookie = 512

// credential is what a request says it is, before anything is looked up.
type credential struct {
	// token is the presented text; presented tells an empty one from none.
	token     string
	presented bool
	inQuery   bool
	// fault is why the token is refused without a look-up; empty when it is worth one.
	fault string
	// foreign is true when an Authorization header of another scheme was sent. A proxy in front may own it, so
	// that it is ignored beside a token or a cookie, and is a bad credential when it is all there is.
	foreign bool
	// misplaced is true when ?token= was sent where it does not count. It decides nothing, lest a link turn a cookie's
	// request into a token's; where nothing else was sent, the refusal says what was wrong.
	misplaced bool
	cookie    string
	// cookies is true when session cookies of different values were sent: which one is the browser's own can't be told.
	cookies bool
}

// readCredential collects what stands in the places of a credential. allowQuery is whether ?token= counts.
func readCredential(c echo.Context, allowQuery bool) credential {
	var cred credential
	r := c.Request()
	for _, line := range r.Header[authorization] {
		token, bearer := bearerToken(line)
		if !bearer {
			cred.foreign = true
			continue
		}
		cred.add(token)
	}
	for _, line := range r.Header[apiTokenX] {
		cred.add(strings.TrimSpace(line))
	}
	for _, line := range r.Header[apiToken] {
		cred.add(strings.TrimSpace(line))
	}
	if values := queryTokens(c); len(values) > 0 {
		cred.misplaced = !queryCounts(r, allowQuery)
		cred.inQuery = !cred.misplaced
		for _, value := range values {
			if cred.inQuery {
				cred.add(strings.TrimSpace(value))
			}
		}
	}
	if cred.presented && cred.fault == "" && !Check(cred.token) {
		cred.fault = "The token is malformed."
	}
	cred.cookie, cred.cookies = sessionCookie(r)
	return cred
}

// queryCounts reports whether ?token= is a place of a credential: where it is switched on, on what only reads.
func queryCounts(r *http.Request, allowQuery bool) bool {
	return allowQuery && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// add takes the value of one place. Two places may say the same and must not say different things.
func (cred *credential) add(token string) {
	if cred.presented && subtle.ConstantTimeCompare([]byte(cred.token), []byte(token)) != 1 {
		cred.fault = "Two different tokens were sent; send one."
	}
	cred.token, cred.presented = token, true
}

// presentsToken reports whether a request is a token request, without judging the token.
func presentsToken(c echo.Context, allowQuery bool) bool {
	h := c.Request().Header
	for _, line := range h[authorization] {
		if _, bearer := bearerToken(line); bearer {
			return true
		}
	}
	return len(h[apiTokenX]) > 0 || len(h[apiToken]) > 0 ||
		queryCounts(c.Request(), allowQuery) && len(queryTokens(c)) > 0
}

// bearerToken reads one Authorization line: the scheme in any case, any run of spaces or tabs, the token.
func bearerToken(line string) (token string, bearer bool) {
	line = strings.TrimSpace(line)
	end := strings.IndexAny(line, " \t")
	if end < 0 {
		end = len(line)
	}
	if !strings.EqualFold(line[:end], "Bearer") {
		return "", false
	}
	return strings.TrimSpace(line[end:]), true
}

// queryTokens is every value of ?token=, however the name is escaped.
func queryTokens(c echo.Context) []string {
	if c.Request().URL.RawQuery == "" {
		return nil
	}
	return c.QueryParams()[queryToken]
}

// sessionCookie is the value of the session cookie. Another host of our domain can set a cookie of the same name, and
// a browser sends both: whoever took the first would act for whom that host chose, so that several is true instead.
func sessionCookie(r *http.Request) (value string, several bool) {
	if r.Header["Cookie"] == nil {
		return "", false
	}
	for i, cookie := range r.CookiesNamed(SessionCookie) {
		if i > 0 && cookie.Value != value {
			return "", true
		}
		value = cookie.Value
	}
	if len(value) > maxCookie {
		return "", false
	}
	return value, false
}
