package handlers_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/tests/clocktest"
	"github.com/stenometer/stenometer/tests/described"
	"github.com/stenometer/stenometer/tokens"
	"github.com/stenometer/stenometer/tokens/handlers"
)

// server is the token routes behind the real guard, with real accounts and tokens on a database.
type server struct {
	t        *testing.T
	handler  http.Handler
	accounts *accounts.Accounts
	tokens   *tokens.Tokens
	clock    *clocktest.Clock
}

type settings struct {
	maxPerUser     int
	create, change []limits.Rate
	manageByToken  bool
	queryToken     bool
}

type requests struct{}

func (requests) Request(string, string, int, time.Duration) {}

func newServer(t *testing.T, set settings) *server {
	t.Helper()
	db := modelstest.SQLite(t)
	s := &server{t: t, clock: clocktest.New(time.Date(2026, 3, 5, 6, 13, 46, 0, time.UTC))}
	counts := limits.NewMemory(s.clock.Now)
	figures := authtest.NoFigures()
	figures[limits.TokenCreate], figures[limits.TokenChange] = set.create, set.change
	inForce := limits.NewInForce(figures, nil)
	s.accounts = accounts.New(db, accounts.Options{Registration: accounts.Open, Now: s.clock.Now})
	s.tokens = tokens.New(db, tokens.Options{
		MaxPerUser: set.maxPerUser, Figures: inForce, Limits: counts, Now: s.clock.Now,
	})
	logger := slog.New(slog.DiscardHandler)
	guard := auth.NewGuard(auth.Options{
		Tokens: s.tokens, Sessions: s.accounts, Limits: limits.Always(counts), InForce: inForce,
		Addresses:       auth.NewAddresses(auth.AddressOptions{Now: s.clock.Now, Logger: logger}),
		AllowQueryToken: set.queryToken, TokensManageByToken: set.manageByToken,
		Metrics: &authtest.Metrics{}, Logger: logger, Now: s.clock.Now,
	})
	table := routes.New(routes.Options{Guard: guard, Metrics: requests{}, Logger: logger, Now: s.clock.Now})
	handlers.New(s.tokens).Declare(table)
	s.handler = table.Handler()
	return s
}

// signIn makes an account and the cookie of its browser.
func (s *server) signIn(name string) (userID int64, cookie string) {
	s.t.Helper()
	user, err := s.accounts.Register(context.Background(), accounts.NewUser{
		Email: name + "@example.com", Username: name, Password: "correct horse",
	})
	if err != nil {
		s.t.Fatal(err)
	}
	cookie, _, err = s.accounts.OpenSession(context.Background(), "", user, accounts.Browser{})
	if err != nil {
		s.t.Fatal(err)
	}
	return user.ID, auth.SessionCookie + "=" + cookie
}

// mint makes a token without the routes.
func (s *server) mint(wish tokens.Wish) (string, tokens.Token) {
	s.t.Helper()
	plaintext, token, err := s.tokens.Create(context.Background(), wish)
	if err != nil {
		s.t.Fatal(err)
	}
	return plaintext, token
}

// ask sends one request; who is a cookie ("name=value") or a token.
func (s *server) ask(method, target, who, body string) answer {
	s.t.Helper()
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	switch {
	case strings.Contains(who, "="):
		request.Header.Set("Cookie", who)
	case who != "":
		request.Header.Set("Authorization", "Bearer "+who)
	}
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	described.Recorded(s.t, request, body, recorder)
	got := answer{t: s.t, what: method + " " + target + " " + body, status: recorder.Code, header: recorder.Header()}
	if err := json.Unmarshal(recorder.Body.Bytes(), &got.body); err != nil {
		s.t.Fatalf("%s: the answer %d is not JSON: %q", got.what, recorder.Code, recorder.Body)
	}
	return got
}

type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   map[string]any
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

// expectFields fails the test unless the answer has exactly these members.
func (a answer) expectFields(want map[string]any) {
	a.t.Helper()
	got, err := json.Marshal(a.body)
	if err != nil {
		a.t.Fatal(err)
	}
	wanted, err := json.Marshal(want)
	if err != nil {
		a.t.Fatal(err)
	}
	if string(got) != string(wanted) {
		a.t.Errorf("%s:\n%s, want\n%s", a.what, got, wanted)
	}
}
