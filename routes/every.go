package routes

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
)

// EveryRequest names, in order, what is done for every request, rows and unknown paths alike. None of it answers
// a request but the bound of the headers, the preflights of allowed origins and the recovery from a panic.
func EveryRequest() []string {
	return []string{
		"request id", "access log", "answer headers", "cross-origin headers", "bounds of body and answer",
		"headers at most 32 KiB", "preflights of allowed origins", "recover",
	}
}

const (
	requestIDHeader = "X-Request-Id"
	// maxRequestID is enough for a UUID and too little for one of our tokens.
	maxRequestID = 40
	maxHeaders   = 32 << 10
	// statusGone is what the log shows for a client that left before its answer.
	statusGone = 499
)

// every is the fixed chain around every request.
func (t *Table) every(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		started := t.now()
		id := requestID(c.Request())
		setHeaders(c.Response().Header(), id)
		t.cors.setHeaders(c.Response().Header(), c.Request())
		t.bound(c)
		err := t.recovered(c, id, next)
		code, status, begun := "", c.Response().Status, c.Response().Committed
		if err != nil {
			code, status = t.answer(c, id, err)
		}
		took := t.now().Sub(started)
		method, route := methodName(c.Request().Method), c.Path()
		t.metrics.Request(method, route, status, took)
		t.logRequest(c, id, method, route, code, status, took)
		if err != nil && begun {
			// Part of another answer is out already. Only a connection that breaks tells the client so.
			panic(http.ErrAbortHandler)
		}
		return nil
	}
}

// recovered calls the row and turns a panic into an error.
func (t *Table) recovered(c echo.Context, id string, next echo.HandlerFunc) (err error) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if abort, ok := cause.(error); ok && errors.Is(abort, http.ErrAbortHandler) {
			panic(cause)
		}
		t.logger.Error("panic", "request_id", id, "route", c.Path(), "stack", string(debug.Stack()))
		err = fmt.Errorf("panic: %v", cause)
	}()
	if headerBytes(c.Request()) > maxHeaders {
		return problems.New(problems.HeadersTooLarge, "The headers are larger than %d bytes.", maxHeaders)
	}
	if t.cors.asks(c.Request()) {
		return t.cors.preflight(c)
	}
	return next(c)
}

// requestID is the client's own id when it is short and plain, else a new one. It goes into logs, so nothing else
// of a stranger's text may.
func requestID(r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	if id == "" || len(id) > maxRequestID {
		return rand.Text()
	}
	for i := range len(id) {
		plain := id[i] == '-' || id[i] == '_' || id[i] == '.' ||
			'0' <= id[i] && id[i] <= '9' || 'a' <= id[i] && id[i] <= 'z' || 'A' <= id[i] && id[i] <= 'Z'
		if !plain {
			return rand.Text()
		}
	}
	return id
}

// setHeaders is what every answer carries: nothing of ours is framed, sniffed, indexed, or named to other sites, and
// opened by itself in a browser it may load nothing but what it is; pages say what they need instead. The names are as
// net/http keys them, and the values share one list, which costs a fifth of setting one by one.
func setHeaders(h http.Header, id string) {
	values := [...]string{
		id, "nosniff", "DENY", "same-origin", "noindex, nofollow, noarchive, nosnippet, noimageindex",
		"camera=(), geolocation=(), microphone=()", "default-src 'none'; media-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
	}
	names := [...]string{
		requestIDHeader, "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "X-Robots-Tag",
		"Permissions-Policy", "Content-Security-Policy",
	}
	for i, name := range names {
		h[name] = values[i : i+1 : i+1]
	}
}

// bound wraps body and answer before anything can read or write them. The request is copied for that: the server
// looks at the type of its own request's body to know that a client still waits for leave to send it.
func (t *Table) bound(c echo.Context) {
	w, r := c.Response().Writer, c.Request()
	control := http.NewResponseController(w)
	answer := &answerWriter{ResponseWriter: w, control: control, stall: t.timeouts.WriteStall}
	c.Response().Writer = answer
	if r.Body != nil && r.Body != http.NoBody {
		answer.extend() // the server itself may write that it waits for the body
		body := &bodyReader{body: r.Body, control: control, stall: t.timeouts.BodyStall, least: t.timeouts.BodyLeast, left: t.bounds.JSON}
		body.extend()
		bounded := r.WithContext(r.Context())
		bounded.Body = body
		c.SetRequest(bounded)
	}
}

// headerBytes is about what the request line and the headers took on the wire.
func headerBytes(r *http.Request) int {
	total := len(r.Method) + len(r.RequestURI) + len(r.Host) + 20
	for name, values := range r.Header {
		for _, value := range values {
			total += len(name) + len(value) + len(": \r\n")
		}
	}
	return total
}

// methodName keeps text of strangers out of logs and metrics.
func methodName(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// logRequest writes the one line of a request: the pattern of its route and never the path or query, in which
// secrets may stand.
func (t *Table) logRequest(c echo.Context, id, method, route, code string, status int, took time.Duration) {
	level := slog.LevelInfo
	if t.quiet[route] && status < http.StatusBadRequest {
		level = slog.LevelDebug
	}
	ctx := c.Request().Context()
	if !t.logger.Enabled(ctx, level) {
		return
	}
	var room [9]slog.Attr
	attrs := append(room[:0],
		slog.String("request_id", id), slog.String("method", method), slog.String("route", route),
		slog.Int("status", status), slog.Int64("bytes", c.Response().Size), slog.Int64("microseconds", took.Microseconds()),
	)
	if code != "" {
		attrs = append(attrs, slog.String("code", code))
	}
	if p := auth.PrincipalOf(c); p.UserID() != 0 {
		attrs = append(attrs, slog.Int64("user", p.UserID()))
		if p.TokenID() != 0 {
			attrs = append(attrs, slog.Int64("token", p.TokenID()))
		}
	}
	t.logger.LogAttrs(ctx, level, "request", attrs...)
}
