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
	"system": "crm", "kind": "case", "ref": "mine", "external_refs": []any{}, "tag_ids": []int64{1},
}

// Rule: another tenant's things answer as if they did not exist. Every row with a noun in its path is called with the
// real handlers and an all-scopes credential of another account: always 404, and the owner's things are untouched.
// Lists show nothing of it.
func TestAnotherTenantsThingsDoNotExist(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(servertest.Environment{
		"JOBS_MAX_CONCURRENT_PER_ORG": "0", "API_TOKEN_CHANGE_RATE_LIMIT": "0", "WEBHOOK_INTRANET_HOST_ALLOWLIST": `127\.0\.0\.1`, "PUBLIC_URL": "https://notes.example.org",
	})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	servertest.CreateUser(t, environment, "eve@example.org", "--role", "admin")
	owner := process.Client(servertest.CreateToken(t, environment, "ada@example.org"))
	ownerSession, stranger := process.Client(""), process.Client("")
	ownerSession.SignIn("ada@example.org", servertest.Password)
	strangerSession := process.Client("")
	strangerSession.SignIn("eve@example.org", servertest.Password)
	stranger.Header.Set("Authorization", "Bearer "+servertest.CreateToken(t, environment, "eve@example.org"))
	administrator := process.Client(strings.TrimSpace(servertest.MustCommand(t, environment, "", "token", "create", "--user", "eve@example.org", "--name", "all", "--admin")))

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
		":webhook": at("%d", webhook), ":delivery": at("%d", recordingID(t, owner.Send(http.MethodPost, at("/api/v1/webhooks/%d/test", webhook), nil).JSON(t))),
		":integration":  at("%d", made("/api/v1/integrations", map[string]any{"name": "Ada's room"})),
		":organization": "999",                   // both are of one: api/v1 has the test with two
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
		answer := client.Send(row.Method, address+"?system=crm", acceptable)
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
