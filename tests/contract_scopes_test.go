package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/auth"
)

// contractRow is a row of the contract's list of routes (newer 23, whose scopes are those of its table 18).
type contractRow struct{ method, path, scope, category string }

// contractRows is that list, as it is there.
var contractRows = []contractRow{
	{"GET", "/api/v1/openapi.json", "read", "read"},
	{"GET", "/api/v1/docs", "read", "read"},
	{"GET", "/api/v1/tokens/current", "none", "read"},
	{"GET", "/api/v1/capabilities", "none", "read"},
	{"GET", "/api/v1/stats", "read", "read"},
	{"GET", "/api/v1/users/me", "read", "read"},
	{"GET", "/api/v1/search", "read", "read"},
	{"GET", "/api/v1/recordings", "read", "read"},
	{"GET", "/api/v1/recordings/changes", "read", "read"},
	{"GET", "/api/v1/recordings/{id}", "read", "read"},
	{"PATCH", "/api/v1/recordings/{id}", "write", "write"},
	{"DELETE", "/api/v1/recordings/{id}", "delete", "write"},
	{"GET", "/api/v1/recordings/{id}/transcript", "read", "read"},
	{"GET", "/api/v1/recordings/{id}/summary", "read", "read"},
	{"PUT", "/api/v1/recordings/{id}/summary", "write", "write"},
	{"GET", "/api/v1/recordings/{id}/notes", "read", "read"},
	{"PUT", "/api/v1/recordings/{id}/notes", "write", "write"},
	{"GET", "/api/v1/recordings/{id}/status", "read", "read"},
	{"POST", "/api/v1/recordings/{id}/delete-audio", "delete", "write"},
	{"GET", "/api/v1/recordings/{id}/audio", "read", "read"},
	{"GET", "/api/v1/recordings/{id}/events", "read", "read"},
	{"GET", "/api/v1/recordings/{id}/events/ics", "read", "read"},
	{"GET", "/api/v1/recordings/{id}/speakers", "read", "read"},
	{"PUT", "/api/v1/recordings/{id}/speakers/assign", "write", "write"},
	{"POST", "/api/v1/recordings/{id}/speakers/identify", "process", "process"},
	{"POST", "/api/v1/recordings/{id}/transcribe", "process", "process"},
	{"POST", "/api/v1/recordings/{id}/summarize", "process", "process"},
	{"POST", "/api/v1/recordings/{id}/regenerate_title", "process", "process"},
	{"POST", "/api/v1/recordings/{id}/chat", "process", "process"},
	{"POST", "/api/v1/inquire", "process", "process"},
	{"POST", "/api/v1/recordings/{id}/tags", "write", "write"},
	{"PUT", "/api/v1/recordings/{id}/tags", "write", "write"},
	{"DELETE", "/api/v1/recordings/{id}/tags/{tag_id}", "write", "write"},
	{"GET", "/api/v1/recordings/{id}/external-refs", "read", "read"},
	{"POST", "/api/v1/recordings/{id}/external-refs", "write", "write"},
	{"PUT", "/api/v1/recordings/{id}/external-refs", "write", "write"},
	{"DELETE", "/api/v1/recordings/{id}/external-refs/{ref_id}", "write", "write"},
	{"POST", "/api/v1/recordings/{id}/share", "share", "write"},
	{"GET", "/api/v1/recordings/{id}/shares", "share", "write"},
	{"DELETE", "/api/v1/shares/{share_id}", "share", "write"},
	{"PATCH", "/api/v1/recordings/batch", "write", "write"},
	{"DELETE", "/api/v1/recordings/batch", "delete", "write"},
	{"POST", "/api/v1/recordings/batch/transcribe", "process", "process"},
	{"POST", "/api/v1/recordings/upload", "upload", "write"},
	{"POST", "/api/v1/integrations/asr-voice-recorder/upload", "upload", "write"},
	{"GET", "/api/v1/tags", "read", "read"},
	{"POST", "/api/v1/tags", "write", "write"},
	{"PUT", "/api/v1/tags/{id}", "write", "write"},
	{"DELETE", "/api/v1/tags/{id}", "delete", "write"},
	{"GET", "/api/v1/folders", "read", "read"},
	{"POST", "/api/v1/folders", "write", "write"},
	{"GET", "/api/v1/folders/{id}", "read", "read"},
	{"PATCH", "/api/v1/folders/{id}", "write", "write"},
	{"PUT", "/api/v1/folders/{id}", "write", "write"},
	{"DELETE", "/api/v1/folders/{id}", "delete", "write"},
	{"GET", "/api/v1/transcription", "read", "read"},
	{"GET", "/api/v1/speakers", "read", "read"},
	{"POST", "/api/v1/speakers", "write", "write"},
	{"PUT", "/api/v1/speakers/{id}", "write", "write"},
	{"DELETE", "/api/v1/speakers/{id}", "delete", "write"},
	{"PUT", "/api/v1/settings/auto-summarization", "account", "write"},
	{"GET", "/api/v1/webhooks", "webhooks", "write"},
	{"POST", "/api/v1/webhooks", "webhooks", "write"},
	{"GET", "/api/v1/webhooks/{id}", "webhooks", "write"},
	{"PATCH", "/api/v1/webhooks/{id}", "webhooks", "write"},
	{"DELETE", "/api/v1/webhooks/{id}", "webhooks", "write"},
	{"POST", "/api/v1/webhooks/{id}/rotate-secret", "webhooks", "write"},
	{"POST", "/api/v1/webhooks/{id}/test", "webhooks", "write"},
	{"GET", "/api/v1/webhooks/{id}/deliveries", "webhooks", "write"},
	{"GET", "/api/v1/webhooks/{id}/deliveries/{delivery_id}", "webhooks", "write"},
	{"POST", "/api/v1/webhooks/{id}/deliveries/{delivery_id}/replay", "webhooks", "write"},
	{"GET", "/api/tokens", "session", "app limits"},
	{"POST", "/api/tokens", "session", "10 per hour"},
	{"PATCH", "/api/tokens/{id}", "session", "20 per hour"},
	{"DELETE", "/api/tokens/{id}", "session", "20 per hour"},
}

// scopesOfOurOwn are the rows of the contract whose scope or category is another here, as "scope category", and why.
var scopesOfOurOwn = map[string]struct{ here, why string }{
	"GET /api/v1/openapi.json": {"public public", "anyone may read how to call; a token without read is no worse off than nobody"},
	"GET /api/v1/docs":         {"public public", "as the document"},
	"GET /api/tokens":          {"session read", "the category is that of the few full tokens which are let in by a setting"},
	"POST /api/tokens":         {"session read", "besides the limit token_create, which is the contract's 10 an hour"},
	"PATCH /api/tokens/{id}":   {"session read", "besides the limit token_change, which is the contract's 20 an hour"},
	"DELETE /api/tokens/{id}":  {"session read", "as PATCH"},
}

// notYet are the rows of the contract that need what later releases bring.
var notYet []string

// Rule: each row of the contract asks for the contract's scope and counts as the contract's category, or is named with
// its reason; what this release lacks is named too, and nothing is named that holds no more.
func TestTheContractsScopes(t *testing.T) {
	t.Parallel()
	if len(contractRows) != 75 {
		t.Fatalf("the contract has 75 rows, this list %d", len(contractRows))
	}
	live := liveScopes(t)
	for _, row := range contractRows {
		name := row.method + " " + row.path
		here, served := live[row.method+" "+nameless(row.path)]
		later := slices.ContainsFunc(notYet, func(part string) bool { return strings.Contains(row.path, part) })
		if served == later {
			t.Errorf("%s is served: %v, named as one of later releases: %v", name, served, later)
		}
		if later {
			continue
		}
		want := row.scope + " " + row.category
		if difference, named := scopesOfOurOwn[name]; named {
			if difference.here == want {
				t.Errorf("%s differs no more", name)
			}
			want = difference.here
		}
		if here != want {
			t.Errorf("%s asks for %q, want %q", name, here, want)
		}
	}
	for name := range scopesOfOurOwn {
		if !slices.ContainsFunc(contractRows, func(row contractRow) bool { return row.method+" "+row.path == name }) {
			t.Errorf("%s is no row of the contract", name)
		}
	}
}

// Rule: what the API has besides the contract is named, so that nothing comes to it unnoticed.
func TestWhatTheAPIHasBesidesTheContract(t *testing.T) {
	t.Parallel()
	ours := []string{
		"DELETE /api/v1/tokens/current", "GET /api/v1/limits", "POST /api/tokens/{}/rotate",
		"GET /api/v1/usage",
		"PATCH /api/v1/settings/processing",
		"POST /api/auth/login", "POST /api/auth/logout", "POST /api/auth/register",
		"GET /api/auth/sessions", "DELETE /api/auth/sessions/{}",
		"POST /api/auth/password", "POST /api/auth/password/forgot", "POST /api/auth/password/reset", "POST /api/auth/invites/accept",
		"GET /api/auth/oidc/start", "GET /api/auth/oidc/callback", "POST /api/auth/oidc/link",
		"POST /api/v1/recordings/{}/summary/approve", "DELETE /api/v1/recordings/{}/summary/approve",
		"GET /api/v1/recordings/{}/internal-shares", "POST /api/v1/recordings/{}/internal-shares",
		"DELETE /api/v1/recordings/{}/internal-shares", "DELETE /api/v1/recordings/{}/internal-shares/{}", "GET /api/v1/users/search",
		"GET /api/v1/organization", "PATCH /api/v1/organization",
		"POST /api/v1/recordings/import", "POST /api/v1/webhooks/{}/replay-failed",
		"GET /api/v1/integrations", "POST /api/v1/integrations", "PATCH /api/v1/integrations/{}", "DELETE /api/v1/integrations/{}", "POST /api/v1/integrations/{}/rotate",
		"GET /api/v1/vocabulary", "POST /api/v1/vocabulary", "POST /api/v1/vocabulary/{}/accept", "DELETE /api/v1/vocabulary/{}",
	}
	for name := range liveScopes(t) {
		contracts := slices.ContainsFunc(contractRows, func(row contractRow) bool { return row.method+" "+nameless(row.path) == name })
		_, path, _ := strings.Cut(name, " ")
		besides := slices.Contains(ours, name) || strings.HasPrefix(path, "/api/v1/admin/") // administration is ours alone
		if strings.HasPrefix(path, "/api/") && contracts == besides {
			t.Errorf("%s is of the contract: %v, and named as ours: %v", name, contracts, !contracts)
		}
	}
}

// liveScopes is "scope category" of each row that is served, by method and path without the names of its ids.
func liveScopes(t *testing.T) map[string]string {
	t.Helper()
	live := map[string]string{}
	for _, row := range liveTable(t).Rows() {
		scope, category := string(row.Door), string(row.Category)
		switch {
		case len(row.Scopes) == 1 && row.Scopes[0] == auth.AnyToken:
			scope = "none"
		case len(row.Scopes) > 0:
			var names []string
			for _, scope := range row.Scopes {
				names = append(names, scope.Name())
			}
			scope = strings.Join(names, " ")
		case scope == "account":
			scope = "session"
		}
		if category == "" {
			category = scope
		}
		live[row.Method+" "+nameless(row.Path)] = fmt.Sprint(scope, " ", category)
	}
	return live
}

// nameless is a path whose ids have no names: the contract calls them otherwise.
func nameless(path string) string {
	steps := strings.Split(path, "/")
	for i, step := range steps {
		if strings.HasPrefix(step, ":") || strings.HasPrefix(step, "{") {
			steps[i] = "{}"
		}
	}
	return strings.Join(steps, "/")
}
