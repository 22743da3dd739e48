package routes_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/routes"
)

const ours = "https://app.example.org"

func preflight(method string) change {
	return func(r *http.Request) {
		r.Header.Set("Access-Control-Request-Method", method)
		r.Header.Set("Access-Control-Request-Headers", "authorization")
	}
}

// CORS: every answer to an allowed origin can be read by its page, whatever it is, and no other answer can.
func TestEveryAnswerCanBeReadByAnAllowedOrigin(t *testing.T) {
	t.Parallel()
	h := open(t, plan{origins: []string{ours, "http://localhost:5173"}, declare: func(table *routes.Table, h *house) {
		declareAll(table, h)
		table.Public("GET", "/api/panic", "it is tested", func(echo.Context) error { panic("a row that breaks") }, said)
	}})
	token := bearer(h.token(1, "read"))
	big := func(r *http.Request) { body("{}")(r); r.ContentLength = 1 << 40 }
	for status, call := range map[int]func(...change) answer{
		200: func(c ...change) answer { return h.call("GET", "/api/v1/recordings", append(c, token)...) },
		204: func(c ...change) answer { return h.call("OPTIONS", "/api/v1/recordings", c...) },
		401: func(c ...change) answer { return h.call("GET", "/api/v1/recordings", c...) },
		403: func(c ...change) answer { return h.call("DELETE", "/api/v1/recordings/7", append(c, token)...) },
		404: func(c ...change) answer { return h.call("GET", "/nowhere", c...) },
		405: func(c ...change) answer { return h.call("DELETE", "/api/v1/recordings", append(c, token)...) },
		413: func(c ...change) answer { return h.call("POST", "/api/auth/login", append(c, big)...) },
		431: func(c ...change) answer {
			return h.call("GET", "/healthz", append(c, header("X-Long", strings.Repeat("x", 33<<10)))...)
		},
		500: func(c ...change) answer { return h.call("GET", "/api/panic", c...) },
	} {
		for _, origin := range []string{ours, "http://localhost:5173"} {
			a := call(header("Origin", origin))
			readable := a.Header.Get("Access-Control-Expose-Headers")
			for _, exposed := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit", "RateLimit-Policy", "Retry-After", "ETag", "Idempotent-Replayed", "X-Request-ID"} {
				if !strings.Contains(readable+",", exposed+",") {
					t.Errorf("%d: %s is not exposed: %q", status, exposed, readable)
				}
			}
			if got := a.Header.Values("Access-Control-Allow-Origin"); len(got) != 1 || got[0] != origin || a.StatusCode != status {
				t.Errorf("%d: %d allows %q to %q", status, a.StatusCode, got, origin)
			}
		}
		for _, foreign := range []change{
			header("Origin", "https://app.example.org.evil.example"), header("Origin", "null"), header("Origin", "*"), header("Origin", ours+"/"),
			header("Origin", "http://app.example.org"), header("Origin", strings.ToUpper(ours)), header("Origin", ""), func(*http.Request) {},
			func(r *http.Request) { r.Header["Origin"] = []string{ours, "https://evil.example"} },
		} {
			a := call(foreign)
			for sent := range a.Header {
				if strings.HasPrefix(sent, "Access-Control-") {
					t.Errorf("%d: a foreign origin is sent %s", status, sent)
				}
			}
			if a.StatusCode != status || !strings.Contains(strings.Join(a.Header.Values("Vary"), ","), "Origin") {
				t.Errorf("%d: %d with Vary %q", status, a.StatusCode, a.Header.Values("Vary"))
			}
		}
	}
}

// CORS: a preflight of an allowed origin is answered before the guard, counts nowhere, and tells the methods of the path.
func TestPreflights(t *testing.T) {
	t.Parallel()
	h := open(t, plan{origins: []string{ours}})
	for path, methods := range map[string]string{
		"/api/v1/recordings": "GET, HEAD", "/api/v1/recordings/7": "DELETE, GET, HEAD", "/api/v1/recordings/upload": "POST",
		"/api/tokens": "GET, HEAD, POST", "/nowhere": "DELETE, GET, HEAD, PATCH, POST, PUT",
	} {
		a := h.call("OPTIONS", path, header("Origin", ours), preflight("GET"))
		if a.StatusCode != 204 || a.text != "" || a.Header.Get("Access-Control-Allow-Methods") != methods ||
			a.Header.Get("Access-Control-Allow-Origin") != ours || a.Header.Get("Access-Control-Max-Age") != "7200" || a.Header.Get("RateLimit") != "" {
			t.Errorf("%s: %d %q %v", path, a.StatusCode, a.text, a.Header)
		}
		for _, sendable := range []string{"Authorization", "X-API-Token", "API-Token", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "X-Request-ID"} {
			if !strings.Contains(", "+a.Header.Get("Access-Control-Allow-Headers")+",", ", "+sendable+",") {
				t.Errorf("%s: %s may not be sent", path, sendable)
			}
		}
		if a.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: cookies may be sent", path)
		}
	}
	foreign := h.call("OPTIONS", "/api/v1/recordings", header("Origin", "https://evil.example"), preflight("GET"))
	if foreign.StatusCode != 204 || foreign.Header.Get("Access-Control-Allow-Methods")+foreign.Header.Get("Access-Control-Allow-Origin") != "" || foreign.Header.Get("Allow") == "" {
		t.Errorf("a foreign preflight: %d %v", foreign.StatusCode, foreign.Header)
	}
	h.want(h.call("OPTIONS", "/nowhere", header("Origin", "https://evil.example"), preflight("GET")), 404, "not_found")
	h.want(h.call("OPTIONS", "/healthz", header("Origin", ours), preflight("GET"), header("X-Long", strings.Repeat("x", 33<<10))), 431, "headers_too_large")
}

// CORS: without the setting no answer speaks of origins.
func TestWithoutOriginsNothingIsSaid(t *testing.T) {
	t.Parallel()
	h := open(t, plan{})
	for _, method := range []string{"GET", "OPTIONS"} {
		a := h.call(method, "/healthz", header("Origin", ours), preflight("GET"))
		if a.Header.Get("Access-Control-Allow-Origin") != "" || len(a.Header.Values("Vary")) != 0 {
			t.Errorf("%s: %v", method, a.Header)
		}
	}
}
