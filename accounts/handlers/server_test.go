package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/accounts/handlers"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/tests/clocktest"
	"github.com/stenometer/stenometer/tests/described"
)

// server is the routes of sign-in behind the real guard, with real accounts on a database.
type server struct {
	t        *testing.T
	handler  http.Handler
	accounts *accounts.Accounts
	clock    *clocktest.Clock
	db       *models.DB
}

type settings struct {
	registration              accounts.Registration
	login, failures, register []limits.Rate
	unauthorized              []limits.Rate
	secureCookies             bool
	oidc                      handlers.OIDC
}

type requests struct{}

func (requests) Request(string, string, int, time.Duration) {}

func perMinute(figure int64) []limits.Rate {
	return []limits.Rate{{Limit: figure, Period: time.Minute}}
}

func newServer(t *testing.T, set settings) *server {
	t.Helper()
	db := modelstest.SQLite(t)
	s := &server{t: t, db: db, clock: clocktest.New(time.Date(2026, 3, 5, 6, 13, 46, 0, time.UTC))}
	counts := limits.NewMemory(s.clock.Now)
	figures := authtest.NoFigures()
	figures[limits.Login], figures[limits.LoginFailures] = set.login, set.failures
	figures[limits.Register], figures[limits.AuthFailures] = set.register, set.unauthorized
	if set.registration == "" {
		set.registration = accounts.Open
	}
	s.accounts = accounts.New(db, accounts.Options{
		Registration: set.registration, SecretKey: "0123456789abcdef", PublicURL: "https://notes.example.org", Now: s.clock.Now,
	})
	logger := slog.New(slog.DiscardHandler)
	addresses := auth.NewAddresses(auth.AddressOptions{
		TrustedProxies: 1, TrustedNetworks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Now: s.clock.Now, Logger: logger,
	})
	guard := auth.NewGuard(auth.Options{
		Tokens: authtest.NewFinder(), Sessions: s.accounts, Limits: limits.Always(counts), InForce: limits.NewInForce(figures, nil), Addresses: addresses,
		TokensManageByToken: true, Metrics: &authtest.Metrics{}, Logger: logger, Now: s.clock.Now,
	})
	table := routes.New(routes.Options{Guard: guard, Metrics: requests{}, Logger: logger, Now: s.clock.Now})
	handlers.New(handlers.Options{
		Accounts: s.accounts, Limits: counts, LoginFailures: set.failures, Addresses: addresses,
		SecureCookies: set.secureCookies, Audit: audit.New(db, audit.Options{Now: s.clock.Now}), OIDC: set.oidc,
	}).Declare(table)
	s.handler = table.Handler()
	return s
}

func (s *server) register(name string) accounts.User {
	s.t.Helper()
	user, err := s.accounts.Register(context.Background(), accounts.NewUser{
		Email: name + "@example.com", Username: name, Password: password,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return user
}

const (
	password = "correct horse"
	better   = "a better sentence"
)

// from is the address of a client that speaks to us directly.
func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = net.JoinHostPort(address, "1234") }
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// post sends one JSON request; alter changes it before.
func (s *server) post(target, body string, alter ...func(*http.Request)) answer {
	s.t.Helper()
	return s.ask(http.MethodPost, target, body, alter...)
}

func (s *server) ask(method, target, body string, alter ...func(*http.Request)) answer {
	s.t.Helper()
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	for _, change := range alter {
		change(request)
	}
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	described.Recorded(s.t, request, body, recorder)
	got := answer{t: s.t, what: target + " " + body, status: recorder.Code, header: recorder.Header()}
	if err := json.Unmarshal(recorder.Body.Bytes(), &got.body); err != nil {
		s.t.Fatalf("%s: the answer %d is not JSON: %q", got.what, recorder.Code, recorder.Body)
	}
	return got
}

// signIn is the header that a signed-in browser sends.
func (s *server) signIn(name, password string, alter ...func(*http.Request)) func(*http.Request) {
	s.t.Helper()
	cookie := s.login(name, password, alter...).expect(http.StatusOK).cookie()
	return header("Cookie", cookie.Name+"="+cookie.Value)
}

func (s *server) login(name, password string, alter ...func(*http.Request)) answer {
	s.t.Helper()
	return s.post("/api/auth/login", fmt.Sprintf(`{"email":%q,"password":%q}`, name, password), alter...)
}

type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   map[string]any
}

// cookie is the one that the answer sets.
func (a answer) cookie() *http.Cookie {
	a.t.Helper()
	cookies := (&http.Response{Header: a.header}).Cookies()
	if len(cookies) != 1 || cookies[0].Name != auth.SessionCookie {
		a.t.Fatalf("%s: the cookies are %v", a.what, cookies)
	}
	return cookies[0]
}

// expect fails the test unless the answer is of this status.
func (a answer) expect(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: %d %v, want %d", a.what, a.status, a.body, status)
	}
	return a
}

// expectProblem fails the test unless the answer is a problem of this kind.
func (a answer) expectProblem(kind problems.Kind) answer {
	a.t.Helper()
	a.expect(kind.Status())
	if a.body["code"] != kind.Code() || a.body["error"] == "" {
		a.t.Fatalf("%s: %v, want code %s", a.what, a.body, kind.Code())
	}
	return a
}
