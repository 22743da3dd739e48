package routes_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	h := open(t, plan{})
	for _, plain := range []string{"abc", "7f9c24e8-3b12-4fef-91e0-1a2b3c4d5e6f", "a_b.c-1"} {
		if got := h.call("GET", "/healthz", header("X-Request-ID", plain)).Header.Get("X-Request-ID"); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
	for _, bad := range []string{"", "a b", `x"y`, "<script>", strings.Repeat("a", 41), h.token(1, "full"), "ä"} {
		got := h.call("GET", "/healthz", header("X-Request-ID", bad)).Header.Get("X-Request-ID")
		if got == bad || len(got) < 16 {
			t.Errorf("%q became %q, want an id of ours", bad, got)
		}
	}
}

func TestEveryAnswerCarriesItsHeaders(t *testing.T) {
	t.Parallel()
	h := open(t, plan{})
	for _, a := range []answer{
		h.call("GET", "/healthz"), h.call("GET", "/nowhere"), h.call("GET", "/api/v1/recordings"), h.call("OPTIONS", "/api/v1/recordings"),
	} {
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
		} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%d: %s is %q", a.StatusCode, name, got)
			}
		}
		if !strings.Contains(a.Header.Get("X-Robots-Tag"), "noindex") || a.Header.Get("X-Request-ID") == "" {
			t.Errorf("%d: headers %v", a.StatusCode, a.Header)
		}
	}
}

func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	h := open(t, plan{})
	token := bearer(h.token(1, "full"))
	h.want(h.call("GET", "/api/v1/recordings", token, header("X-Long", strings.Repeat("x", 31<<10))), 200, "")
	h.want(h.call("GET", "/api/v1/recordings", token, header("X-Long", strings.Repeat("x", 32<<10))), 431, "headers_too_large")
	h.want(h.call("GET", "/api/v1/recordings", header("X-Long", strings.Repeat("x", 32<<10))), 431, "headers_too_large")
	many := func(r *http.Request) {
		for range 3000 {
			r.Header.Add("X-Many", "0123456789")
		}
	}
	h.want(h.call("GET", "/healthz", many), 431, "headers_too_large")
	h.want(h.call("GET", "/healthz?"+strings.Repeat("q", 33<<10)), 431, "headers_too_large")
}

// Tokens reach no log: neither from the query, nor the path, nor a header, on good, missing and failing paths.
func TestTokensReachNoLog(t *testing.T) {
	t.Parallel()
	h := open(t, plan{allowQuery: true})
	token, cookieValue := h.token(1, "full"), h.session(1)
	var answers []answer
	for _, path := range []string{"/api/v1/recordings", "/nowhere", "/api/v1/recordings/upload", "/api/v1/recordings/" + token, "/" + token} {
		answers = append(answers,
			h.call("GET", path+"?token="+token), h.call("POST", path+"?token="+token),
			h.call("GET", path, bearer(token)), h.call("GET", path, header("X-Request-ID", token)), h.call("GET", path, cookie(cookieValue)))
	}
	for _, a := range answers {
		if strings.Contains(a.text, token) || strings.Contains(strings.Join(a.Header["X-Request-Id"], ""), token) {
			t.Errorf("the token stands in an answer: %s", a.text)
		}
	}
	if log := h.log.String(); strings.Contains(log, token) || strings.Contains(log, cookieValue) || !strings.Contains(log, `"route":"/api/v1/recordings"`) {
		t.Errorf("log: %s", log)
	}
}
