package tests

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/tests/servertest"
)

// acceptable is a body that every row takes.
var acceptable = map[string]any{
	"name": "mine", "overlap_hours": 0, "title": "mine", "summary": "mine", "notes": "mine", "speaker_map": map[string]any{"A": "B"},
	"system": "crm", "kind": "case", "ref": "mine", "external_refs": []any{}, "tag_ids": []int64{1}, "user_id": 1,
}

// administrative are bodies of rows of administration.
var administrative = map[string]map[string]any{
	"PATCH /api/v1/admin/users/:user":                      {"role": "viewer"},
	"PUT /api/v1/admin/users/:user/limits":                 {"account_read": "1 per minute"},
	"PUT /api/v1/admin/users/:user/budget":                 {"monthly_usd": 1},
	"PATCH /api/v1/admin/organizations/:organization":      {"name": "mine"},
	"PUT /api/v1/admin/organizations/:organization/limits": {"organization_ai": "1 per minute"},
	"PUT /api/v1/admin/organizations/:organization/budget": {"monthly_usd": 1},
}

// firstID is the id of the first of a list.
func firstID(t *testing.T, list any) int64 {
	t.Helper()
	first, ok := list.([]any)
	if !ok || len(first) == 0 {
		t.Fatalf("no list with anything in it: %v", list)
	}
	one, _ := first[0].(map[string]any)
	return recordingID(t, one)
}

// Rule: another tenant's things answer as if they did not exist. Every row with a noun in its path is called with the
// real handlers and an all-scopes credential of another account: always 404, and the owner's things are untouched.
// Lists show nothing of it.
func TestAnotherTenantsThingsDoNotExist(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(servertest.Environment{
		"JOBS_MAX_CONCURRENT_PER_ORG": "0", "API_TOKEN_CHANGE_RATE_LIMIT": "0", "PUBLIC_URL": "https://notes.example.org",
		"ENABLE_INTERNAL_SHARING": "true", "WEBHOOK_INTRANET_HOST_ALLOWLIST": `127\.0\.0\.1`,
	})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	servertest.MustCommand(t, environment, "", "org", "create", "--slug", "elsewhere", "--name", "Elsewhere")
	servertest.CreateUser(t, environment, "eve@example.org", "--role", "admin", "--org", "elsewhere")
	owner := process.Client(servertest.CreateToken(t, environment, "ada@example.org"))
	ownerSession, stranger := process.Client(""), process.Client("")
	ownerSession.SignIn("ada@example.org", servertest.Password)
	strangerSession := process.Client("")
	strangerSession.SignIn("eve@example.org", servertest.Password)
	stranger.Header.Set("Authorization", "Bearer "+servertest.CreateToken(t, environment, "eve@example.org"))
	administering := func(email string) *servertest.Client {
		return process.Client(strings.TrimSpace(servertest.MustCommand(t, environment, "", "token", "create", "--user", email, "--name", "all", "--admin")))
	}
	administrator, ownersAdministrator := administering("eve@example.org"), administering("ada@example.org")

	recording := recordingID(t, owner.Upload("tone.wav", tone(t), map[string]string{"title": "Ada's own"}).JSON(t))
	token := recordingID(t, ownerSession.Send(http.MethodPost, "/api/tokens", map[string]any{"name": "Ada's token"}).JSON(t))
	made := func(path string, body map[string]any) int64 {
		return recordingID(t, owner.Send(http.MethodPost, path, body).JSON(t))
	}
	share, _ := owner.Send(http.MethodPost, at("/api/v1/recordings/%d/share", recording), nil).JSON(t)["share"].(map[string]any)
	webhook := made("/api/v1/webhooks", map[string]any{"name": "Ada's", "url": "http://127.0.0.1:9/", "allow_http": true, "events": []string{"recording.created"}})
	nouns := map[string]string{
		":recording": at("%d", recording), ":token": at("%d", token), ":share": at("%d", recordingID(t, share)),
		":tag":     at("%d", made("/api/v1/tags", map[string]any{"name": "Ada's tag"})),
		":folder":  at("%d", made("/api/v1/folders", map[string]any{"name": "Ada's folder"})),
		":speaker": at("%d", made("/api/v1/speakers", map[string]any{"name": "Ada's friend"})),
		":ref": at("%d", made(at("/api/v1/recordings/%d/external-refs", recording),
			map[string]any{"system": "crm", "kind": "case", "ref": "Ada's case"})),
		":session":      at("%d", firstID(t, ownerSession.Get("/api/auth/sessions").JSON(t)["sessions"])),
		":word":         at("%d", made("/api/v1/vocabulary", map[string]any{"word": "Ada's word"})),
		":invite":       at("%d", recordingID(t, ownersAdministrator.Send(http.MethodPost, "/api/v1/admin/invites", map[string]any{"email": "bob@example.org"}).JSON(t))),
		":user":         at("%d", recordingID(t, owner.Get("/api/v1/users/me").JSON(t))),
		":organization": at("%d", recordingID(t, owner.Get("/api/v1/organization").JSON(t))),
		":webhook":      at("%d", webhook),
		":delivery":     at("%d", recordingID(t, owner.Send(http.MethodPost, at("/api/v1/webhooks/%d/test", webhook), nil).JSON(t))),
		":integration":  at("%d", made("/api/v1/integrations", map[string]any{"name": "Ada's room"})),
		":job":          "1",                     // the one that is to transcribe Ada's recording
		":model":        "ada",                   // models are everybody's; this one is nobody's
		":link":         strings.Repeat("A", 22), // whoever has the link may see; this one is nobody's
	}

	before := string(owner.Get(at("/api/v1/recordings/%d", recording)).Body)
	walked := 0
	for _, row := range liveTable(t).Rows() {
		if row.Door == routes.DoorSigned {
			continue // whoever has no key is 401, whatever stands in the address
		}
		client := stranger
		if row.Door == routes.DoorAccount {
			client = strangerSession
		}
		if row.Administration {
			client = administrator
		}
		address := row.Path
		for noun, id := range nouns {
			address = strings.ReplaceAll(address, noun, id)
		}
		if strings.Contains(address, ":") {
			t.Errorf("%s %s has a noun that this test does not know", row.Method, row.Path)
			continue
		}
		if address == row.Path {
			if row.Method == http.MethodGet && row.Door != routes.DoorPublic {
				if answer := client.Get(address); strings.Contains(string(answer.Body), "Ada's") {
					t.Errorf("%s %s shows another tenant's things: %v", row.Method, row.Path, answer)
				}
			}
			continue
		}
		walked++
		body := acceptable
		if row.Administration {
			body = administrative[row.Method+" "+row.Path] // these rows refuse members that they do not know
		}
		answer := client.Send(row.Method, address+"?system=crm", body)
		if answer.Status != http.StatusNotFound || !strings.HasSuffix(answer.Code(), "not_found") {
			t.Errorf("%s %s: %v, want 404 not_found", row.Method, row.Path, answer)
		}
	}
	if walked < 9 {
		t.Errorf("%d rows have a noun in their path, want at least 9", walked)
	}
	if after := string(owner.Get(at("/api/v1/recordings/%d", recording)).Body); after != before {
		t.Errorf("the owner's recording changed:\n%s\n%s", before, after)
	}
	if answer := ownerSession.Get("/api/tokens"); !strings.Contains(string(answer.Body), "Ada's token") {
		t.Errorf("the owner's token is gone: %v", answer)
	}
}
