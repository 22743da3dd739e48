package tests

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/problems"
)

// errorContract is the contract's rows of what every route does with requests that it cannot take (newer 1.5 and 1.6,
// 2.0 of the older file). All are JSON with a code, which is ours.
func errorContract(t *testing.T, r *rig) {
	t.Helper()
	r.holds(t, r.ada, []rule{
		{says: "an unknown path", method: "GET", path: "/api/v1/nowhere", status: 404, code: "not_found"},
		{says: "a slash behind a path", method: "GET", path: "/api/v1/tags/", status: 404, code: "not_found"},
		{says: "an id of letters", method: "PUT", path: "/api/v1/tags/abc", body: `{"name":"x"}`, status: 404, code: "not_found"},
		{says: "an id with a sign", method: "GET", path: "/api/v1/folders/-1", status: 404, code: "not_found"},
		{says: "an id beyond 64 bits", method: "GET", path: "/api/v1/folders/9223372036854775808", status: 404, code: "not_found"},
		{says: "a wrong method", method: "DELETE", path: "/api/v1/stats", status: 405, code: "method_not_allowed"},
		{says: "GET of the batch is 405, no recording that lacks", method: "GET", path: "/api/v1/recordings/batch", status: 405, code: "method_not_allowed"},
		{says: "GET of the upload is 405", method: "GET", path: "/api/v1/recordings/upload", status: 405, code: "method_not_allowed"},
		{says: "members that nobody knows are ignored", method: "PUT", path: "/api/v1/settings/auto-summarization", body: `{"enabled":true,"user_id":1,"what":{}}`, status: 200},
		{says: "parameters that nobody knows are ignored", method: "GET", path: "/api/v1/tags?what=1&user_id=2", status: 200},
		{says: "another JSON type is JSON", method: "PUT", path: "/api/v1/settings/auto-summarization", body: `{"enabled":true}`, header: http.Header{"Content-Type": {"application/vnd.x+json; charset=utf-8"}}, status: 200},
	})
	r.holds(t, r.ada, unreadableRules())
	t.Run("a wrong method says which there are", func(t *testing.T) {
		answer := r.client(t, r.ada).Send(http.MethodDelete, "/api/v1/stats", nil)
		if allow := answer.Header.Get("Allow"); !containsAll(allow, "GET", "HEAD", "OPTIONS") || strings.Contains(allow, "DELETE") {
			t.Errorf("Allow is %q", allow)
		}
	})
	t.Run("OPTIONS needs no credential, and is 204 (ours)", func(t *testing.T) {
		answer := r.client(t, "").Call(http.MethodOptions, "/api/v1/tags", nil, nil)
		if answer.Status != http.StatusNoContent || !containsAll(answer.Header.Get("Allow"), "GET", "POST") {
			t.Errorf("%d with Allow %q", answer.Status, answer.Header.Get("Allow"))
		}
	})
	t.Run("the headers of every answer", func(t *testing.T) {
		for _, path := range []string{"/api/v1/tags", "/api/v1/nowhere", "/healthz", "/api/v1/openapi.json"} {
			answer := r.client(t, "").Get(path)
			for name, want := range map[string]string{
				"X-Robots-Tag": "noindex", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
				"Permissions-Policy": "microphone=()", "Content-Security-Policy": "default-src 'none'",
			} {
				if got := answer.Header.Get(name); got == "" || !strings.Contains(got, want) {
					t.Errorf("%s: %s is %q, want %q in it", path, name, got, want)
				}
			}
			if got := answer.Header.Get("Strict-Transport-Security"); got != "" {
				t.Errorf("%s: over HTTP Strict-Transport-Security is %q, want none", path, got)
			}
		}
	})
}

// unreadableRules are bodies that no route takes, on routes that the contract calls strict and on those that it calls
// lenient: here both refuse.
func unreadableRules() []rule {
	var rules []rule
	for _, row := range []struct{ method, path string }{
		{"PATCH", "/api/v1/recordings/{talk}"},
		{"PUT", "/api/v1/recordings/{talk}/notes"},
		{"PUT", "/api/v1/recordings/{talk}/summary"},
		{"POST", "/api/v1/tags"},
		{"POST", "/api/v1/recordings/{talk}/tags"},
		{"PUT", "/api/v1/recordings/{talk}/tags"},
		{"POST", "/api/v1/folders"},
		{"POST", "/api/v1/speakers"},
		{"PUT", "/api/v1/recordings/{talk}/speakers/assign"},
		{"PATCH", "/api/v1/recordings/batch"},
		{"DELETE", "/api/v1/recordings/batch"},
		{"POST", "/api/v1/recordings/batch/transcribe"},
		{"PUT", "/api/v1/settings/auto-summarization"},
		{"POST", "/api/v1/recordings/{talk}/external-refs"},
		{"PUT", "/api/v1/recordings/{talk}/external-refs?system=crm"},
		{"POST", "/api/v1/recordings/{talk}/share"},
	} {
		name := row.method + " " + strings.ReplaceAll(strings.TrimPrefix(row.path, "/api/v1/"), "/", " ")
		for body, said := range map[string]string{`{`: "is cut short", `null`: "is null", `[]`: "is a list", `"x"`: "is a text", `5`: "is a number"} {
			rules = append(rules, rule{says: name + ": a body that " + said, method: row.method, path: row.path, body: body, status: 400, code: "bad_request"})
		}
		rules = append(rules,
			rule{says: name + ": a body of another type", method: row.method, path: row.path, body: `{}`, header: http.Header{"Content-Type": {"text/plain"}}, status: 415, code: "unsupported_media_type"},
			rule{says: name + ": a body that is encoded", method: row.method, path: row.path, body: `{}`, header: http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, status: 415, code: "unsupported_media_type"},
			rule{says: name + ": a body beyond 2 MiB", method: row.method, path: row.path, body: `{"x":"` + strings.Repeat("x", 2<<20) + `"}`, status: 413, code: "payload_too_large"})
	}
	return rules
}

// Rule: the contract's codes (newer 19) have its statuses here.
func TestTheContractsCodes(t *testing.T) {
	t.Parallel()
	ours := map[string]int{}
	for _, kind := range problems.Table() {
		ours[kind.Code()] = kind.Status()
	}
	for code, status := range map[string]int{
		"insufficient_scope": 403, "invalid_token": 401, "invalid_parameter": 400, "not_found": 404, "conflict": 409, "semantic_unavailable": 409,
		"cursor_expired": 410, "feature_disabled": 403, "https_required": 403, "inquire_failed": 502,
		"token_rate_limit_exceeded": 429, "account_rate_limit_exceeded": 429, "token_limit_reached": 409,
	} {
		if ours[code] != status {
			t.Errorf("%s is %d, want %d", code, ours[code], status)
		}
	}
}
