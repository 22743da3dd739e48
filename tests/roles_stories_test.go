package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/modelsql"
	"github.com/stenometer/stenometer/tests/servertest"
)

// story is a request whose row is open to every role, and which takes a verb for what it asks.
type story struct {
	name, method, path string
	verb               auth.Verb
	// body is made anew for each request; what is made needs a name that is free.
	body func(name string) any
	// bySession is for what takes the mark of a token, which the tokens of this test do not have.
	bySession bool
	// made is where an administrator makes the thing that the path's %d stands for, with the body's name.
	made string
}

// stories is the list: a verb that a story asks for stands here. What rows ask for is in permissions.golden.
func stories(organization int64) []story {
	shared := func(name string) any { return map[string]any{"name": name, "group_id": organization} }
	renamed := func(name string) any { return map[string]any{"name": name + " again"} }
	nothing := func(string) any { return nil }
	hook := func(name string) any {
		return map[string]any{"name": name, "url": "http://127.0.0.1:9/", "allow_http": true, "events": []string{"recording.deleted"}, "scope": "organization"}
	}
	sender := func(name string) any { return map[string]any{"name": name, "scope": "organization"} }
	return []story{
		{name: "usage of the organization", method: "GET", path: "/api/v1/usage?scope=organization", verb: auth.ManageTeamBilling, body: nothing},
		{name: "figures of all accounts", method: "GET", path: "/api/v1/stats?scope=all", verb: auth.AdministerMembers, body: nothing, bySession: true},
		{name: "make a tag of the organization", method: "POST", path: "/api/v1/tags", verb: auth.Publish, body: shared},
		{name: "change a tag of the organization", method: "PUT", path: "/api/v1/tags/%d", verb: auth.Publish, body: renamed, made: "/api/v1/tags"},
		{name: "delete a tag of the organization", method: "DELETE", path: "/api/v1/tags/%d", verb: auth.Publish, body: nothing, made: "/api/v1/tags"},
		{name: "make a folder of the organization", method: "POST", path: "/api/v1/folders", verb: auth.Publish, body: shared},
		{name: "change a folder of the organization", method: "PATCH", path: "/api/v1/folders/%d", verb: auth.Publish, body: renamed, made: "/api/v1/folders"},
		{name: "delete a folder of the organization", method: "DELETE", path: "/api/v1/folders/%d", verb: auth.Publish, body: nothing, made: "/api/v1/folders"},
		{name: "make a webhook of the organization", method: "POST", path: "/api/v1/webhooks", verb: auth.ManageIntegrations, body: hook},
		{name: "make an integration of the organization", method: "POST", path: "/api/v1/integrations", verb: auth.ManageIntegrations, body: sender},
		{name: "remove another's word", method: "DELETE", path: "/api/v1/vocabulary/%d", verb: auth.AcceptMemoryRule, body: nothing, made: "/api/v1/vocabulary"},
	}
}

// company is a server with an administrator who stays one, and an account of whom the test makes what it wants. The
// account's sessions hear of a new role at once.
type company struct {
	environment  servertest.Environment
	process      *servertest.Process
	provider     *asrtest.Server
	boss         *servertest.Client
	session      *servertest.Client
	organization int64
}

func newCompany(t *testing.T) *company {
	t.Helper()
	provider := asrtest.New(t)
	environment := quiet(t).With(lively).With(servertest.Environment{
		"ASR_BASE_URL": provider.ASRBaseURL(), "API_TOKEN_CHANGE_RATE_LIMIT": "0", "API_TOKEN_CREATE_RATE_LIMIT": "0", "PUBLIC_URL": "https://notes.example.org",
		"WEBHOOK_INTRANET_HOST_ALLOWLIST": `127\.0\.0\.1`,
	})
	process := servertest.Start(t, environment)
	c := &company{environment: environment, process: process, provider: provider, session: process.Client("")}
	servertest.CreateUser(t, environment, "ada@example.org")
	servertest.CreateUser(t, environment, "boss@example.org", "--role", "admin")
	c.boss = process.Client(servertest.CreateToken(t, environment, "boss@example.org"))
	if answer := c.session.SignIn("ada@example.org", servertest.Password); answer.Status != http.StatusOK {
		t.Fatalf("sign in: %v", answer)
	}
	organization, _ := c.session.Get("/api/v1/users/me").JSON(t)["organization_id"].(float64)
	c.organization = int64(organization)
	return c
}

// become writes a role into the account's row, whether or not there is one, and gives a full token that it has not used.
func (c *company) become(t *testing.T, role string) *servertest.Client {
	t.Helper()
	made := c.session.Send(http.MethodPost, "/api/tokens", map[string]any{"name": "full " + role})
	token, _ := made.JSON(t)["token"].(string)
	if made.Status != http.StatusCreated || token == "" {
		t.Fatalf("make a token: %v", made)
	}
	connection, err := modelsql.Open(t, c.environment).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	for _, statement := range []string{"PRAGMA ignore_check_constraints = ON", "UPDATE users SET role = '" + role + "' WHERE email = 'ada@example.org'"} {
		if _, err := connection.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return c.process.Client(token)
}

// Rule: what a request asks for takes the verb that the one table says, whoever asks and by whatever: each role, one that
// nobody knows and none, by session and by token in turn, on the real handlers. Who lacks it is told which.
func TestStoriesAskForTheirVerbs(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for nth, role := range allRoles() {
		token := c.become(t, role)
		for i, story := range stories(c.organization) {
			by, client := "token", token
			if (nth+i)%2 == 0 {
				by, client = "session", c.session
			}
			name, path := fmt.Sprintf("%s %d", role, i), story.path
			if story.made != "" {
				path = at(path, recordingID(t, c.boss.Send(http.MethodPost, story.made, map[string]any{"name": name, "word": name, "group_id": c.organization}).JSON(t)))
			}
			answer := client.Send(story.method, path, story.body(name))
			switch {
			case auth.RoleMay(role, story.verb) && (by == "session" || !story.bySession):
				if answer.Status >= 300 {
					t.Errorf("%s: the %s of %q: %v", story.name, by, role, answer)
				}
			case answer.Status != http.StatusForbidden, answer.Code() != "insufficient_permission", answer.JSON(t)["required_permission"] != story.verb.Name():
				t.Errorf("%s: the %s of %q: %v, want 403 that names %s", story.name, by, role, answer, story.verb.Name())
			}
		}
	}
	if !strings.Contains(c.process.Logs(), "authz.unknown_role") {
		t.Error("the log does not tell of the account whose role is none that there is")
	}
	c.expectIntegrations(t)
}

// expectIntegrations looks at what there is of webhooks and integrations of the organization: what those made who may, each
// with what was done to it in the audit log; of an account's own there is nothing in it.
func (c *company) expectIntegrations(t *testing.T) {
	t.Helper()
	may := 0
	for _, role := range allRoles() {
		if auth.RoleMay(role, auth.ManageIntegrations) {
			may++
		}
	}
	own := map[string]any{"name": "own", "url": "http://127.0.0.1:9/", "allow_http": true, "events": []string{"recording.deleted"}}
	if answer := c.boss.Send(http.MethodPost, "/api/v1/webhooks", own); answer.Status != http.StatusCreated {
		t.Errorf("a webhook of one's own: %v", answer)
	}
	db := modelsql.Open(t, c.environment)
	for noun, rotate := range map[string]string{"webhook": "rotate-secret", "integration": "rotate"} {
		var made int
		var id int64
		if err := db.QueryRowContext(t.Context(), "SELECT count(*), max(id) FROM "+noun+"s WHERE scope = 'organization'").Scan(&made, &id); err != nil || made != may {
			t.Fatalf("%d of %ss of the organization were made, %v, want %d", made, noun, err, may)
		}
		one := at("/api/v1/"+noun+"s/%d", id)
		for _, answer := range []servertest.Answer{
			c.boss.Send(http.MethodPatch, one, map[string]any{"name": "renamed"}), c.boss.Send(http.MethodPost, one+"/"+rotate, map[string]any{}), c.boss.Send(http.MethodDelete, one, nil),
		} {
			if answer.Status >= 300 {
				t.Errorf("%s: %v", one, answer)
			}
		}
		var said string
		err := db.QueryRowContext(t.Context(), `SELECT group_concat(action || ' ' || n, ', ') FROM (SELECT action, count(*) AS n FROM audit_entries
			WHERE object LIKE ? || ' %' AND actor_id > 0 AND organization_id = ? AND address <> '' AND request_id <> '' AND outcome = 'done' GROUP BY action ORDER BY action)`,
			noun, c.organization).Scan(&said)
		if want := fmt.Sprintf("%[1]s.alter 1, %[1]s.create %[2]d, %[1]s.delete 1, %[1]s.rotate 1", noun, may); err != nil || said != want {
			t.Errorf("the audit log tells %q, %v, want %q", said, err, want)
		}
	}
}

// Rule (H-046): a viewer, by session and by a token of its own, gets 403 insufficient_permission on every row of the live
// table that takes a verb, makes nothing and costs nothing. Its own work is open to it, and so is a token of its own.
func TestAViewerOpensNothingThatTakesAVerb(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	owner := c.become(t, auth.RoleEditor)
	recording := finished(t, owner, map[string]string{"title": "Ada's own"})
	word := recordingID(t, c.boss.Send(http.MethodPost, "/api/v1/vocabulary", map[string]any{"word": "Stenometer"}).JSON(t))
	token := c.become(t, auth.RoleViewer)
	nouns := strings.NewReplacer(":recording", at("%d", recording), ":word", at("%d", word), ":organization", at("%d", c.organization))
	before, calls := c.everything(t), len(c.provider.Calls())
	refused := map[string]bool{}
	for _, row := range liveTable(t).Rows() {
		if row.Needs == (auth.Verb{}) {
			continue
		}
		refused[row.Method+" "+row.Path] = true
		for by, client := range map[string]*servertest.Client{"session": c.session, "token": token} {
			answer := client.Send(row.Method, nouns.Replace(row.Path), acceptable)
			if answer.Status != http.StatusForbidden || answer.Code() != "insufficient_permission" {
				t.Errorf("the %s of a viewer: %s %s: %v", by, row.Method, row.Path, answer)
			}
		}
	}
	for by, client := range map[string]*servertest.Client{"session": c.session, "token": token} {
		for _, story := range stories(c.organization) {
			if story.verb != auth.ManageIntegrations {
				continue
			}
			if answer := client.Send(story.method, story.path, story.body("theirs")); answer.Status != http.StatusForbidden || answer.Code() != "insufficient_permission" {
				t.Errorf("the %s of a viewer: %s: %v", by, story.name, answer)
			}
		}
	}
	for _, gated := range []string{
		"POST /api/v1/recordings/:recording/share", "POST /api/v1/recordings/:recording/summary/approve", "POST /api/v1/vocabulary/:word/accept",
		"PUT /api/v1/admin/organizations/:organization/budget", "GET /api/v1/admin/users",
	} {
		if !refused[gated] {
			t.Errorf("%s takes no verb", gated)
		}
	}
	if after := c.everything(t); after != before {
		t.Errorf("what was refused left something:\n%s\n%s", before, after)
	}
	if after := len(c.provider.Calls()); after != calls {
		t.Errorf("what was refused cost %d calls", after-calls)
	}
	for name, answer := range map[string]servertest.Answer{
		"a change of its own, by session": c.session.Send(http.MethodPatch, at("/api/v1/recordings/%d", recording), map[string]any{"title": "Mine"}),
		"a change of its own, by token":   token.Send(http.MethodPatch, at("/api/v1/recordings/%d", recording), map[string]any{"title": "Ours"}),
		"a transcription of its own":      c.session.Send(http.MethodPost, at("/api/v1/recordings/%d/transcribe", recording), nil),
		"a token of its own":              c.session.Send(http.MethodPost, "/api/tokens", map[string]any{"name": "mine"}),
	} {
		if answer.Status >= 300 {
			t.Errorf("%s: %v", name, answer)
		}
	}
	c.session.AwaitStatus(recording, 30*time.Second, "COMPLETED")
}

// everything counts the rows of each table, but for what tells of refusals and of who is alive, and shows what a gated
// action would change of a row.
func (c *company) everything(t *testing.T) string {
	t.Helper()
	db := modelsql.Open(t, c.environment)
	var tables string
	err := db.QueryRowContext(t.Context(), `SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_master WHERE type = 'table'
		AND name NOT LIKE 'audit%' AND name NOT LIKE 'river%' AND name NOT LIKE 'search%' AND name NOT LIKE 'sqlite%' AND name <> 'processes' ORDER BY name)`).Scan(&tables)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for table := range strings.FieldsSeq(tables) {
		var rows int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&said, "%s %d\n", table, rows)
	}
	var roles, words, approved string
	err = db.QueryRowContext(t.Context(), `SELECT (SELECT group_concat(email || role || COALESCE(disabled_at, '')) FROM users),
		(SELECT group_concat(word || COALESCE(accepted_at, '')) FROM vocabulary_words), (SELECT group_concat(id || COALESCE(summary_approved_at, '')) FROM recordings)`).
		Scan(&roles, &words, &approved)
	if err != nil {
		t.Fatal(err)
	}
	return said.String() + roles + "\n" + words + "\n" + approved
}
