package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/api/v1/admin"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/budgets/budgetstest"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/settings"
	"github.com/stenometer/stenometer/tests/described"
	"github.com/stenometer/stenometer/tests/jobstest"
	"github.com/stenometer/stenometer/tokens"
)

// site serves the rows of administration over real accounts, tokens, limits and budgets. There are two organizations: ann
// administers the instance, ada the first of them, and bob is a member; eve administers the second, where mel is.
type site struct {
	t        testing.TB
	db       *models.DB
	server   *httptest.Server
	accounts *accounts.Accounts
	tokens   *tokens.Tokens
	budgets  *budgets.Budgets
	figures  *orgs.Figures
	audit    *audit.Log
	settings *settings.Settings
	jobs     *jobs.Jobs

	first, second           models.Organization
	ann, ada, bob, eve, mel models.User
	marked                  map[int64]string
}

type noMetrics struct{}

func (noMetrics) Request(string, string, int, time.Duration) {}

// tariff makes sums easy to read: a token and a second of audio cost a micro-dollar each.
const tariff = "currency: USD\ntext:\n  - {model: plain, input: 1, output: 1}\naudio:\n  - {model: plain, per_minute: 0.00006}\n"

func open(t testing.TB) *site {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	s := &site{t: t, db: modelstest.Open(t, jobstest.Migrated.SQLiteURL(t), false), marked: map[int64]string{}}
	configured := make(limits.Figures)
	for _, plan := range limits.Plans() {
		configured[plan] = []limits.Rate{{Limit: 1000, Period: time.Minute}}
	}
	s.figures = orgs.NewFigures(s.db, orgs.FiguresOptions{})
	inForce := limits.NewInForce(configured, s.figures)
	s.accounts = accounts.New(s.db, accounts.Options{Registration: accounts.Open, SecretKey: "0123456789abcdef", Erase: func(context.Context, *gorm.DB, int64) error { return nil }})
	s.tokens = tokens.New(s.db, tokens.Options{Figures: inForce})
	s.budgets = budgetstest.New(t, s.db, tariff, nil)
	s.audit = audit.New(s.db, audit.Options{})
	queue, kept := s.queue(logger)
	s.settings = settings.New(s.db, settings.Options{MaxUploadMB: 500, MaxTranscriptChars: 1000})
	guard := auth.NewGuard(auth.Options{
		Tokens: s.tokens, Sessions: s.accounts, Limits: limits.Always(limits.NewMemory(time.Now)), InForce: inForce,
		Addresses: auth.NewAddresses(auth.AddressOptions{Now: time.Now, Logger: logger}), Metrics: &authtest.Metrics{}, Logger: logger, Now: time.Now,
	})
	table := routes.New(routes.Options{Guard: guard, Metrics: noMetrics{}, Logger: logger, Now: time.Now, Auditor: s.audit})
	admin.New(admin.Options{
		Accounts: s.accounts, Tokens: s.tokens, Organizations: orgs.NewOrganizations(s.db, time.Now), Figures: s.figures, InForce: inForce,
		Budgets: s.budgets, Audit: s.audit, Jobs: queue, Settings: s.settings,
		Recordings: kept,
	}).Declare(table)
	s.server = httptest.NewServer(table.Handler())
	s.server.Client().Transport = described.Over(t, s.server.Client().Transport)
	t.Cleanup(s.server.Close)
	s.first, s.second = s.organization("first"), s.organization("second")
	s.ann, s.ada, s.bob = s.account("ann", "admin", s.first, true), s.account("ada", "admin", s.first, false), s.account("bob", "editor", s.first, false)
	s.eve, s.mel = s.account("eve", "admin", s.second, false), s.account("mel", "viewer", s.second, false)
	return s
}

func (s *site) write(change func(tx *gorm.DB) error) {
	s.t.Helper()
	if err := s.db.Transaction(context.Background(), change); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) organization(slug string) models.Organization {
	s.t.Helper()
	org := models.Organization{Slug: slug, Name: slug, TimeZone: "UTC", CreatedAt: time.Now()}
	s.write(func(tx *gorm.DB) error { return tx.Create(&org).Error })
	return org
}

func (s *site) account(name, role string, of models.Organization, instance bool) models.User {
	s.t.Helper()
	user := models.User{
		OrganizationID: of.ID, Email: name + "@example.org", Username: name, PasswordHash: "-", Role: role, InstanceAdmin: instance, CreatedAt: time.Now(),
	}
	s.write(func(tx *gorm.DB) error { return tx.Create(&user).Error })
	return user
}

// token mints one of the account's, of these scopes.
func (s *site) token(user models.User, marked bool, scopes ...string) string {
	s.t.Helper()
	plain, _, err := s.tokens.Create(s.t.Context(), tokens.Wish{UserID: user.ID, Name: new("t"), Scopes: scopes, Administration: marked})
	if err != nil {
		s.t.Fatal(err)
	}
	return plain
}

// as is a token of the account for administration.
func (s *site) as(user models.User) string {
	s.t.Helper()
	if s.marked[user.ID] == "" {
		s.marked[user.ID] = s.token(user, true)
	}
	return s.marked[user.ID]
}

func (s *site) call(token, method, path, body string) (int, map[string]any) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, s.server.URL+"/api/v1/admin"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := s.server.Client().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		s.t.Fatalf("%s %s: %d with a body that is no object: %s", method, path, response.StatusCode, text)
	}
	return response.StatusCode, answer
}

// want is the answer to a call, which must have this status and, of a refusal, this code.
func (s *site) want(who models.User, method, path, body string, status int, code string) map[string]any {
	s.t.Helper()
	return s.wantBy(s.as(who), method, path, body, status, code)
}

func (s *site) wantBy(token, method, path, body string, status int, code string) map[string]any {
	s.t.Helper()
	got, answer := s.call(token, method, path, body)
	if said, _ := answer["code"].(string); got != status || said != code {
		s.t.Fatalf("%s %s %s: got %d %s, want %d %q: %v", method, path, body, got, said, status, code, answer)
	}
	return answer
}

func at(format string, ids ...any) string { return fmt.Sprintf(format, ids...) }

// column is one member of each of a list's things, as a text.
func column(answer map[string]any, list, member string) string {
	var values []string
	things, _ := answer[list].([]any)
	for _, thing := range things {
		one, _ := thing.(map[string]any)
		values = append(values, fmt.Sprint(one[member]))
	}
	return strings.Join(values, " ")
}
