package routes

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
)

// answer turns an error into the one answer of a request, and tells what it was for the log. An answer that is
// under way stays as it is.
func (t *Table) answer(c echo.Context, id string, err error) (code string, status int) {
	if clientGone(c, err) {
		// Whoever is still there, because it is the server that goes, must not take silence for success.
		t.write(c, id, problems.Stopping, problems.New(problems.Stopping, "The request was given up.").After(retryTimeout))
		return "client_gone", statusGone
	}
	p := t.problem(c, err)
	kind := p.Kind
	if kind == (problems.Kind{}) {
		kind = problems.Internal
	}
	t.logCause(c, id, kind, err)
	t.write(c, id, kind, p)
	if toldAt(c, kind) != "" {
		return kind.Code(), http.StatusFound
	}
	return kind.Code(), kind.Status()
}

// shouldRetryHeader is what OpenAI's own clients read of a refusal.
const shouldRetryHeader = "X-Should-Retry"

// write sends a problem as the answer, unless one is under way.
func (t *Table) write(c echo.Context, id string, kind problems.Kind, p *problems.Error) {
	if c.Response().Committed {
		return
	}
	h := c.Response().Header()
	clearEntity(h)
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(wholeSeconds(p.RetryAfter), 10))
	}
	if inVain(c, kind, p.RetryAfter) {
		h.Set(shouldRetryHeader, "false")
	}
	if challenge := challenge(kind, p.Fields); challenge != "" {
		h.Set("WWW-Authenticate", challenge)
	}
	var err error
	if page := toldAt(c, kind); page != "" {
		err = c.Redirect(http.StatusFound, page)
	} else {
		err = c.JSON(kind.Status(), refusalBody(c, kind, p, id))
	}
	if err != nil {
		t.logger.Debug("an answer could not be written", "request_id", id, "error", err.Error())
	}
}

// keptWait is the longest wait that OpenAI's own clients keep. Told a longer one they come back within seconds, twice.
const keptWait = 59 * time.Second

// inVain reports whether the stock clients of model services, which try again by themselves after most failures, are to
// be told not to: where waiting cannot help, where they would not wait as long, and where nobody knows whether what
// failed was paid for.
func inVain(c echo.Context, kind problems.Kind, wait time.Duration) bool {
	if wait > 0 {
		return SpeaksOpenAI(c.Request().URL.Path) && wait > keptWait
	}
	return kind == problems.BudgetExceeded ||
		SpeaksOpenAI(c.Request().URL.Path) && (kind.Status() >= http.StatusInternalServerError || kind.Status() == http.StatusTooManyRequests)
}

// openAIPrefix is where clients of OpenAI's wire are answered in its words.
const openAIPrefix = "/v1/"

// SpeaksOpenAI reports whether a path, of a row or of none, is one of OpenAI's wire.
func SpeaksOpenAI(path string) bool {
	return strings.HasPrefix(path, openAIPrefix) || path == strings.TrimSuffix(openAIPrefix, "/")
}

// refusalBody is the JSON of a problem. What an internal one is about stays in the log, under the request's id.
func refusalBody(c echo.Context, kind problems.Kind, p *problems.Error, id string) map[string]any {
	message, fields := p.Message, p.Fields
	if kind == problems.Internal {
		message, fields = "Internal error.", map[string]any{"request_id": id}
	}
	if SpeaksOpenAI(c.Request().URL.Path) {
		return problems.OpenAIError(kind, message, fields)
	}
	body := make(map[string]any, len(fields)+2)
	for name, value := range fields {
		body[name] = value
	}
	body["error"], body["code"] = message, kind.Code()
	return body
}

// problem finds what an error is in front of the caller.
func (t *Table) problem(c echo.Context, err error) *problems.Error {
	var refusal *limits.Refusal
	var known *problems.Error
	var framework *echo.HTTPError
	switch {
	case errors.As(err, &refusal):
		t.guard.Refused(c, refusal.Decision)
		return refusal.Problem()
	case errors.As(err, &known):
		return known
	case errors.As(err, &framework):
		return ofFramework(framework)
	}
	return problems.Of(err)
}

// ofFramework names what echo itself refuses.
func ofFramework(err *echo.HTTPError) *problems.Error {
	switch err.Code {
	case http.StatusNotFound:
		return problems.New(problems.NotFound, "There is no such path.")
	case http.StatusMethodNotAllowed:
		return problems.New(problems.MethodNotAllowed, "The path does not take this method; Allow lists those that it takes.")
	}
	return problems.Of(err)
}

// methodNotAllowed answers for a path that is a row of its own, under other methods.
func methodNotAllowed(c echo.Context, methods []string) error {
	allow := append([]string{http.MethodOptions}, methods...)
	for _, method := range methods {
		if method == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	sort.Strings(allow)
	c.Response().Header().Set("Allow", strings.Join(allow, ", "))
	return echo.ErrMethodNotAllowed
}

// clientGone reports whether nobody is left to answer. A deadline of ours also ends the context, but with
// another error.
func clientGone(c echo.Context, err error) bool {
	if !errors.Is(c.Request().Context().Err(), context.Canceled) {
		return false
	}
	var known *problems.Error
	return !errors.As(err, &known) || errors.Is(err, context.Canceled)
}

// clearEntity drops what a handler had said of the answer that now is another one. Accept-Ranges stays: it speaks of
// the file, also where the range asked for lies outside of it.
func clearEntity(h http.Header) {
	for _, name := range []string{
		"Content-Disposition", "Content-Encoding", "Content-Length", "Content-Type", "Etag", "Last-Modified", "Cache-Control",
	} {
		h.Del(name)
	}
}

// challenge is the WWW-Authenticate of an answer; empty for answers that have none.
func challenge(kind problems.Kind, fields map[string]any) string {
	if kind.Status() == http.StatusUnauthorized {
		return "Bearer"
	}
	if kind != problems.InsufficientScope {
		return ""
	}
	challenge := `Bearer error="insufficient_scope"`
	if scopes, _ := fields["required_scopes"].([]string); len(scopes) > 0 {
		challenge += `, scope="` + strings.Join(scopes, " ") + `"`
	}
	return challenge
}

// logCause keeps what the caller is not told. The storage of the limits is logged by the guard, once per outage.
func (t *Table) logCause(c echo.Context, id string, kind problems.Kind, err error) {
	if kind.Status() < http.StatusInternalServerError || kind == problems.LimitsUnavailable {
		return
	}
	level := slog.LevelWarn
	if kind == problems.Internal {
		level = slog.LevelError
	}
	t.logger.Log(context.Background(), level, "request failed",
		"request_id", id, "route", c.Path(), "code", kind.Code(), "error", err.Error())
}

func wholeSeconds(wait time.Duration) int64 {
	return max(1, int64((wait+time.Second-1)/time.Second))
}
