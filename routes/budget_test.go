package routes_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
)

var policyName = regexp.MustCompile(`"([a-z_0-9]+)"`)

// stackOf lists the limits that an answer's RateLimit-Policy names.
func stackOf(a answer) string {
	var names []string
	for _, match := range policyName.FindAllStringSubmatch(a.Header.Get("RateLimit-Policy"), -1) {
		names = append(names, match[1])
	}
	return strings.Join(names, " ")
}

// The stack of a row follows from its category and from who calls.
func TestStackOfARow(t *testing.T) {
	t.Parallel()
	h := open(t, plan{figures: map[*limits.Plan][]limits.Rate{
		limits.SessionAddress: {{Limit: 900, Period: time.Hour}, {Limit: 5000, Period: 24 * time.Hour}},
	}})
	token, session := bearer(h.token(1, "full")), cookie(h.session(1))
	for _, row := range []struct {
		method, path, byToken, bySession string
	}{
		{"GET", "/api/v1/recordings", "account_read token_read", ""},
		{"GET", "/api/v1/users/me", "account_read token_read", ""},
		{"DELETE", "/api/v1/recordings/1", "account_write token_write", ""},
		{"POST", "/api/v1/recordings/upload", "account_write token_write", ""},
		{"GET", "/api/v1/recordings/1/status", "status", "status "},
		{
			"POST", "/api/v1/recordings/1/transcribe",
			"account_process token_process organization_ai user_ai address_ai", "organization_ai user_ai address_ai ",
		},
	} {
		if got := stackOf(h.call(row.method, row.path, token)); got != row.byToken {
			t.Errorf("%s %s by token: %s, want %s", row.method, row.path, got, row.byToken)
		}
		want := row.bySession + "session_address_3600 session_address_86400"
		if got := stackOf(h.call(row.method, row.path, session)); got != want {
			t.Errorf("%s %s by session: %s, want %s", row.method, row.path, got, want)
		}
	}
	if got := stackOf(h.call("DELETE", "/api/tokens/1", session)); got != "token_change session_address_3600 session_address_86400" {
		t.Errorf("a row's own limit: %s", got)
	}
}

func TestCategoryComesFromTheScopesAlone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		scopes []auth.Scope
		want   auth.Category
	}{
		{nil, auth.CategoryRead},
		{[]auth.Scope{auth.AnyToken}, auth.CategoryRead},
		{[]auth.Scope{auth.Read}, auth.CategoryRead},
		{[]auth.Scope{auth.Read, auth.Write}, auth.CategoryWrite},
		{[]auth.Scope{auth.Upload}, auth.CategoryWrite},
		{[]auth.Scope{auth.Webhooks}, auth.CategoryWrite},
		{[]auth.Scope{auth.Write, auth.Process}, auth.CategoryProcess},
	} {
		if got := auth.CategoryOf(row.scopes...); got != row.want {
			t.Errorf("%v is %s, want %s", row.scopes, got, row.want)
		}
	}
}

func TestARefusalNamesItsLimitAndChargesNone(t *testing.T) {
	t.Parallel()
	h := open(t, plan{figures: map[*limits.Plan][]limits.Rate{limits.TokenRead: perMinute(5), limits.AccountRead: perMinute(8)}})
	var tokens []string
	for range 3 {
		tokens = append(tokens, h.finder.Mint(auth.Token{ID: int64(len(tokens) + 1), UserID: 1, OrganizationID: 1, Scopes: auth.FullScopes()}))
	}
	get := func(token string) answer { return h.call("GET", "/api/v1/recordings", bearer(token)) }
	for range 5 {
		h.want(get(tokens[0]), 200, "")
	}
	sixth := get(tokens[0])
	h.want(sixth, 429, "token_rate_limit_exceeded")
	if sixth.Header.Get("Retry-After") == "" || sixth.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("headers %v", sixth.Header)
	}
	for range 3 {
		h.want(get(tokens[1]), 200, "")
	}
	h.want(get(tokens[1]), 429, "account_rate_limit_exceeded")
	h.want(get(tokens[2]), 429, "account_rate_limit_exceeded")
	h.want(h.call("DELETE", "/api/v1/recordings/1", bearer(tokens[0])), 200, "")
	limit, _ := get(tokens[2]).json(t)["limit"].(map[string]any)
	if limit["name"] != "account_read" || limit["scope"] != "account" || limit["limit"] != 8.0 || limit["window_seconds"] != 60.0 {
		t.Errorf("limit %v", limit)
	}
	if h.counts.Refused.Load() == 0 {
		t.Error("refusals are not counted")
	}
}

// On a refusal Reset is the present moment, rounded up, plus Retry-After, and t is Retry-After.
func TestTheHeadersOfARefusalAgree(t *testing.T) {
	t.Parallel()
	h := open(t, plan{figures: map[*limits.Plan][]limits.Rate{limits.TokenRead: perMinute(1)}})
	token := bearer(h.token(1, "full"))
	h.want(h.call("GET", "/api/v1/recordings", token), 200, "")
	for range 40 {
		h.now = h.now.Add(137 * time.Millisecond)
		a := h.call("GET", "/api/v1/recordings", token)
		h.want(a, 429, "token_rate_limit_exceeded")
		wait, _ := strconv.ParseInt(a.Header.Get("Retry-After"), 10, 64)
		reset, _ := strconv.ParseInt(a.Header.Get("X-RateLimit-Reset"), 10, 64)
		if up := h.now.Add(time.Second - 1).Unix(); reset != up+wait {
			t.Errorf("at %v: Reset %d, Retry-After %d", h.now, reset, wait)
		}
		if want := fmt.Sprintf(`"token_read";r=0;t=%d`, wait); !strings.Contains(a.Header.Get("RateLimit"), want) {
			t.Errorf("RateLimit %s, want %s", a.Header.Get("RateLimit"), want)
		}
	}
}

// 401s are counted by address and end as 429; a valid credential never meets that limit, and 403 does not count.
func TestAnswers401AreLimited(t *testing.T) {
	t.Parallel()
	h := open(t, plan{figures: map[*limits.Plan][]limits.Rate{limits.AuthFailures: perMinute(3)}})
	token, narrow := h.token(1, "full"), h.token(1, "read")
	for range 5 {
		h.want(h.call("DELETE", "/api/v1/recordings/1", bearer(narrow)), 403, "")
	}
	for remaining := 2; remaining >= 0; remaining-- {
		a := h.call("GET", "/api/v1/recordings", bearer("bad"))
		h.want(a, 401, "invalid_token")
		if got := a.Header.Get("X-RateLimit-Remaining"); got != string(rune('0'+remaining)) {
			t.Errorf("remaining %q, want %d", got, remaining)
		}
	}
	for _, changes := range [][]change{{bearer("bad")}, nil, {cookie("gone")}} {
		a := h.call("GET", "/api/v1/recordings", changes...)
		h.want(a, 429, "address_rate_limit_exceeded")
		if a.Header.Get("WWW-Authenticate") != "" || a.Header.Get("Retry-After") == "" {
			t.Errorf("headers of the 429: %v", a.Header)
		}
	}
	h.want(h.call("GET", "/api/v1/recordings", bearer(token)), 200, "")
	h.want(h.call("GET", "/api/v1/recordings", from("192.0.2.2:1")), 401, "")
	h.now = h.now.Add(62 * time.Second)
	h.want(h.call("GET", "/api/v1/recordings"), 401, "")
}

func TestIPv6IsCountedByItsNetwork(t *testing.T) {
	t.Parallel()
	h := open(t, plan{figures: map[*limits.Plan][]limits.Rate{limits.AuthFailures: perMinute(2)}})
	h.want(h.call("GET", "/api/v1/recordings", from("[2001:db8:1:2::1]:1")), 401, "")
	h.want(h.call("GET", "/api/v1/recordings", from("[2001:db8:1:2::2]:1")), 401, "")
	h.want(h.call("GET", "/api/v1/recordings", from("[2001:db8:1:2:ffff::3]:1")), 429, "")
	h.want(h.call("GET", "/api/v1/recordings", from("[2001:db8:1:3::1]:1")), 401, "")
	h.want(h.call("GET", "/api/v1/recordings", from("[::ffff:192.0.2.7]:1")), 401, "")
	h.want(h.call("GET", "/api/v1/recordings", from("192.0.2.7:1")), 401, "")
	h.want(h.call("GET", "/api/v1/recordings", from("192.0.2.7:1")), 429, "")
}

func TestPublicRowsCountByAddress(t *testing.T) {
	t.Parallel()
	h := open(t, plan{figures: map[*limits.Plan][]limits.Rate{
		limits.SessionAddress: perMinute(3), limits.PublicAddress: perMinute(2), limits.Login: perMinute(50), limits.AuthFailures: nil,
	}})
	right := header("Right", "yes")
	if got := stackOf(h.call("POST", "/api/auth/login", right)); got != "login session_address" {
		t.Errorf("stack %s", got)
	}
	h.want(h.call("POST", "/api/auth/login", right, cookie("whatever")), 204, "")
	h.want(h.call("POST", "/api/auth/login", right), 204, "")
	h.want(h.call("POST", "/api/auth/login", right), 429, "address_rate_limit_exceeded")
	for range 2 {
		h.want(h.call("POST", "/api/auth/login", right, bearer("not looked at")), 204, "")
	}
	h.want(h.call("POST", "/api/auth/login", right, bearer("not looked at")), 429, "address_rate_limit_exceeded")
	for range 20 {
		h.want(h.call("GET", "/healthz"), 200, "")
	}
	if h.finder.Lookups() != 0 {
		t.Error("a credential was looked up on a public row")
	}
}

func TestAFailedLoginShowsItsBudget(t *testing.T) {
	t.Parallel()
	h := open(t, plan{figures: map[*limits.Plan][]limits.Rate{limits.Login: perMinute(3), limits.AuthFailures: perMinute(2)}})
	a := h.call("POST", "/api/auth/login")
	h.want(a, 401, "invalid_credentials")
	if got := stackOf(a); got != "login session_address auth_failures" || a.Header.Get("X-RateLimit-Remaining") != "1" {
		t.Errorf("stack %s, remaining %s", got, a.Header.Get("X-RateLimit-Remaining"))
	}
	h.want(h.call("POST", "/api/auth/login"), 401, "")
	h.want(h.call("POST", "/api/auth/login"), 429, "address_rate_limit_exceeded")
}

// What a handler sets itself does not reach the client in place of what the guard has to say.
func TestHandlersCannotBypassTheHeaders(t *testing.T) {
	t.Parallel()
	h := open(t, bare("GET", "/api/v1/recordings", auth.Read, func(c echo.Context, _ auth.Principal) error {
		for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit", "RateLimit-Policy"} {
			c.Response().Header().Set(name, "forged")
		}
		c.Response().Header().Set("Cache-Control", "public, max-age=60")
		c.Response().WriteHeader(http.StatusOK)
		return nil
	}))
	a := h.call("GET", "/api/v1/recordings", bearer(h.token(1, "full")))
	h.want(a, 200, "")
	for name, values := range a.Header {
		if strings.Contains(strings.Join(values, ""), "forged") {
			t.Errorf("%s is what the handler said", name)
		}
	}
	if a.Header.Get("Cache-Control") != "private" || a.Header.Get("Vary") != "Authorization, X-API-Token, API-Token, Cookie" {
		t.Errorf("Cache-Control %q, Vary %q", a.Header.Get("Cache-Control"), a.Header.Get("Vary"))
	}
}

// A limit that a story takes itself is told with those of the guard, admitted or not.
func TestALimitTakenByTheStoryIsTold(t *testing.T) {
	t.Parallel()
	store := limits.NewMemory(time.Now)
	h := open(t, plan{store: store, declare: func(table *routes.Table, _ *house) {
		table.Account("POST", "/api/tokens", func(c echo.Context, p auth.Principal) error {
			decision, err := store.Take(c.Request().Context(), []limits.Limit{{
				Plan: limits.TokenCreate, Key: limits.Key{Org: p.OrganizationID(), ID: p.UserID()}, Rate: perMinute(1)[0], Cost: 1,
			}}, nil)
			if err != nil {
				return err
			}
			if !decision.Admitted {
				return &limits.Refusal{Decision: decision}
			}
			auth.AddDecision(c, decision.States)
			return c.NoContent(http.StatusCreated)
		}, said, routes.OwnLimit(limits.TokenCreate))
	}})
	session := cookie(h.session(1))
	first := h.call("POST", "/api/tokens", session)
	h.want(first, 201, "")
	if got := stackOf(first); got != "account_read token_read token_create" && got != "session_address token_create" {
		t.Errorf("stack %s", got)
	}
	if first.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("remaining %s", first.Header.Get("X-RateLimit-Remaining"))
	}
	second := h.call("POST", "/api/tokens", session)
	h.want(second, 429, "user_rate_limit_exceeded")
	if got := stackOf(second); got != "session_address token_create" || second.Header.Get("Retry-After") == "" {
		t.Errorf("stack %s, headers %v", got, second.Header)
	}
	if counted := h.counts.Refused.Load(); counted != 1 {
		t.Errorf("%d refusals were counted, want that of the story", counted)
	}
}

func TestStanding(t *testing.T) {
	t.Parallel()
	h := open(t, plan{figures: map[*limits.Plan][]limits.Rate{limits.UserAI: nil}})
	token, session := bearer(h.token(1, "read")), cookie(h.session(2))
	h.call("POST", "/api/v1/recordings/1/transcribe", bearer(h.token(1, "full")))
	got := h.call("GET", "/api/v1/limits", token).json(t)
	for name, remaining := range map[string]float64{
		"account_read": 999, "token_read": 999, "account_process": 999, "token_process": 1000, "organization_ai": 999, "address_ai": 999, "status": 1000,
	} {
		if got[name] != remaining {
			t.Errorf("%s has %v left, want %v", name, got[name], remaining)
		}
	}
	for _, absent := range []string{"user_ai", "session_address", "token_create"} {
		if _, ok := got[absent]; ok {
			t.Errorf("%s does not apply and is listed", absent)
		}
	}
	got = h.call("GET", "/api/v1/limits", session).json(t)
	if _, ok := got["token_read"]; ok || got["session_address"] != 999.0 || got["token_create"] != 1000.0 {
		t.Errorf("of a session: %v", got)
	}
}

func TestAForgottenFigureStopsTheStart(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a guard was made without a figure for a limit")
		}
	}()
	figures := ample()
	delete(figures, limits.TokenRead)
	limits.NewInForce(figures, nil)
}
