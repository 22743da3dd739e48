package tests

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: a token works in its header places in any usual spelling, and a bad one is 401, also beside something good
// (H-040, and "bad input, by name").
func TestWhereAndHowACredentialIsRead(t *testing.T) {
	t.Parallel()
	environment := quiet(t)
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	token := servertest.CreateToken(t, environment, "ada@example.org")
	other := servertest.CreateToken(t, environment, "ada@example.org")
	session := process.Client("")
	if answer := session.SignIn("ada@example.org", servertest.Password); answer.Status != http.StatusOK {
		t.Fatalf("sign-in: %v", answer)
	}
	flipped := token[:len(token)-1] + map[bool]string{true: "b", false: "a"}[token[len(token)-1] == 'a']
	for _, row := range []struct {
		name   string
		header http.Header
		query  string
		cookie bool
		status int
	}{
		{"Bearer", http.Header{"Authorization": {"Bearer " + token}}, "", false, 200},
		{"lower-case bearer", http.Header{"Authorization": {"bearer " + token}}, "", false, 200},
		{"two spaces", http.Header{"Authorization": {"BEARER  " + token}}, "", false, 200},
		{"trailing space", http.Header{"Authorization": {"Bearer " + token + " "}}, "", false, 200},
		{"X-API-Token", http.Header{"X-Api-Token": {token}}, "", false, 200},
		{"API-Token", http.Header{"Api-Token": {token}}, "", false, 200},
		{"the same token in two places", http.Header{"Authorization": {"Bearer " + token}, "X-Api-Token": {token}}, "", false, 200},
		{"last character changed", http.Header{"Authorization": {"Bearer " + flipped}}, "", false, 401},
		{"Basic", http.Header{"Authorization": {"Basic " + token}}, "", false, 401},
		{"no scheme", http.Header{"Authorization": {token}}, "", false, 401},
		{"empty Bearer", http.Header{"Authorization": {"Bearer "}}, "", false, 401},
		{"10 kB", http.Header{"Authorization": {"Bearer stn_" + strings.Repeat("a", 10240)}}, "", false, 401},
		{"two different tokens", http.Header{"Authorization": {"Bearer " + token}, "X-Api-Token": {other}}, "", false, 401},
		{"a bad token beside a good one", http.Header{"Authorization": {"Bearer nonsense"}, "X-Api-Token": {token}}, "", false, 401},
		{"a bad token beside a good cookie", http.Header{"Authorization": {"Bearer nonsense"}}, "", true, 401},
		{"a good token beside a cookie", http.Header{"Authorization": {"Bearer " + token}}, "", true, 200},
		{"the cookie alone", http.Header{}, "", true, 200},
		{"nothing", http.Header{}, "", false, 401},
		{"in the query, which is switched off", http.Header{}, "?token=" + token, false, 401},
	} {
		client := process.Client("")
		if row.cookie {
			client.Cookies = session.Cookies
		}
		answer := client.Call(http.MethodGet, "/api/v1/recordings"+row.query, nil, row.header)
		if answer.Status != row.status {
			t.Errorf("%s: got %v, want %d", row.name, answer, row.status)
		}
		if challenge := answer.Header.Get("WWW-Authenticate"); (answer.Status == 401) != (challenge != "") {
			t.Errorf("%s: %d with WWW-Authenticate %q", row.name, answer.Status, challenge)
		}
	}
	if containsAll(process.Logs(), token) {
		t.Error("the token is in the log")
	}
}

// Rule: with API_ALLOW_QUERY_TOKEN a full token works in the query of a GET; it never reaches a log (H-041).
func TestATokenInTheQuery(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(servertest.Environment{"API_ALLOW_QUERY_TOKEN": "true", "LOG_LEVEL": "debug"})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	full := servertest.CreateToken(t, environment, "ada@example.org")
	scoped := servertest.CreateToken(t, environment, "ada@example.org", "read")
	client := process.Client("")
	for _, row := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/api/v1/recordings?token=" + full, 200},
		{http.MethodGet, "/api/v1/recordings?token=" + scoped, 401},
		{http.MethodDelete, "/api/v1/recordings/1?token=" + full, 401},
		{http.MethodGet, "/api/v1/nowhere?token=" + full, 404},
		{http.MethodGet, "/api/v1/recordings/77?token=" + full, 404},
	} {
		answer := client.Call(row.method, row.path, nil, nil)
		if answer.Status != row.status {
			t.Errorf("%s %s: got %v, want %d", row.method, strings.Split(row.path, "?")[0], answer, row.status)
		}
		if containsAll(string(answer.Body), full) {
			t.Errorf("%s: the body shows the token", row.path)
		}
		if policy := answer.Header.Get("Referrer-Policy"); policy != "no-referrer" && policy != "same-origin" && policy != "strict-origin-when-cross-origin" {
			t.Errorf("Referrer-Policy is %q", policy)
		}
	}
	if logs := process.Logs(); containsAll(logs, full) || containsAll(logs, scoped) {
		t.Error("a token is in the log")
	}
}

// scopeMatrix says for every scope which of these requests it opens. 404 stands for "let in, no such recording".
var scopeMatrix = []struct{ method, path, scope string }{
	{http.MethodGet, "/api/v1/recordings", "read"},
	{http.MethodGet, "/api/v1/recordings/1", "read"},
	{http.MethodGet, "/api/v1/recordings/1/status", "read"},
	{http.MethodGet, "/api/v1/recordings/1/transcript", "read"},
	{http.MethodGet, "/api/v1/recordings/1/audio", "read"},
	{http.MethodGet, "/api/v1/transcription", "read"},
	{http.MethodGet, "/api/v1/users/me", "read"},
	{http.MethodPost, "/api/v1/recordings/1/transcribe", "process"},
	{http.MethodPost, "/api/v1/recordings/upload", "upload"},
	{http.MethodDelete, "/api/v1/recordings/1", "delete"},
	{http.MethodGet, "/api/v1/tokens/current", ""},
	{http.MethodGet, "/api/v1/capabilities", ""},
	{http.MethodGet, "/api/v1/limits", ""},
}

// Rule: a token opens exactly the routes of its scopes; a missing scope is 403 that names it, never 401 (H-044).
func TestATokenOpensExactlyTheRoutesOfItsScope(t *testing.T) {
	t.Parallel()
	environment := quiet(t)
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	for _, scope := range []string{"read", "write", "upload", "process", "share", "delete", "webhooks", "account", "full"} {
		client := process.Client(servertest.CreateToken(t, environment, "ada@example.org", scope))
		for _, row := range scopeMatrix {
			answer := client.Send(row.method, row.path, map[string]any{})
			opens := scope == "full" || row.scope == "" || row.scope == scope
			if opens && (answer.Status == http.StatusForbidden || answer.Status == http.StatusUnauthorized) {
				t.Errorf("scope %s on %s %s: %v, want it let in", scope, row.method, row.path, answer)
			}
			if opens {
				continue
			}
			body := answer.JSON(t)
			if answer.Status != http.StatusForbidden || body["code"] != "insufficient_scope" ||
				fmt.Sprint(body["required_scopes"]) != "["+row.scope+"]" || fmt.Sprint(body["token_scopes"]) != "["+scope+"]" {
				t.Errorf("scope %s on %s %s: %v, want 403 naming %s", scope, row.method, row.path, answer, row.scope)
			}
		}
		if scope != "full" { // the cap of ten: make room
			client.Send(http.MethodDelete, "/api/v1/tokens/current", nil)
			if again := client.Get("/api/v1/tokens/current"); again.Status != http.StatusUnauthorized {
				t.Errorf("a token that revoked itself: %v, want 401", again)
			}
		}
	}
}

// manager is a signed-in browser that may make as many tokens as the cap allows.
func manager(t *testing.T, more servertest.Environment) (servertest.Environment, *servertest.Process, *servertest.Client) {
	t.Helper()
	environment := quiet(t).With(servertest.Environment{"API_TOKEN_CREATE_RATE_LIMIT": "0", "API_TOKEN_CHANGE_RATE_LIMIT": "0"}).With(more)
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	client := process.Client("")
	if answer := client.SignIn("ada@example.org", servertest.Password); answer.Status != http.StatusOK {
		t.Fatalf("sign-in: %v", answer)
	}
	return environment, process, client
}

// Rule: with default settings the eleventh active token is 409 token_limit_reached, judged before the create limit,
// and revoking one frees a slot at once.
func TestTheEleventhActiveToken(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t)
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	client := process.Client("")
	client.SignIn("ada@example.org", servertest.Password)
	var first int64
	for i := range 10 {
		answer := client.Send(http.MethodPost, "/api/tokens", map[string]any{"name": fmt.Sprint("n", i)})
		if answer.Status != http.StatusCreated {
			t.Fatalf("token %d: %v", i+1, answer)
		}
		if i == 0 {
			first = recordingID(t, answer.JSON(t))
		}
	}
	for range 12 { // more often than the create limit allows: a 409 charges nothing
		answer := client.Send(http.MethodPost, "/api/tokens", map[string]any{"name": "one more"})
		if body := answer.JSON(t); answer.Status != http.StatusConflict || body["code"] != "token_limit_reached" || body["max_tokens"] != 10.0 {
			t.Fatalf("the eleventh token: %v, want 409 token_limit_reached", answer)
		}
	}
	if answer := client.Send(http.MethodDelete, at("/api/tokens/%d", first), nil); answer.Status != http.StatusOK {
		t.Fatalf("revoking: %v", answer)
	}
	refused := client.Send(http.MethodPost, "/api/tokens", map[string]any{"name": "in its place"})
	if refused.Status != http.StatusTooManyRequests || refused.Code() != "user_rate_limit_exceeded" || refused.Header.Get("Retry-After") == "" {
		t.Errorf("with a free slot and ten creates behind it: %v, want 429 of the create limit", refused)
	}
}

// Rule: without the create limit, a revoked or expired token frees its slot at once, and a rotating pair counts once.
func TestWhatFreesASlot(t *testing.T) {
	t.Parallel()
	environment, process, client := manager(t, servertest.Environment{"API_MAX_TOKENS_PER_USER": "2"})
	create := func() servertest.Answer {
		return client.Send(http.MethodPost, "/api/tokens", map[string]any{"name": "n"})
	}
	first, second := create(), create()
	if full := create(); full.Code() != "token_limit_reached" {
		t.Fatalf("the third of two: %v", full)
	}
	rotated := client.Send(http.MethodPost, at("/api/tokens/%d/rotate", recordingID(t, first.JSON(t))), map[string]any{"overlap_hours": 1})
	if rotated.Status != http.StatusCreated && rotated.Status != http.StatusOK {
		t.Fatalf("rotating at the cap: %v, want a new token", rotated)
	}
	for _, answer := range []servertest.Answer{first, rotated} {
		token, _ := answer.JSON(t)["token"].(string)
		if got := process.Client(token).Get("/api/v1/tokens/current"); got.Status != http.StatusOK {
			t.Errorf("a token of the rotating pair: %v, want both alive", got)
		}
	}
	if full := create(); full.Code() != "token_limit_reached" {
		t.Fatalf("while the pair counts once, two are active: %v, want 409", full)
	}
	client.Send(http.MethodDelete, at("/api/tokens/%d", recordingID(t, second.JSON(t))), nil)
	if answer := create(); answer.Status != http.StatusCreated {
		t.Errorf("after a revocation: %v, want 201", answer)
	}
	_ = environment
}

// Rule: the plaintext is shown once; the list shows neither it nor its hash.
func TestATokenIsShownOnce(t *testing.T) {
	t.Parallel()
	_, _, client := manager(t, nil)
	created := client.Send(http.MethodPost, "/api/tokens", map[string]any{"name": "n8n", "scopes": []string{"upload", "read", "read"}, "expires_in_days": 30}).JSON(t)
	plaintext, _ := created["token"].(string)
	if len(plaintext) != 53 || !strings.HasPrefix(plaintext, "stn_") || fmt.Sprint(created["scopes"]) != "[read upload]" {
		t.Errorf("created %v", created)
	}
	list := client.Get("/api/tokens")
	if entries := list.JSON(t)["tokens"].([]any); len(entries) != 1 || strings.Contains(string(list.Body), plaintext) || strings.Contains(string(list.Body), "hash") {
		t.Errorf("the list is %s", list.Body)
	}
	entry := list.JSON(t)["tokens"].([]any)[0].(map[string]any)
	want := []string{"created_at", "expires_at", "id", "last_used_at", "name", "rate_limits", "revoked", "scopes"}
	var got []string
	for name := range entry {
		got = append(got, name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("an entry has %v, want %v", got, want)
	}
}

// Rule: a token does not manage tokens; its own life it may end. A full one may where switched on, never beyond
// itself (H-047).
func TestATokenDoesNotManageTokens(t *testing.T) {
	t.Parallel()
	environment := quiet(t)
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	for _, scopes := range [][]string{{"read"}, nil} {
		client := process.Client(servertest.CreateToken(t, environment, "ada@example.org", scopes...))
		for _, row := range []struct{ method, path string }{
			{http.MethodGet, "/api/tokens"}, {http.MethodPost, "/api/tokens"}, {http.MethodPatch, "/api/tokens/1"}, {http.MethodDelete, "/api/tokens/1"},
		} {
			answer := client.Send(row.method, row.path, map[string]any{"name": "x"})
			if body := answer.JSON(t); answer.Status != http.StatusForbidden || body["code"] != "insufficient_scope" || fmt.Sprint(body["required_scopes"]) != "[]" {
				t.Errorf("%v on %s %s: %v, want 403 insufficient_scope with no scope that would do", scopes, row.method, row.path, answer)
			}
		}
	}
}

// Rule: a revoked token is dead at once where it was revoked and within a second elsewhere (H-038).
func TestARevokedTokenIsDeadEverywhereWithinASecond(t *testing.T) {
	t.Parallel()
	environment, first, client := manager(t, nil)
	second := servertest.Start(t, environment)
	created := client.Send(http.MethodPost, "/api/tokens", map[string]any{"name": "n"}).JSON(t)
	token, _ := created["token"].(string)
	here, there := first.Client(token), second.Client(token)
	for _, c := range []*servertest.Client{here, there} {
		if answer := c.Get("/api/v1/recordings"); answer.Status != http.StatusOK {
			t.Fatalf("before the revocation: %v", answer)
		}
	}
	if answer := client.Send(http.MethodDelete, at("/api/tokens/%d", recordingID(t, created)), nil); answer.Status != http.StatusOK {
		t.Fatalf("revoking: %v", answer)
	}
	revoked := time.Now()
	if answer := here.Get("/api/v1/recordings"); answer.Status != http.StatusUnauthorized {
		t.Errorf("where it was revoked: %v, want 401 at once", answer)
	}
	for {
		began := time.Since(revoked)
		if there.Get("/api/v1/recordings").Status == http.StatusUnauthorized {
			t.Logf("dead on the other process after %v", began.Round(time.Millisecond))
			return
		}
		if began > time.Second {
			t.Fatalf("a request that began %v after the revocation was let in on the other process", began)
		}
	}
}
