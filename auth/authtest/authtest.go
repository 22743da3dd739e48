// Package authtest makes principals and guards for tests. It has no back door: a principal comes from a real
// guard that let a request in. The linter keeps this package out of the product.
package authtest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
)

// ByToken is the principal of a token of the account. Scopes are names as stored: "full", or "read upload".
func ByToken(t testing.TB, userID, organizationID, tokenID int64, scopes string) auth.Principal {
	t.Helper()
	return By(t, auth.Token{
		ID: tokenID, UserID: userID, OrganizationID: organizationID,
		Role: auth.RoleEditor, Scopes: auth.ParseScopes(scopes),
	})
}

// By is the principal of any token: of another role, or made for administration.
func By(t testing.TB, token auth.Token) auth.Principal {
	t.Helper()
	finder := NewFinder()
	plain := finder.Mint(token)
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.Header.Set("Authorization", "Bearer "+plain)
	return let(t, finder, request)
}

// BySession is the principal of a signed-in browser of the account.
func BySession(t testing.TB, userID, organizationID int64) auth.Principal {
	t.Helper()
	finder := NewFinder()
	cookie := finder.SignIn(auth.Session{UserID: userID, OrganizationID: organizationID, Role: auth.RoleEditor})
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.AddCookie(&http.Cookie{Name: auth.SessionCookie, Value: cookie})
	return let(t, finder, request)
}

// Ending is By for a story that asks again who calls, and what revokes the token.
func Ending(t testing.TB, token auth.Token) (principal auth.Principal, end func()) {
	t.Helper()
	finder := NewFinder()
	plain := finder.Mint(token)
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.Header.Set("Authorization", "Bearer "+plain)
	guard := auth.NewGuard(GuardOptions(finder, NoFigures(), limits.NewMemory(time.Now)))
	return through(t, guard, request, guard.Lasting), func() {
		finder.Change(plain, func(token *auth.Token) { token.Revoked = true })
	}
}

func let(t testing.TB, finder *Finder, request *http.Request) auth.Principal {
	t.Helper()
	guard := auth.NewGuard(GuardOptions(finder, NoFigures(), limits.NewMemory(time.Now)))
	return through(t, guard, request, auth.PrincipalOf)
}

// through is the principal of a request that the guard lets in.
func through(t testing.TB, guard *auth.Guard, request *http.Request, of func(echo.Context) auth.Principal) auth.Principal {
	t.Helper()
	var principal auth.Principal
	handler := guard.RequireScope(auth.Row{Method: request.Method, Path: "/"}, auth.AnyToken)(func(c echo.Context) error {
		principal = of(c)
		return nil
	})
	visit := &visitor{request: request, response: echo.NewResponse(httptest.NewRecorder(), nil), values: map[string]any{}}
	if err := handler(visit); err != nil {
		t.Fatalf("the guard refused a principal made for a test: %v", err)
	}
	return principal
}

// visitor is as much of a request's context as a guard touches: the router belongs to package routes.
type visitor struct {
	echo.Context

	request  *http.Request
	response *echo.Response
	values   map[string]any
}

func (v *visitor) Request() *http.Request    { return v.request }
func (v *visitor) Response() *echo.Response  { return v.response }
func (v *visitor) QueryParams() url.Values   { return v.request.URL.Query() }
func (v *visitor) Get(key string) any        { return v.values[key] }
func (v *visitor) Set(key string, value any) { v.values[key] = value }

// NoFigures switches every limit off.
func NoFigures() limits.Figures {
	figures := make(limits.Figures)
	for _, plan := range limits.Plans() {
		figures[plan] = nil
	}
	return figures
}

// GuardOptions are those of a guard that stands directly on the network.
func GuardOptions(finder *Finder, figures limits.Figures, store limits.Store) auth.Options {
	logger := slog.New(slog.DiscardHandler)
	return auth.Options{
		Tokens: finder, Sessions: finder, Limits: limits.Always(store), InForce: limits.NewInForce(figures, nil),
		Addresses: auth.NewAddresses(auth.AddressOptions{Now: time.Now, Logger: logger}),
		Metrics:   &Metrics{}, Logger: logger, Now: time.Now,
	}
}

// Metrics counts what a guard reports.
type Metrics struct{ Refused, Unavailable, NotLookedUp, Unauthorizeds, Unknown, Missing atomic.Int64 }

// LimitRefused implements auth.Metrics.
func (m *Metrics) LimitRefused(string) { m.Refused.Add(1) }

// LimitsUnavailable implements auth.Metrics.
func (m *Metrics) LimitsUnavailable() { m.Unavailable.Add(1) }

// Unauthorized implements auth.Metrics.
func (m *Metrics) Unauthorized() { m.Unauthorizeds.Add(1) }

// UnknownRole implements auth.Metrics.
func (m *Metrics) UnknownRole() { m.Unknown.Add(1) }

// MissingRole implements auth.Metrics.
func (m *Metrics) MissingRole() { m.Missing.Add(1) }

// CredentialsUnavailable implements auth.Metrics.
func (m *Metrics) CredentialsUnavailable() { m.NotLookedUp.Add(1) }

// Finder knows the tokens and sessions that it was given. It implements auth.TokenFinder and auth.SessionFinder
// with the same promise as the database: a change is counted before it can be read.
type Finder struct {
	mu       sync.Mutex // protects what follows
	tokens   map[[32]byte]auth.Token
	sessions map[string]auth.Session
	changes  int64
	minted   int
	uses     []int64
	fault    error
	lookups  int
}

// NewFinder makes a Finder that knows nobody.
func NewFinder() *Finder {
	return &Finder{tokens: make(map[[32]byte]auth.Token), sessions: make(map[string]auth.Session)}
}

// Mint makes the plaintext of a token.
func (f *Finder) Mint(token auth.Token) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.minted++
	random := fmt.Sprintf("%0*d", auth.TokenRandom, f.minted)
	plain := auth.TokenPrefix + random + auth.Checksum(random)
	f.tokens[sha256.Sum256([]byte(plain))] = token
	return plain
}

// Import knows a token of a plaintext made elsewhere.
func (f *Finder) Import(plain string, token auth.Token) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens[sha256.Sum256([]byte(plain))] = token
}

// Change replaces what is known of a token.
func (f *Finder) Change(plain string, change func(*auth.Token)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	hash := sha256.Sum256([]byte(plain))
	token := f.tokens[hash]
	change(&token)
	f.tokens[hash] = token
	f.changes++
}

// SignIn makes the value of a session cookie.
func (f *Finder) SignIn(session auth.Session) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.minted++
	cookie := fmt.Sprintf("session-%d", f.minted)
	f.sessions[cookie] = session
	return cookie
}

// Fail makes every look-up end with this error; nil ends that.
func (f *Finder) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = err
}

// Uses lists the ids of the tokens that were noted as used.
func (f *Finder) Uses() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]int64(nil), f.uses...)
}

// Lookups is how often the finder was asked for a token.
func (f *Finder) Lookups() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lookups
}

// FindToken implements auth.TokenFinder.
func (f *Finder) FindToken(ctx context.Context, hash [32]byte) (auth.Token, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lookups++
	if f.fault != nil {
		return auth.Token{}, false, f.fault
	}
	token, ok := f.tokens[hash]
	return token, ok, ctx.Err()
}

// Changes implements auth.TokenFinder.
func (f *Finder) Changes(context.Context) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes, nil
}

// Used implements auth.TokenFinder.
func (f *Finder) Used(tokenID int64, _ time.Time, _ netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uses = append(f.uses, tokenID)
}

// FindSession implements auth.SessionFinder.
func (f *Finder) FindSession(_ context.Context, cookie string) (auth.Session, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault != nil {
		return auth.Session{}, false, f.fault
	}
	session, ok := f.sessions[cookie]
	return session, ok, nil
}
