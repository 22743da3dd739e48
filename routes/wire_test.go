package routes_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// serve listens on a free port, as the bounds on bodies and answers need a connection.
func (h *house) serve() *httptest.Server {
	server := httptest.NewServer(h.table.Handler())
	h.t.Cleanup(server.Close)
	return server
}

// send writes raw text on a new connection and reads one answer.
func send(t *testing.T, server *httptest.Server, text string) answer {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	body, _ := io.ReadAll(response.Body)
	return answer{response, string(body)}
}

func TestMethodsAndPaths(t *testing.T) {
	t.Parallel()
	h := open(t, plan{})
	token := bearer(h.token(1, "full"))
	server := h.serve()
	for _, row := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/api/v1/recordings", 200, ""},
		{"HEAD", "/api/v1/recordings", 200, ""},
		{"OPTIONS", "/api/v1/recordings", 204, "OPTIONS, GET, HEAD"},
		{"DELETE", "/api/v1/recordings", 405, "OPTIONS, GET, HEAD"},
		{"OPTIONS", "/api/v1/recordings/7", 204, "OPTIONS, DELETE, GET, HEAD"},
		{"PATCH", "/api/v1/recordings/7", 405, "OPTIONS, DELETE, GET, HEAD"},
		{"GET", "/api/v1/recordings/upload", 405, "OPTIONS, POST"},
		{"DELETE", "/api/v1/recordings/upload", 405, "OPTIONS, POST"},
		{"BREW", "/api/v1/recordings", 405, "OPTIONS, GET, HEAD"},
		{"GET", "/api/v1/nowhere", 404, ""},
		{"GET", "/api/v1/recordings/", 404, ""},
		{"OPTIONS", "/nowhere", 404, ""},
	} {
		t.Run(row.method+" "+row.path, func(t *testing.T) {
			r, _ := http.NewRequest(row.method, server.URL+row.path, nil)
			token(r)
			response, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, _ := io.ReadAll(response.Body)
			a := answer{response, string(text)}
			if a.StatusCode != row.status {
				t.Fatalf("status %d, want %d: %s", a.StatusCode, row.status, a.text)
			}
			if sorted(a.Header.Get("Allow")) != sorted(row.allow) {
				t.Errorf("Allow %q, want %q", a.Header.Get("Allow"), row.allow)
			}
			switch {
			case row.status == 404 || row.status == 405:
				if want := map[int]string{404: "not_found", 405: "method_not_allowed"}[row.status]; a.code(t) != want {
					t.Errorf("code %q", a.code(t))
				}
			case row.method == "OPTIONS" && a.Header.Get("RateLimit") != "":
				t.Error("OPTIONS was counted")
			case row.method == "HEAD" && (a.text != "" || a.Header.Get("RateLimit") == "" || a.ContentLength <= 0):
				t.Errorf("HEAD must be GET without its body: %q %v", a.text, a.Header)
			}
		})
	}
}

func sorted(list string) string {
	parts := strings.Split(list, ", ")
	for i := range parts {
		for j := i + 1; j < len(parts); j++ {
			if parts[j] < parts[i] {
				parts[i], parts[j] = parts[j], parts[i]
			}
		}
	}
	return strings.Join(parts, ", ")
}

func TestIDs(t *testing.T) {
	t.Parallel()
	h := open(t, bare("GET", "/api/v1/recordings/:recording", auth.Read, func(c echo.Context, _ auth.Principal) error {
		id, err := routes.IDParam(c, "recording")
		if err != nil {
			return err
		}
		return c.String(http.StatusOK, fmt.Sprint(id))
	}))
	token := bearer(h.token(1, "full"))
	for _, id := range []string{"1", "9223372036854775807"} {
		h.want(h.call("GET", "/api/v1/recordings/"+id, token), 200, "")
	}
	for _, id := range []string{"0", "007", "00001", "-1", "+1", "abc", "1.5", "1e3", "9223372036854775808", strings.Repeat("9", 300), "%31%00", "1/2", "%20", "٣"} {
		h.want(h.call("GET", "/api/v1/recordings/"+id, token), 404, "not_found")
	}
}

func TestAHandlerHasItsTime(t *testing.T) {
	t.Parallel()
	waits := func(c echo.Context, _ auth.Principal) error {
		<-c.Request().Context().Done()
		return fmt.Errorf("ask the database: %w", c.Request().Context().Err())
	}
	p := bare("GET", "/api/v1/slow", auth.Read, waits)
	p.timeouts.Handler = 20 * time.Millisecond
	h := open(t, p)
	a := h.call("GET", "/api/v1/slow", bearer(h.token(1, "full")))
	h.want(a, 503, "timeout")
	if a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

func TestALongAnswerIsNotCutOff(t *testing.T) {
	t.Parallel()
	p := bare("GET", "/api/v1/long", auth.Read, func(c echo.Context, _ auth.Principal) error {
		if _, limited := c.Request().Context().Deadline(); limited {
			return errors.New("the row has a deadline")
		}
		return c.NoContent(http.StatusNoContent)
	}, routes.LongAnswer())
	h := open(t, p)
	h.want(h.call("GET", "/api/v1/long", bearer(h.token(1, "full"))), 204, "")
}

func TestAClientThatLeavesIsNotAnError(t *testing.T) {
	t.Parallel()
	h := open(t, bare("GET", "/api/v1/slow", auth.Read, func(c echo.Context, _ auth.Principal) error {
		return fmt.Errorf("ask the database: %w", c.Request().Context().Err())
	}))
	gone, leave := context.WithCancel(t.Context())
	a := h.call("GET", "/api/v1/slow", bearer(h.token(1, "full")), func(r *http.Request) { leave(); *r = *r.WithContext(gone) })
	h.want(a, 503, "server_stopping")
	if log := h.log.String(); !strings.Contains(log, `"status":499`) || strings.Contains(log, "request failed") {
		t.Errorf("log: %s", log)
	}
}

// The caller of a failure that is not its own sees a request id and nothing else; the log has the whole of it.
func TestInternalErrorsAreLoggedWholeAndShownBare(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]func(echo.Context, auth.Principal) error{
		"error": func(echo.Context, auth.Principal) error {
			return fmt.Errorf("find: %w", errors.New("secret detail"))
		},
		"panic":   func(echo.Context, auth.Principal) error { panic("secret detail") },
		"unnamed": func(echo.Context, auth.Principal) error { return &problems.Error{Message: "secret detail"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, bare("GET", "/api/v1/things/:thing", auth.Read, handler))
			a := h.call("GET", "/api/v1/things/private-name", bearer(h.token(1, "full")), header("X-Request-ID", "abc-123"))
			h.want(a, 500, "internal")
			if strings.Contains(a.text, "secret") || a.json(t)["request_id"] != "abc-123" || a.Header.Get("RateLimit") == "" {
				t.Errorf("body %s, headers %v", a.text, a.Header)
			}
			log := h.log.String()
			if !strings.Contains(log, "secret detail") || !strings.Contains(log, "abc-123") || strings.Contains(log, "private-name") {
				t.Errorf("log %s", log)
			}
		})
	}
}

// An answer that broke after its first bytes must not look whole.
func TestABrokenAnswerBreaksTheConnection(t *testing.T) {
	t.Parallel()
	h := open(t, bare("GET", "/api/v1/things", auth.Read, func(c echo.Context, _ auth.Principal) error {
		_, _ = c.Response().Write([]byte("half"))
		c.Response().Flush()
		return errors.New("storage failed")
	}))
	r, _ := http.NewRequest("GET", h.serve().URL+"/api/v1/things", nil)
	bearer(h.token(1, "full"))(r)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("the answer %q ends as if it were whole", text)
	}
}
