package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tokens"
)

// The answers have the contract's members: times of the naive form, the plaintext once, scopes sorted.
func TestTheAnswersFollowTheContract(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{})
	_, browser := s.signIn("ann")
	s.ask("GET", "/api/tokens", browser, "").expect(http.StatusOK).expectFields(map[string]any{"tokens": []any{}})

	made := s.ask("POST", "/api/tokens", browser, `{"name":" n8n ","expires_in_days":30,"scopes":[" write","read","read"]}`).
		expect(http.StatusCreated)
	plaintext, _ := made.body["token"].(string)
	if !auth.Check(plaintext) {
		t.Fatalf("the plaintext is %q", plaintext)
	}
	if got := made.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("the plaintext may be kept on the way: Cache-Control is %q", got)
	}
	shown := map[string]any{
		"id": made.body["id"], "name": "n8n", "created_at": "2026-03-05T06:13:46", "last_used_at": nil,
		"expires_at": "2026-04-04T06:13:46", "revoked": false, "scopes": []string{"read", "write"},
		"rate_limits": nil,
	}
	once := map[string]any{"token": plaintext}
	for name, value := range shown {
		once[name] = value
	}
	made.expectFields(once)
	s.ask("GET", "/api/tokens", browser, "").expect(http.StatusOK).expectFields(map[string]any{"tokens": []any{shown}})

	path := fmt.Sprintf("/api/tokens/%.0f", made.body["id"])
	shown["name"], shown["scopes"] = "zapier", []string{"read"}
	s.ask("PATCH", path, browser, `{"name":"zapier","scopes":["read"]}`).expect(http.StatusOK).expectFields(shown)

	rotated := s.ask("POST", path+"/rotate", browser, `{"overlap_hours":24}`).expect(http.StatusCreated)
	if rotated.body["name"] != "zapier" || rotated.body["expires_at"] != shown["expires_at"] || rotated.body["token"] == plaintext {
		t.Errorf("rotated is %v", rotated.body)
	}
	gone := s.ask("DELETE", path, browser, "").expect(http.StatusOK)
	if gone.body["message"] == "" || len(gone.body) != 1 {
		t.Errorf("revoked is %v", gone.body)
	}
	list := s.ask("GET", "/api/tokens", browser, "").expect(http.StatusOK).body["tokens"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["id"] != rotated.body["id"] {
		t.Errorf("listed after all are %v", list)
	}
}

// Without a name, scopes or expiry a token is an unnamed, full one without end.
func TestDefaults(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{})
	_, browser := s.signIn("ann")
	for _, body := range []string{`{}`, `{"name":null,"expires_in_days":null}`, `{"expires_in_days":0,"scopes":["full"],"color":"red"}`} {
		made := s.ask("POST", "/api/tokens", browser, body).expect(http.StatusCreated).body
		if made["name"] != tokens.DefaultName || made["expires_at"] != nil || fmt.Sprint(made["scopes"]) != "[full]" {
			t.Errorf("%s made %v", body, made)
		}
	}
}

// Wrong values are refused by name and make or change nothing.
func TestWrongValuesAreRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{})
	userID, browser := s.signIn("ann")
	_, token := s.mint(tokens.Wish{UserID: userID, Scopes: []string{"read", "write"}})
	path := fmt.Sprintf("/api/tokens/%d", token.ID)
	for _, body := range []string{
		`{"name":""}`, `{"name":" "}`, `{"name":7}`, `{"name":"a\u0000b"}`, `{"name":"` + strings.Repeat("x", 101) + `"}`,
		`{"expires_in_days":true}`, `{"expires_in_days":-1}`, `{"expires_in_days":1.5}`, `{"expires_in_days":"1"}`,
		`{"expires_in_days":1e2}`, `{"expires_in_days":36501}`, `{"expires_in_days":99999999999999999999}`,
		`{"scopes":null}`, `{"scopes":[]}`, `{"scopes":"read"}`, `{"scopes":{}}`, `{"scopes":[1]}`, `{"scopes":[null]}`,
		`{"scopes":["read","root"]}`, `{"scopes":["full","read"]}`, `{"scopes":["Read"]}`,
	} {
		s.ask("POST", "/api/tokens", browser, body).expectProblem(problems.InvalidParameter)
	}
	for _, body := range []string{
		`{}`, `{"name":""}`, `{"name":null}`, `{"name":" "}`, `{"scopes":null}`, `{"scopes":[]}`, `{"scopes":["full"]}`,
		`{"scopes":["read","share"]}`, `{"name":"mischief","scopes":["delete"]}`,
	} {
		s.ask("PATCH", path, browser, body).expectProblem(problems.InvalidParameter)
	}
	for _, body := range []string{
		`{"overlap_hours":-1}`, `{"overlap_hours":169}`, `{"overlap_hours":true}`, `{"overlap_hours":"1"}`,
	} {
		s.ask("POST", path+"/rotate", browser, body).expectProblem(problems.InvalidParameter)
	}
	for _, body := range []string{`[]`, `null`, `{`, `"x"`} {
		s.ask("POST", "/api/tokens", browser, body).expectProblem(problems.BadRequest)
		s.ask("PATCH", path, browser, body).expectProblem(problems.BadRequest)
	}
	list := s.ask("GET", "/api/tokens", browser, "").expect(http.StatusOK).body["tokens"].([]any)
	if len(list) != 1 || fmt.Sprint(list[0].(map[string]any)["scopes"]) != "[read write]" || list[0].(map[string]any)["name"] != tokens.DefaultName {
		t.Errorf("refused requests left %v", list)
	}
	// An empty name beside scopes is none.
	s.ask("PATCH", path, browser, `{"name":"","scopes":["read"]}`).expect(http.StatusOK)
}

// Tokens of others, revoked ones and what is no id are not found, by whatever method.
func TestOnlyOwnTokensAreThere(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{})
	_, browser := s.signIn("ann")
	other, _ := s.signIn("bob")
	plaintext, foreign := s.mint(tokens.Wish{UserID: other})
	for _, id := range []string{fmt.Sprint(foreign.ID), "0", "-1", "x", "99999999999999999999", "4711"} {
		s.ask("PATCH", "/api/tokens/"+id, browser, `{"name":"mine"}`).expectProblem(problems.NotFound)
		s.ask("DELETE", "/api/tokens/"+id, browser, "").expectProblem(problems.NotFound)
		s.ask("POST", "/api/tokens/"+id+"/rotate", browser, `{}`).expectProblem(problems.NotFound)
	}
	if got := s.ask("GET", "/api/v1/tokens/current", plaintext, "").expect(http.StatusOK).body["name"]; got != tokens.DefaultName {
		t.Errorf("a stranger renamed the token to %v", got)
	}
}

// The eleventh is refused by the cap, which says how to go on and charges nothing; then the create limit bites,
// with the usual body and headers.
func TestTheCapAndThenTheCreateLimit(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{maxPerUser: 2, create: []limits.Rate{{Limit: 3, Period: time.Hour}}})
	_, browser := s.signIn("ann")
	create := func() answer { return s.ask("POST", "/api/tokens", browser, `{}`) }
	first := create().expect(http.StatusCreated)
	if told := first.header.Get("RateLimit"); !strings.Contains(told, `"token_create";r=2;`) {
		t.Errorf("the create limit is charged, and the answer tells %q", told)
	}
	create().expect(http.StatusCreated)
	for range 4 {
		capped := create().expectProblem(problems.TokenLimitReached)
		if capped.body["max_tokens"] != 2.0 || !strings.Contains(capped.body["error"].(string), "Revoking") {
			t.Errorf("the cap says %v", capped.body)
		}
	}
	revoke := func(made answer) {
		s.ask("DELETE", fmt.Sprintf("/api/tokens/%.0f", made.body["id"]), browser, "").expect(http.StatusOK)
	}
	revoke(first)
	third := create().expect(http.StatusCreated)
	revoke(third)
	limited := create().expectProblem(problems.UserRateLimited)
	limit := limited.body["limit"].(map[string]any)
	if limit["name"] != "token_create" || limit["scope"] != "account" || limit["limit"] != 3.0 || limit["window_seconds"] != 3600.0 {
		t.Errorf("the refusal names %v", limit)
	}
	for _, header := range []string{"Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit", "RateLimit-Policy"} {
		if limited.header.Get(header) == "" {
			t.Errorf("the refusal has no %s", header)
		}
	}
	s.clock.Advance(time.Hour + time.Minute)
	create().expect(http.StatusCreated)
}

// Changing, rotating and revoking share one limit of the account.
func TestTheChangeLimit(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{change: []limits.Rate{{Limit: 3, Period: time.Hour}}})
	userID, browser := s.signIn("ann")
	_, token := s.mint(tokens.Wish{UserID: userID})
	path := fmt.Sprintf("/api/tokens/%d", token.ID)
	s.ask("PATCH", path, browser, `{"name":"x"}`).expect(http.StatusOK)
	rotated := s.ask("POST", path+"/rotate", browser, "").expect(http.StatusCreated)
	s.ask("DELETE", fmt.Sprintf("/api/tokens/%.0f", rotated.body["id"]), browser, "").expect(http.StatusOK)
	for _, row := range [][3]string{{"PATCH", path, `{"name":"x"}`}, {"DELETE", path, ""}, {"POST", path + "/rotate", `{}`}} {
		s.ask(row[0], row[1], browser, row[2]).expectProblem(problems.UserRateLimited)
	}
	s.ask("GET", "/api/tokens", browser, "").expect(http.StatusOK)
	s.ask("POST", "/api/tokens", browser, `{}`).expect(http.StatusCreated)
}

// A revoked, narrowed or replaced token is what it now is at the very next request.
func TestChangesBiteAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{})
	userID, browser := s.signIn("ann")
	plaintext, token := s.mint(tokens.Wish{UserID: userID})
	path := fmt.Sprintf("/api/tokens/%d", token.ID)
	current := func(plaintext string) answer { return s.ask("GET", "/api/v1/tokens/current", plaintext, "") }

	current(plaintext).expect(http.StatusOK)
	s.ask("PATCH", path, browser, `{"scopes":["read"]}`).expect(http.StatusOK)
	if scopes := fmt.Sprint(current(plaintext).expect(http.StatusOK).body["scopes"]); scopes != "[read]" {
		t.Errorf("after narrowing the scopes are %s", scopes)
	}
	rotated := s.ask("POST", path+"/rotate", browser, `{}`).expect(http.StatusCreated)
	current(plaintext).expectProblem(problems.InvalidToken)
	fresh := rotated.body["token"].(string)
	current(fresh).expect(http.StatusOK)
	s.ask("DELETE", fmt.Sprintf("/api/tokens/%.0f", rotated.body["id"]), browser, "").expect(http.StatusOK)
	current(fresh).expectProblem(problems.InvalidToken)
}

// Managing is for browsers: no token does it, unless full ones may, and then none makes more than itself.
func TestTokensDoNotManageTokens(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		s := newServer(t, settings{manageByToken: allowed})
		userID, _ := s.signIn("ann")
		full, _ := s.mint(tokens.Wish{UserID: userID, ExpiresInDays: 7})
		_, endless := s.mint(tokens.Wish{UserID: userID})
		all := []string{"read", "write", "upload", "process", "share", "delete", "webhooks", "account"}
		scoped, _ := s.mint(tokens.Wish{UserID: userID, Scopes: all})
		path := fmt.Sprintf("/api/tokens/%d", endless.ID)
		rows := [][3]string{
			{"GET", "/api/tokens", ""},
			{"POST", "/api/tokens", `{"expires_in_days":0}`},
			{"PATCH", path, `{"name":"x"}`},
			{"POST", path + "/rotate", `{}`},
		}
		for _, row := range rows {
			refused := s.ask(row[0], row[1], scoped, row[2]).expectProblem(problems.InsufficientScope)
			if fmt.Sprint(refused.body["required_scopes"]) != "[]" || len(refused.body["token_scopes"].([]any)) != len(all) {
				t.Errorf("the refusal says %v", refused.body)
			}
			got := s.ask(row[0], row[1], full, row[2])
			if !allowed {
				got.expectProblem(problems.InsufficientScope)
				continue
			}
			if got.status >= http.StatusMultipleChoices {
				t.Errorf("%s: %d %v", got.what, got.status, got.body)
			}
			if expires, made := got.body["expires_at"]; got.body["token"] != nil && (!made || expires != "2026-03-12T06:13:46") {
				t.Errorf("%s: a token that ends on March 12 got one that ends %v", got.what, expires)
			}
		}
	}
}
