package handlers_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/sealed"
	"github.com/stenometer/stenometer/tests/described"
	"github.com/stenometer/stenometer/tests/jobstest"
	"github.com/stenometer/stenometer/webhooks"
	"github.com/stenometer/stenometer/webhooks/handlers"
)

// server is the routes of webhooks behind a real guard, with real webhooks on a database. Nothing is delivered.
type server struct {
	t       *testing.T
	handler http.Handler
	finder  *authtest.Finder
	db      *models.DB
}

type requests struct{}

func (requests) Request(string, string, int, time.Duration) {}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, finder: authtest.NewFinder(), db: modelstest.Open(t, jobstest.Migrated.SQLiteURL(t), false)}
	logger := slog.New(slog.DiscardHandler)
	queue, err := jobs.New(s.db, jobs.Options{
		Role: "web", Version: "test", LimitsStorage: "memory", MaxWorkers: 1, MaxAttempts: 1,
		Heartbeat: time.Second, DeadAfter: time.Minute, RetryBase: time.Second, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := sealed.New("0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	store := webhooks.New(s.db, webhooks.Options{
		Keys: keys, Queue: queue, Enabled: true, MaxPerUser: 2, Timeout: time.Second, Schedule: []time.Duration{0}, Attempts: 1, PauseAfter: 10,
		Grace: time.Hour, PendingAge: time.Hour, PendingMax: 100, LogLife: time.Hour, DrainPerSecond: 10, Now: time.Now, Logger: logger,
		Strangers: outbound.NewStrangers(outbound.StrangersOptions{Intranet: regexp.MustCompile(`^127\.0\.0\.1$`)}),
	})
	table := routes.New(routes.Options{
		Guard:   auth.NewGuard(authtest.GuardOptions(s.finder, authtest.NoFigures(), limits.NewMemory(time.Now))),
		Metrics: requests{}, Logger: logger, Now: time.Now,
	})
	handlers.New(store, audit.New(s.db, audit.Options{})).Declare(table)
	s.handler = table.Handler()
	return s
}

// token makes an account and a token of it.
func (s *server) token(name, scopes string) string {
	s.t.Helper()
	user := modelstest.Account(s.t, s.db, "default", name, auth.RoleEditor)
	return s.finder.Mint(auth.Token{ID: 1, UserID: user.ID, OrganizationID: user.OrganizationID, Role: user.Role, Scopes: auth.ParseScopes(scopes)})
}

// ask sends one request and expects the status.
func (s *server) ask(method, path, token, body string, status int) map[string]any {
	s.t.Helper()
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer "+token)
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	described.Recorded(s.t, request, body, recorder)
	if recorder.Code != status {
		s.t.Fatalf("%s %s %s: %d %s, want %d", method, path, body, recorder.Code, recorder.Body, status)
	}
	if _, shows := recorder.Header()["Cache-Control"]; strings.Contains(recorder.Body.String(), "whsec_") && (!shows || recorder.Header().Get("Cache-Control") != "no-store") {
		s.t.Errorf("%s %s shows a secret that something on the way may keep", method, path)
	}
	var got map[string]any
	if recorder.Body.Len() > 0 {
		if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil {
			s.t.Fatalf("%s %s: %q is not JSON", method, path, recorder.Body)
		}
	}
	return got
}

const wanted = `{"name":" mine ","url":"http://127.0.0.1:9/a","allow_http":true,"events":["recording.created","recording.created","webhook.test"]}`

// Rule: webhooks are made, shown, changed, rotated, tested, replayed and deleted as the contract says; the secret is in the
// two answers that make one.
func TestTheRoutesOfWebhooks(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	token := s.token("ada", "full")
	made := s.ask("POST", "/api/v1/webhooks", token, wanted, 201)
	if secret, _ := made["secret"].(string); !strings.HasPrefix(secret, "whsec_") || made["name"] != "mine" || len(made["events"].([]any)) != 2 ||
		made["enabled"] != true || made["previous_secret_valid_until"] != nil || made["include_shared"] != false || made["last_delivery_at"] != nil {
		t.Errorf("made %v", made)
	}
	path := fmt.Sprintf("/api/v1/webhooks/%v", made["id"])
	list := s.ask("GET", "/api/v1/webhooks", token, "", 200)
	if one := list["webhooks"].([]any)[0].(map[string]any); one["secret"] != nil || list["max_per_user"] != 2.0 || len(list["event_types"].([]any)) < 12 {
		t.Errorf("listed %v", list)
	}
	if shown := s.ask("GET", path, token, "", 200); shown["secret"] != nil || shown["url"] != "http://127.0.0.1:9/a" {
		t.Errorf("shown %v", shown)
	}
	rotated := s.ask("POST", path+"/rotate-secret", token, "", 200)
	if rotated["secret"] == made["secret"] || !strings.HasSuffix(fmt.Sprint(rotated["previous_secret_valid_until"]), "Z") {
		t.Errorf("rotated to %v", rotated)
	}
	tested := s.ask("POST", path+"/test", token, "", 202)
	if tested["status"] != "pending" || tested["event_type"] != "webhook.test" || tested["attempt_count"] != 0.0 || tested["next_retry_at"] == nil {
		t.Errorf("tested %v", tested)
	}
	delivery := fmt.Sprintf("%s/deliveries/%v", path, tested["id"])
	if shown := s.ask("GET", delivery, token, "", 200); !strings.Contains(shown["payload"].(string), `"type":"webhook.test"`) {
		t.Errorf("shown %v", shown)
	}
	replayed := s.ask("POST", delivery+"/replay", token, "", 202)
	if shown := s.ask("GET", fmt.Sprintf("%s/deliveries/%v", path, replayed["id"]), token, "", 200); replayed["event_id"] == tested["event_id"] ||
		!strings.HasSuffix(shown["payload"].(string), fmt.Sprintf(`,"replayed_from":"%v"}`, tested["event_id"])) {
		t.Errorf("replayed %v", shown)
	}
	for query, want := range map[string]float64{"": 50, "?limit=0": 1, "?limit=1000": 200, "?limit=many": 50, "?limit=2": 2} {
		if got := s.ask("GET", path+"/deliveries"+query, token, "", 200); got["limit"] != want || len(got["deliveries"].([]any)) != min(2, int(want)) {
			t.Errorf("with %q: %v", query, got)
		}
	}
	if got := s.ask("GET", fmt.Sprintf("%s/deliveries?before=%v", path, replayed["id"]), token, "", 200); len(got["deliveries"].([]any)) != 1 {
		t.Errorf("before the last: %v", got)
	}
	if got := s.ask("POST", path+"/replay-failed", token, "", 202); got["replayed"] != 0.0 || got["left"] != 0.0 {
		t.Errorf("replayed %v", got)
	}
	if got := s.ask("PATCH", path, token, `{"enabled":false,"events":["recording.deleted"]}`, 200); got["enabled"] != false || len(got["events"].([]any)) != 1 {
		t.Errorf("changed to %v", got)
	}
	s.ask("POST", path+"/test", token, "", 409)
	s.ask("POST", delivery+"/replay", token, "", 409)
	s.ask("DELETE", path, token, "", 204)
	s.ask("GET", path, token, "", 404)
	s.ask("GET", delivery, token, "", 404)
}

// Rule: what is wrong is refused and named, another's is 404, a scope that is not there 403, one too many 409.
func TestRefusalsOfWebhooks(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	token, stranger := s.token("ada", "full"), s.token("eve", "full")
	path := fmt.Sprintf("/api/v1/webhooks/%v", s.ask("POST", "/api/v1/webhooks", token, wanted, 201)["id"])
	for body, want := range map[string]string{
		`{}`: "name", `{"name":"a"}`: "url", `{"name":"a","url":"https://8.8.8.8/"}`: "events",
		`{"name":"a","url":"https://8.8.8.8/","events":null}`:                          "events",
		`{"name":"a","url":"https://8.8.8.8/","events":[5]}`:                           "events",
		`{"name":"a","url":"https://8.8.8.8/","events":["x"]}`:                         "events",
		`{"name":"a","url":"https://10.0.0.1/","events":["webhook.test"]}`:             "url",
		`{"name":"a","url":"https://8.8.8.8/","events":["webhook.test"],"scope":"us"}`: "scope",
		`{"name":"a","url":5}`: "url",
	} {
		if got := s.ask("POST", "/api/v1/webhooks", token, body, 400); !strings.Contains(fmt.Sprint(got["error"]), want) {
			t.Errorf("%s: %v", body, got)
		}
	}
	if got := s.ask("POST", "/api/v1/webhooks", token, `{"name":"a","url":"https://8.8.8.8/","events":["x"]}`, 400); len(got["allowed"].([]any)) < 12 {
		t.Errorf("it says %v", got)
	}
	s.ask("POST", "/api/v1/webhooks", token, `{"name":"a","url":"https://8.8.8.8/","events":["webhook.test"],"scope":"organization"}`, 403)
	s.ask("POST", "/api/v1/webhooks", s.token("ada", "read write"), wanted, 403)
	s.ask("POST", "/api/v1/webhooks", token, wanted, 201)
	if got := s.ask("POST", "/api/v1/webhooks", token, wanted, 409); got["max_per_user"] != 2.0 || got["code"] != "webhook_limit_reached" {
		t.Errorf("one too many: %v", got)
	}
	for _, attempt := range [][2]string{{"GET", ""}, {"PATCH", ""}, {"DELETE", ""}, {"POST", "/rotate-secret"}, {"POST", "/test"}, {"GET", "/deliveries"}, {"POST", "/replay-failed"}} {
		body := ""
		if attempt[0] == "PATCH" {
			body = `{"name":"mine"}`
		}
		s.ask(attempt[0], path+attempt[1], stranger, body, 404)
	}
}

// Rule: a token without the scope read sees no titles in what was delivered, nor what a receiver sent back.
func TestPayloadsFollowTheScopeRead(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	path := fmt.Sprintf("/api/v1/webhooks/%v", s.ask("POST", "/api/v1/webhooks", s.token("ada", "full"), wanted, 201)["id"])
	var hook models.Webhook
	if err := s.db.Read.Take(&hook).Error; err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	d := models.WebhookDelivery{
		WebhookID: hook.ID, EventID: strings.Repeat("e", 36), EventType: "recording.deleted", Status: "success", CreatedAt: now, FinishedAt: &now,
		Payload: `{"id":"e","type":"recording.deleted","data":{"recording_id":7,"title":"Secret plans"}}`, ResponseBody: new("got Secret plans"),
	}
	if err := s.db.Transaction(t.Context(), func(tx *gorm.DB) error { return tx.Create(&d).Error }); err != nil {
		t.Fatal(err)
	}
	path += "/deliveries"
	for scopes, shown := range map[string]bool{"webhooks": false, "read webhooks": true} {
		if got := s.ask("GET", path, s.token("ada", scopes), "", 200); strings.Contains(fmt.Sprint(got), "got Secret plans") != shown {
			t.Errorf("listed with %s: %v", scopes, got)
		}
	}
	path += fmt.Sprintf("/%d", d.ID)
	if got := s.ask("GET", path, s.token("ada", "webhooks"), "", 200); strings.Contains(fmt.Sprint(got), "Secret plans") {
		t.Errorf("without read: %v", got)
	}
	if got := s.ask("GET", path, s.token("ada", "read webhooks"), "", 200); got["payload"] != d.Payload {
		t.Errorf("with read: %v", got)
	}
}
