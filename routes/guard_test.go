package routes_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// login lets in who sends the header Right.
func login(c echo.Context) error {
	if c.Request().Header.Get("Right") == "" {
		return problems.New(problems.InvalidCredentials, "The e-mail address or the password is wrong.")
	}
	return c.NoContent(http.StatusNoContent)
}

func TestCredentialsByName(t *testing.T) {
	t.Parallel()
	h := open(t, plan{})
	full, scoped, other := h.token(1, "full"), h.token(1, "read"), h.token(2, "full")
	session, rival := h.session(1), h.session(2)
	h.finder.Import("imported-token_from.elsewhere", auth.Token{ID: 7, UserID: 1, OrganizationID: 10, Scopes: auth.FullScopes()})
	for _, row := range []struct {
		name    string
		changes []change
		target  string
		status  int
		code    string
	}{
		{name: "nothing", status: 401, code: "authentication_required"},
		{name: "Bearer", changes: []change{bearer(full)}, status: 200},
		{name: "lower-case bearer", changes: []change{header("Authorization", "bearer "+full)}, status: 200},
		{name: "two spaces", changes: []change{header("Authorization", "BEARER  "+full)}, status: 200},
		{name: "a tab", changes: []change{header("Authorization", "Bearer\t"+full)}, status: 200},
		{name: "trailing newline", changes: []change{header("Authorization", "Bearer "+full+"\n")}, status: 200},
		{name: "X-API-Token", changes: []change{header("X-API-Token", full)}, status: 200},
		{name: "API-Token", changes: []change{header("API-Token", " "+full+" ")}, status: 200},
		{name: "imported", changes: []change{bearer("imported-token_from.elsewhere")}, status: 200},
		{name: "Basic alone", changes: []change{header("Authorization", "Basic "+full)}, status: 401, code: "invalid_token"},
		{name: "no scheme", changes: []change{header("Authorization", full)}, status: 401, code: "invalid_token"},
		{name: "Basic of a proxy beside a token", changes: []change{header("Authorization", "Basic eDp5"), header("X-API-Token", full)}, status: 200},
		{name: "Basic of a proxy beside a cookie", changes: []change{header("Authorization", "Basic eDp5"), cookie(session)}, status: 200},
		{name: "empty Bearer", changes: []change{header("Authorization", "Bearer ")}, status: 401, code: "invalid_token"},
		{name: "last character changed", changes: []change{bearer(full[:52] + "!")}, status: 401, code: "invalid_token"},
		{name: "unknown", changes: []change{bearer("stn_" + strings.Repeat("z", 43) + auth.Checksum(strings.Repeat("z", 43)))}, status: 401, code: "invalid_token"},
		{name: "10 kB", changes: []change{bearer(strings.Repeat("x", 10_000))}, status: 401, code: "invalid_token"},
		{name: "two places, one token", changes: []change{bearer(full), header("X-API-Token", full)}, status: 200},
		{name: "two places, two tokens", changes: []change{bearer(full), header("API-Token", other)}, status: 401, code: "invalid_token"},
		{name: "two Authorization lines, two tokens", changes: []change{bearer(full), bearer(other)}, status: 401, code: "invalid_token"},
		{name: "good, bad and good again", changes: []change{bearer(full), bearer(other), bearer(full)}, status: 401, code: "invalid_token"},
		{name: "a session", changes: []change{cookie(session)}, status: 200},
		{name: "a dead session", changes: []change{cookie("gone")}, status: 401, code: "invalid_token"},
		{name: "a bad token beside a good cookie", changes: []change{bearer("bad"), cookie(session)}, status: 401, code: "invalid_token"},
		{name: "an empty token beside a good cookie", changes: []change{header("X-API-Token", ""), cookie(session)}, status: 401, code: "invalid_token"},
		{name: "a good token beside a cookie", changes: []change{bearer(other), cookie(session)}, status: 200},
		{name: "query, switched off", target: "?token=" + full, status: 401, code: "invalid_token"},
		{name: "query with an escaped name, switched off", target: "?%74oken=" + full, status: 401, code: "invalid_token"},
		{name: "query beside a cookie, switched off", target: "?token=bad", changes: []change{cookie(session)}, status: 200},
		{name: "query beside a token, switched off", target: "?token=bad", changes: []change{bearer(full)}, status: 200},
		{name: "two cookies, one session", changes: []change{cookie(session), cookie(session)}, status: 200},
		{name: "two cookies, two sessions", changes: []change{cookie(session), cookie(rival)}, status: 401, code: "invalid_token"},
		{name: "a planted cookie before the browser's own", changes: []change{cookie("planted"), cookie(session)}, status: 401, code: "invalid_token"},
		{name: "a token beside two sessions", changes: []change{bearer(full), cookie(session), cookie(rival)}, status: 200},
		{name: "scoped", changes: []change{bearer(scoped)}, status: 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := h.call("GET", "/api/v1/recordings"+row.target, row.changes...)
			h.want(a, row.status, row.code)
			if challenge := a.Header.Get("WWW-Authenticate"); (challenge == "Bearer") != (row.status == 401) {
				t.Errorf("WWW-Authenticate is %q", challenge)
			}
			if row.name == "a good token beside a cookie" && a.json(t)["user"] != 2.0 {
				t.Errorf("the cookie won over the token: %s", a.text)
			}
		})
	}
}

func TestTokenInTheQuery(t *testing.T) {
	t.Parallel()
	h := open(t, plan{allowQuery: true})
	full, scoped := h.token(1, "full"), h.token(1, "read")
	h.want(h.call("GET", "/api/v1/recordings?token="+full), 200, "")
	h.want(h.call("HEAD", "/api/v1/recordings?token="+full), 200, "")
	h.want(h.call("GET", "/api/v1/recordings?token="+full+"%0A"), 200, "")
	h.want(h.call("GET", "/api/v1/recordings?token="+scoped), 401, "invalid_token")
	h.want(h.call("GET", "/api/v1/recordings?token="+scoped, bearer(scoped)), 401, "invalid_token")
	h.want(h.call("GET", "/api/v1/recordings?token="+full+"&token="+scoped), 401, "invalid_token")
	h.want(h.call("POST", "/api/v1/recordings/1/transcribe?token="+full), 401, "invalid_token")
	// On what changes something it is no place of a credential: the request is the cookie's or the header's (H-077).
	session := cookie(h.session(1))
	crossSite, sameOrigin := header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Site", "same-origin")
	h.want(h.call("POST", "/api/v1/recordings/1/transcribe?token="+full, session, crossSite), 403, "cross_origin")
	h.want(h.call("POST", "/api/v1/recordings/1/transcribe?token=bad", session, sameOrigin), 200, "")
	h.want(h.call("POST", "/api/v1/recordings/1/transcribe?token=bad", bearer(full)), 200, "")
	h.want(h.call("GET", "/api/v1/recordings?token=bad", session), 401, "invalid_token")
	if via := h.call("GET", "/api/v1/recordings?token="+full).json(t)["via"]; via != "query" {
		t.Errorf("via %v", via)
	}
}

func TestAMalformedTokenCostsNoLookUp(t *testing.T) {
	t.Parallel()
	h := open(t, plan{})
	for _, bad := range []string{strings.Repeat("x", 10_000), "stn_short", "stn_" + strings.Repeat("0", 49), "a b"} {
		h.want(h.call("GET", "/api/v1/recordings", bearer(bad)), 401, "invalid_token")
	}
	if n := h.finder.Lookups(); n != 0 {
		t.Errorf("%d look-ups", n)
	}
}

func TestADeadTokenIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(*house, *auth.Token){
		"revoked":        func(_ *house, token *auth.Token) { token.Revoked = true },
		"owner disabled": func(_ *house, token *auth.Token) { token.OwnerDisabled = true },
		"expired now":    func(h *house, token *auth.Token) { at := h.now; token.ExpiresAt = &at },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, plan{})
			token := h.token(1, "full")
			h.want(h.call("GET", "/api/v1/recordings", bearer(token)), 200, "")
			h.finder.Change(token, func(row *auth.Token) { kill(h, row) })
			h.want(h.call("GET", "/api/v1/recordings", bearer(token)), 401, "invalid_token")
		})
	}
}

func TestExpiryIsJudgedAtEachRequest(t *testing.T) {
	t.Parallel()
	h := open(t, plan{})
	token := h.token(1, "full")
	at := h.now.Add(time.Second)
	h.finder.Change(token, func(row *auth.Token) { row.ExpiresAt = &at })
	h.want(h.call("GET", "/api/v1/recordings", bearer(token)), 200, "")
	h.now = at
	h.want(h.call("GET", "/api/v1/recordings", bearer(token)), 401, "invalid_token")
}

// A client that is told 401 throws its credential away: what cannot be told is 503.
func TestADatabaseThatDoesNotAnswerIs503(t *testing.T) {
	t.Parallel()
	h := open(t, plan{})
	token, session := h.token(1, "full"), h.session(1)
	h.finder.Fail(errors.New("database is locked"))
	for _, credential := range []change{bearer(token), cookie(session)} {
		a := h.call("GET", "/api/v1/recordings", credential)
		h.want(a, 503, "database_unavailable")
		if a.Header.Get("Retry-After") == "" || strings.Contains(a.text, "locked") {
			t.Errorf("Retry-After %q, body %s", a.Header.Get("Retry-After"), a.text)
		}
	}
	h.finder.Fail(nil)
	h.want(h.call("GET", "/api/v1/recordings", bearer(token)), 200, "")
}

// brokenStore is a storage of limits that is away.
type brokenStore struct {
	limits.Store
	err error
}

func (s *brokenStore) Take(ctx context.Context, stack []limits.Limit, room []limits.State) (limits.Decision, error) {
	if s.err != nil {
		return limits.Decision{}, s.err
	}
	return s.Store.Take(ctx, stack, room)
}

func TestLimitsThatCannotBeCheckedLetNothingIn(t *testing.T) {
	t.Parallel()
	store := &brokenStore{Store: limits.NewMemory(time.Now), err: limits.Unavailable(errors.New("connection refused"))}
	h := open(t, plan{store: store})
	token := h.token(1, "full")
	for range 3 {
		a := h.call("GET", "/api/v1/recordings", bearer(token))
		h.want(a, 503, "limits_unavailable")
		if a.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	h.want(h.call("GET", "/api/v1/recordings"), 503, "limits_unavailable")
	h.want(h.call("GET", "/healthz"), 200, "")
	if n := h.counts.Unavailable.Load(); n != 4 {
		t.Errorf("%d counted, want 4", n)
	}
	if strings.Contains(h.log.String(), "connection refused") {
		t.Errorf("an outage, which is logged once, was logged with a request:\n%s", h.log)
	}
	if len(h.finder.Uses()) != 0 {
		t.Error("a refused request was noted as a use")
	}
	store.err = nil
	h.want(h.call("GET", "/api/v1/recordings", bearer(token)), 200, "")
}

// A stack that no store can decide about is a fault of ours: it lets nothing in, and is not called an outage.
func TestAFaultInTheStackIs500(t *testing.T) {
	t.Parallel()
	h := open(t, plan{figures: map[*limits.Plan][]limits.Rate{limits.TokenRead: {{Limit: 5, Period: time.Nanosecond}}}})
	h.want(h.call("GET", "/api/v1/recordings", bearer(h.token(1, "full"))), 500, "internal")
	if n := h.counts.Unavailable.Load(); n != 0 || !strings.Contains(h.log.String(), "the window of token_read") {
		t.Errorf("%d outages counted, logged:\n%s", n, h.log)
	}
}

// While the storage is away each row follows the policy of what it does.
func TestEachRowFollowsThePolicyOfWhatItDoes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		method, path string
		by           string
		class        limits.Class
	}{
		{"GET", "/api/v1/recordings", "token", limits.OnRead},
		{"GET", "/api/v1/recordings/1/status", "token", limits.OnRead},
		{"GET", "/api/v1/users/me", "session", limits.OnRead},
		{"DELETE", "/api/v1/recordings/1", "token", limits.OnWrite},
		{"DELETE", "/api/v1/recordings/1", "session", limits.OnWrite},
		{"POST", "/api/v1/recordings/upload", "token", limits.OnWrite},
		{"POST", "/api/v1/recordings/1/transcribe", "token", limits.OnProcess},
		{"POST", "/api/v1/recordings/1/transcribe", "session", limits.OnProcess},
		{"GET", "/api/tokens", "session", limits.OnRead},
		{"POST", "/api/tokens", "session", limits.OnWrite},
		{"DELETE", "/api/tokens/1", "session", limits.OnWrite},
		{"POST", "/api/auth/login", "nobody", limits.OnWrite},
		{"GET", "/api/v1/recordings", "nobody", limits.OnWrite}, // counting the 401
		{"POST", "/api/v1/recordings/1/transcribe", "nobody", limits.OnWrite},
	} {
		for _, answering := range []limits.Class{limits.OnRead, limits.OnWrite, limits.OnProcess} {
			h := open(t, plan{stores: func(class limits.Class) limits.Store {
				if class == answering {
					return limits.NewMemory(time.Now)
				}
				return &brokenStore{err: limits.Unavailable(errors.New("away"))}
			}})
			credential := map[string][]change{
				"token": {bearer(h.token(1, "full"))}, "session": {cookie(h.session(1))}, "nobody": nil,
			}[row.by]
			decided := h.call(row.method, row.path, credential...).StatusCode != 503
			if decided != (answering == row.class) {
				t.Errorf("%s %s by %s while %v is decided: let through %v, want it to follow %v",
					row.method, row.path, row.by, answering, decided, row.class)
			}
		}
	}
}

func TestAScopeThatIsMissingIs403(t *testing.T) {
	t.Parallel()
	h := open(t, plan{})
	token := h.token(1, "write read")
	a := h.call("DELETE", "/api/v1/recordings/1", bearer(token))
	h.want(a, 403, "insufficient_scope")
	body := a.json(t)
	if !reflect.DeepEqual(body["required_scopes"], []any{"delete"}) || !reflect.DeepEqual(body["token_scopes"], []any{"read", "write"}) {
		t.Errorf("body %s", a.text)
	}
	if got := a.Header.Get("WWW-Authenticate"); got != `Bearer error="insufficient_scope", scope="delete"` {
		t.Errorf("WWW-Authenticate %q", got)
	}
	if a.Header.Get("RateLimit") != "" || len(h.finder.Uses()) != 0 {
		t.Error("a refusal by scope consulted a limit or was noted as a use")
	}
}

func TestAccountRowsAreForSessions(t *testing.T) {
	t.Parallel()
	for _, switchedOn := range []bool{false, true} {
		t.Run(fmt.Sprintf("API_TOKENS_MANAGE_BY_TOKEN=%v", switchedOn), func(t *testing.T) {
			t.Parallel()
			h := open(t, plan{tokensManageByToken: switchedOn})
			h.want(h.call("POST", "/api/tokens", cookie(h.session(1))), 200, "")
			a := h.call("POST", "/api/tokens", bearer(h.token(1, "read write upload process share delete webhooks account")))
			h.want(a, 403, "insufficient_scope")
			if required, ok := a.json(t)["required_scopes"].([]any); !ok || len(required) != 0 {
				t.Errorf("required_scopes of %s, want []", a.text)
			}
			if got := a.Header.Get("WWW-Authenticate"); got != `Bearer error="insufficient_scope"` {
				t.Errorf("WWW-Authenticate %q", got)
			}
			full := h.call("POST", "/api/tokens", bearer(h.token(2, "full")))
			if switchedOn {
				h.want(full, 200, "")
			} else {
				h.want(full, 403, "insufficient_scope")
			}
		})
	}
}

func TestCookiesNeedSameOriginProof(t *testing.T) {
	t.Parallel()
	h := open(t, plan{})
	session, token := h.session(1), h.token(1, "full")
	for _, row := range []struct{ method, path string }{
		{"POST", "/api/tokens"},
		{"DELETE", "/api/tokens/1"},
		{"DELETE", "/api/v1/recordings/1"},
		{"POST", "/api/v1/recordings/1/transcribe"},
		{"POST", "/api/v1/recordings/upload"},
	} {
		for _, proof := range []change{
			header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Site", "same-site"),
			header("Origin", "https://evil.example"), header("Origin", "null"),
		} {
			a := h.call(row.method, row.path, cookie(session), proof)
			h.want(a, 403, "cross_origin")
			if a.Header.Get("RateLimit") != "" {
				t.Error("a cross-site request was charged")
			}
		}
		h.want(h.call(row.method, row.path, cookie(session), header("Sec-Fetch-Site", "same-origin")), 200, "")
		h.want(h.call(row.method, row.path, cookie(session)), 200, "")
	}
	h.want(h.call("POST", "/api/v1/recordings/1/transcribe", bearer(token), header("Sec-Fetch-Site", "cross-site")), 200, "")
	h.want(h.call("GET", "/api/v1/recordings", cookie(session), header("Sec-Fetch-Site", "cross-site")), 200, "")
}

// A body that is known to be too large is refused after who and scope, and charges nothing.
func TestADeclaredBodyIsJudgedAfterTheCaller(t *testing.T) {
	t.Parallel()
	h := open(t, plan{figures: map[*limits.Plan][]limits.Rate{limits.TokenProcess: perMinute(1)}})
	declare := func(n int64) change { return func(r *http.Request) { r.ContentLength = n; r.Body = http.NoBody } }
	const path = "/api/v1/recordings/1/transcribe"
	token := h.token(1, "process")
	h.want(h.call("POST", path, declare(2<<20+1)), 401, "")
	h.want(h.call("POST", path, bearer(h.token(1, "read")), declare(2<<20+1)), 403, "")
	for range 3 {
		h.want(h.call("POST", path, bearer(token), declare(2<<20+1)), 413, "payload_too_large")
		h.want(h.call("POST", path, bearer(token), header("Content-Encoding", "gzip")), 415, "unsupported_media_type")
	}
	h.want(h.call("POST", path, bearer(token), declare(2<<20), header("Content-Encoding", "identity")), 200, "")
	h.want(h.call("POST", path, bearer(token)), 429, "token_rate_limit_exceeded")
	h.want(h.call("POST", "/api/v1/recordings/upload", bearer(h.token(1, "upload")), declare(5<<20)), 413, "payload_too_large")
	h.want(h.call("POST", "/api/auth/login", declare(2<<20+1)), 413, "payload_too_large")
}

// Only a request that was let in is a use of its token.
func TestAUseIsNotedOnce(t *testing.T) {
	t.Parallel()
	h := open(t, plan{figures: map[*limits.Plan][]limits.Rate{limits.TokenRead: perMinute(1)}})
	token, session := bearer(h.token(1, "read")), cookie(h.session(1))
	h.want(h.call("DELETE", "/api/v1/recordings/1", token), 403, "")
	h.want(h.call("GET", "/api/v1/recordings", token), 200, "")
	h.want(h.call("GET", "/api/v1/recordings", token), 429, "")
	h.want(h.call("GET", "/api/v1/recordings", session), 200, "")
	if uses := h.finder.Uses(); len(uses) != 1 || uses[0] != 1 {
		t.Errorf("uses %v, want one of token 1", uses)
	}
}

// bare serves a table of one row.
func bare(method, path string, scope auth.Scope, h func(echo.Context, auth.Principal) error, opts ...routes.Option) plan {
	return plan{declare: func(t *routes.Table, _ *house) { t.Token(method, path, scope, h, said, opts...) }}
}
