package routes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/streams"
)

func fine(c echo.Context, _ auth.Principal) error { return c.NoContent(204) }

func open204(c echo.Context) error { return c.NoContent(204) }

// A row that could be entered other than it reads stops the start and is named with method and path.
func TestABadRowStopsTheStart(t *testing.T) {
	t.Parallel()
	upload := func(echo.Context, auth.Principal, io.Reader) error { return nil }
	stream := func(echo.Context, auth.Principal, budgets.Purse, streams.Opener) error { return nil }
	for name, declare := range map[string]func(*routes.Table){
		"empty scope": func(t *routes.Table) { t.Token("GET", "/api/v1/x", auth.Scope{}, fine, said) },
		"declared twice": func(t *routes.Table) {
			t.Account("GET", "/api/v1/x", fine, said)
			t.Token("GET", "/api/v1/x", auth.Read, fine, said)
		},
		"other parameter name": func(t *routes.Table) {
			t.Token("GET", "/api/v1/x/:a", auth.Read, fine, said)
			t.Token("DELETE", "/api/v1/x/:b", auth.Delete, fine, said)
		},
		"parameter named id":   func(t *routes.Table) { t.Token("GET", "/api/v1/x/:id", auth.Read, fine, said) },
		"wildcard":             func(t *routes.Table) { t.Token("GET", "/api/v1/x/*", auth.Read, fine, said) },
		"empty part":           func(t *routes.Table) { t.Token("GET", "/api/v1/x/", auth.Read, fine, said) },
		"unknown prefix":       func(t *routes.Table) { t.Token("GET", "/x", auth.Read, fine, said) },
		"token beside the API": func(t *routes.Table) { t.Token("GET", "/api/x", auth.Read, fine, said) },
		"prefix of a probe":    func(t *routes.Table) { t.Public("GET", "/healthzzz", "because", open204, said) },
		"no reason":            func(t *routes.Table) { t.Public("GET", "/api/x", "", open204, said) },
		"public by account": func(t *routes.Table) {
			t.Public("GET", "/api/x", "because", open204, said, routes.Limit(limits.Status))
		},
		"uncounted token row":  func(t *routes.Table) { t.Token("GET", "/api/v1/x", auth.Read, fine, said, routes.Uncounted()) },
		"change by read alone": func(t *routes.Table) { t.Token("POST", "/api/v1/x", auth.Read, fine, said) },
		"replaced write limit": func(t *routes.Table) {
			t.Token("POST", "/api/v1/x", auth.Write, fine, said, routes.InPlaceOfRead(limits.Status))
		},
		"no bound": func(t *routes.Table) {
			t.Upload("POST", "/api/v1/x", auth.Upload, 0, budgets.Later(budgets.Transcription), upload, said)
		},
		"stream of a GET":       func(t *routes.Table) { t.Answer("GET", "/api/v1/x", auth.Process, budgets.Text, stream, said) },
		"stream of a write row": func(t *routes.Table) { t.Answer("POST", "/api/v1/x", auth.Write, budgets.Text, stream, said) },
		"stream of no price":    func(t *routes.Table) { t.Answer("POST", "/api/v1/x", auth.Process, budgets.Price{}, stream, said) },
		"unknown method":        func(t *routes.Table) { t.Token("FETCH", "/api/v1/x", auth.Write, fine, said) },
		"HEAD of its own":       func(t *routes.Table) { t.Token("HEAD", "/api/v1/x", auth.Read, fine, said) },
		"limit without figure": func(t *routes.Table) {
			t.Token("GET", "/api/v1/x", auth.Read, fine, said, routes.Limit(&limits.Plan{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				got := recover()
				if got == nil {
					t.Fatal("the row was taken")
				}
				if text := fmt.Sprint(got); !strings.Contains(text, " /") {
					t.Errorf("the panic does not name the row: %s", text)
				}
			}()
			open(t, plan{declare: func(table *routes.Table, _ *house) { declare(table) }})
		})
	}
}

// The table shows every limit of a row with its figure, also one that is switched off or taken by the story.
func TestTheTableShowsItsGuards(t *testing.T) {
	t.Parallel()
	h := open(t, plan{figures: map[*limits.Plan][]limits.Rate{
		limits.TokenProcess:   nil,
		limits.SessionAddress: {{Limit: 1000, Period: time.Hour}, {Limit: 5000, Period: 24 * time.Hour}},
	}})
	var text bytes.Buffer
	if err := h.table.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	shown := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{
		"every request: request id, access log,",
		"every answer 401: auth_failures 1000 per 1m0s, counts all requests",
		"GET /healthz public scopes=- category=- body=2097152 anyone: load balancers have no token uncounted",
		"POST /api/v1/recordings/:recording/transcribe paid scopes=process category=process body=2097152 a token with the scope, or a session" +
			" spends, transcription: 402 when nothing is left works a request with an Idempotency-Key once account_process 1000 per 1m0s, counts token requests token_process off, counts token requests organization_ai",
		"session_address 1000 per 1h0m0s; 5000 per 24h0m0s, counts session requests",
		"token_create 1000 per 1m0s, counts all requests, taken by the story",
		"GET /api/v1/users/me token scopes=any valid token category=read body=2097152 any valid token or session",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the table does not show %q:\n%s", want, text.String())
		}
	}
	var parsed struct {
		Routes []struct {
			Method, Path string
			Limits       []struct{ Name string }
		}
	}
	var out bytes.Buffer
	if err := h.table.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &parsed); err != nil || len(parsed.Routes) != len(h.table.Rows()) {
		t.Errorf("%d routes as JSON, %v", len(parsed.Routes), err)
	}
}
