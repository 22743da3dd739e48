package routes_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/streams"
)

// house is a small server: a table of every door, real limits, and tokens and sessions of two accounts.
type house struct {
	t      testing.TB
	table  *routes.Table
	guard  *auth.Guard
	finder *authtest.Finder
	counts *authtest.Metrics
	log    *lockedBuffer
	now    time.Time
	tokens int64
}

// plan is what differs between houses.
type plan struct {
	figures             map[*limits.Plan][]limits.Rate
	store               limits.Store
	stores              func(limits.Class) limits.Store // in place of store
	overrides           limits.Overrides                // nil has none
	allowQuery          bool
	tokensManageByToken bool
	timeouts            routes.Timeouts
	origins             []string
	declare             func(*routes.Table, *house)
	keys                *idempotency.Keys
	streams             *streams.Streams
	auditor             routes.Auditor
	upload              int64 // bytes of a file; 0 means 1 MiB
	signing             routes.Signing
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

type noMetrics struct{}

func (noMetrics) Request(string, string, int, time.Duration) {}

func perMinute(n int64) []limits.Rate { return []limits.Rate{{Limit: n, Period: time.Minute}} }

// ample are figures that no test of something else runs into.
func ample() limits.Figures {
	figures := make(limits.Figures)
	for _, plan := range limits.Plans() {
		figures[plan] = perMinute(1000)
	}
	return figures
}

func open(t testing.TB, p plan) *house {
	t.Helper()
	h := &house{t: t, finder: authtest.NewFinder(), log: &lockedBuffer{}, now: time.Unix(1_800_000_000, 0)}
	now := func() time.Time { return h.now }
	figures := ample()
	for plan, rates := range p.figures {
		figures[plan] = rates
	}
	if p.store == nil {
		p.store = limits.NewMemory(now)
	}
	o := authtest.GuardOptions(h.finder, figures, p.store)
	h.counts = o.Metrics.(*authtest.Metrics)
	o.AllowQueryToken, o.TokensManageByToken = p.allowQuery, p.tokensManageByToken
	o.Now = now
	o.InForce = limits.NewInForce(figures, p.overrides)
	if p.stores != nil {
		o.Limits = p.stores
	}
	h.guard = auth.NewGuard(o)
	h.table = routes.New(routes.Options{
		Guard: h.guard, Bounds: routes.Bounds{Upload: cmp.Or(p.upload, 1<<20)}, Timeouts: p.timeouts, Origins: p.origins,
		Metrics: noMetrics{}, Logger: slog.New(slog.NewJSONHandler(h.log, nil)), Now: time.Now, Keys: p.keys,
		Purses: pursesFor(t), Streams: p.streams, Auditor: p.auditor, Signing: p.signing,
	})
	if p.declare == nil {
		p.declare = declareAll
	}
	p.declare(h.table, h)
	return h
}

// said is the least that a row may say of itself.
var said = routes.Operation{Summary: "Do it", Group: routes.GroupServer, Answers: routes.Answers{http.StatusOK: routes.Nothing{}}}

// declareAll has a row of every door and of every kind of stack.
func declareAll(t *routes.Table, h *house) {
	fine := func(c echo.Context, p auth.Principal) error {
		return c.JSON(http.StatusOK, map[string]any{"user": p.UserID(), "via": p.Via()})
	}
	t.Public("GET", "/healthz", "load balancers have no token", func(c echo.Context) error {
		return c.String(http.StatusOK, "ok")
	}, said, routes.Uncounted())
	t.Public("POST", "/api/auth/login", "whoever signs in has no session yet", login, said, routes.Limit(limits.Login))
	t.Token("GET", "/api/v1/recordings", auth.Read, fine, said)
	t.Token("GET", "/api/v1/recordings/:recording", auth.Read, fine, said)
	t.Token("DELETE", "/api/v1/recordings/:recording", auth.Delete, fine, said)
	t.Token("GET", "/api/v1/recordings/:recording/status", auth.Read, fine, said, routes.InPlaceOfRead(limits.Status))
	t.Paid("POST", "/api/v1/recordings/:recording/transcribe", auth.Process, budgets.Transcription,
		func(c echo.Context, p auth.Principal, _ budgets.Purse) error { return fine(c, p) }, said)
	t.Answer("POST", "/api/v1/recordings/:recording/chat", auth.Process, budgets.Text,
		func(c echo.Context, p auth.Principal, _ budgets.Purse, _ streams.Opener) error { return fine(c, p) }, said)
	t.Token("GET", "/api/v1/users/me", auth.AnyToken, fine, said)
	t.Token("GET", "/api/v1/limits", auth.AnyToken, func(c echo.Context, _ auth.Principal) error { return h.showLimits(c) }, said)
	t.Upload("POST", "/api/v1/recordings/upload", auth.Upload, routes.MaxUpload, budgets.Later(budgets.Transcription),
		func(c echo.Context, p auth.Principal, body io.Reader) error {
			if _, err := io.Copy(io.Discard, body); err != nil {
				return err
			}
			return fine(c, p)
		}, said)
	t.Token("GET", "/api/v1/search", auth.Read, fine, said, routes.Limit(limits.Search))
	t.Token("POST", "/api/v1/recordings/import", auth.Upload, fine, said, routes.Limit(limits.Import))
	t.Late("POST", "/api/v1/integrations/recorder/upload", auth.Upload, routes.MaxUpload, budgets.Later(budgets.Transcription), late, said)
	t.Signed("POST", "/hooks/:integration", auth.Upload, routes.MaxUpload, budgets.Later(budgets.Transcription),
		func(c echo.Context, p auth.Principal, _ routes.Verified) error { return fine(c, p) }, said)
	t.Token("PUT", "/api/v1/admin/organizations/:organization/budget", auth.Settings, fine, said, routes.Administration(auth.ManageTeamBilling, "organization.budget"))
	t.Token("GET", "/api/v1/admin/organizations", auth.Settings, fine, said, routes.InstanceWide("organization.list"))
	t.Token("POST", "/api/v1/recordings/:recording/share", auth.Share, fine, said, routes.Needs(auth.Publish))
	t.Account("GET", "/api/tokens", fine, said)
	t.Account("POST", "/api/tokens", fine, said, routes.OwnLimit(limits.TokenCreate))
	t.Account("DELETE", "/api/tokens/:token", fine, said, routes.Limit(limits.TokenChange))
}

func (h *house) showLimits(c echo.Context) error {
	states, err := h.guard.Standing(c)
	if err != nil {
		return err
	}
	names := map[string]int64{}
	for i, state := range states {
		names[limits.ShownName(states, i)] = state.Context.Remaining
	}
	return c.JSON(http.StatusOK, names)
}

// late admits by the query, so that tests say when and with what.
func late(c echo.Context, l auth.Late) error {
	if c.QueryParam("admit") != "" {
		if _, err := l.Admit(c.Request().Context(), c.QueryParam("admit")); err != nil {
			return err
		}
	}
	return c.JSON(http.StatusOK, map[string]any{"user": auth.PrincipalOf(c).UserID()})
}

// token makes a live token of the account and organization of this number.
func (h *house) token(account int64, scopes string) string {
	h.tokens++
	return h.finder.Mint(auth.Token{
		ID: h.tokens, UserID: account, OrganizationID: 10 * account,
		Role: auth.RoleEditor, Scopes: auth.ParseScopes(scopes),
	})
}

func (h *house) session(account int64) string {
	return h.finder.SignIn(auth.Session{UserID: account, OrganizationID: 10 * account, Role: auth.RoleEditor})
}

// answer is an answer with its body read.
type answer struct {
	*http.Response
	text string
}

func (a answer) json(t testing.TB) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(a.text), &body); err != nil {
		t.Fatalf("status %d with a body that is not JSON: %q", a.StatusCode, a.text)
	}
	return body
}

func (a answer) code(t testing.TB) string {
	t.Helper()
	code, _ := a.json(t)["code"].(string)
	return code
}

type change func(*http.Request)

func bearer(token string) change {
	return func(r *http.Request) { r.Header.Add("Authorization", "Bearer "+token) }
}

func cookie(value string) change {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: auth.SessionCookie, Value: value}) }
}

func header(name, value string) change {
	return func(r *http.Request) { r.Header.Add(name, value) }
}

func from(address string) change {
	return func(r *http.Request) { r.RemoteAddr = address }
}

func body(text string) change {
	return func(r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader(text))
		r.ContentLength = int64(len(text))
		r.Header.Set("Content-Type", "application/json")
	}
}

// call sends one request from 192.0.2.1, unless a change says otherwise.
func (h *house) call(method, target string, changes ...change) answer {
	h.t.Helper()
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr = "192.0.2.1:4711"
	for _, change := range changes {
		change(r)
	}
	w := httptest.NewRecorder()
	h.table.Handler().ServeHTTP(w, r)
	response := w.Result()
	text, _ := io.ReadAll(response.Body)
	return answer{response, string(text)}
}

// want asserts status and, when it isn't empty, the code.
func (h *house) want(a answer, status int, code string) {
	h.t.Helper()
	if a.StatusCode != status {
		h.t.Fatalf("status %d, want %d: %s", a.StatusCode, status, a.text)
	}
	if code != "" && a.code(h.t) != code {
		h.t.Fatalf("code %q, want %q: %s", a.code(h.t), code, a.text)
	}
}
