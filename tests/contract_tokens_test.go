package tests

import (
	"net/http"
	"strings"
	"testing"
)

const (
	tokenShape = shape("id:int name:string created_at:N last_used_at:N? expires_at:N? revoked:bool scopes:list rate_limits:object?")
	tokenMade  = tokenShape + " token:text"
)

// tokenContract is the contract's rows of managing tokens (newer 2, 2.13 and 3.8 of the older file).
func tokenContract(t *testing.T, r *rig) {
	t.Helper()
	r.holds(t, bySession, tokenMadeRules())
	r.holds(t, bySession, tokenRefusedRules())
	r.holds(t, bySession, tokenChangedRules())
	t.Run("the plaintext is shown once, and opens what its scopes say", func(t *testing.T) {
		browser := r.client(t, bySession)
		made := browser.Send(http.MethodPost, "/api/tokens", map[string]any{"name": "once", "scopes": []string{"read"}, "expires_in_days": 1}).JSON(t)
		token, _ := made["token"].(string)
		if list := browser.Get("/api/tokens"); !strings.HasPrefix(token, "stn_") || len(token) != 53 || strings.Contains(string(list.Body), token) {
			t.Errorf("the token is %q, the list %v", token, list)
		}
		r.holds(t, token, []rule{
			{says: "it works, and was used by this very request", method: "GET", path: "/api/v1/tokens/current", status: 200, shapes: map[string]shape{"": "id:int name:string scopes:list created_at:Z6 expires_at:Z6 last_used_at:Z6 via:text rate_limits:object?"}, values: map[string]any{"name": "once", "scopes": "[read]"}},
			{says: "a scoped token manages none", method: "GET", path: "/api/tokens", status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}, values: map[string]any{"required_scopes": "[]", "token_scopes": "[read]"}},
		})
		r.ids["once"] = r.fill(at("%d", recordingID(t, made)))
		r.holds(t, bySession, []rule{{says: "DELETE says so", method: "DELETE", path: "/api/tokens/{once}", status: 200, shapes: map[string]shape{"": "message:text"}}})
		r.holds(t, token, []rule{{says: "a revoked token is 401 at once", method: "GET", path: "/api/v1/tokens/current", status: 401, code: "invalid_token"}})
	})
	r.holds(t, r.ada, []rule{
		{says: "a full token manages none either, unless switched on (ours)", method: "GET", path: "/api/tokens", status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}, values: map[string]any{"required_scopes": "[]", "token_scopes": "[full]"}},
	})
	r.holds(t, "", []rule{{says: "nobody manages tokens", method: "GET", path: "/api/tokens", status: 401, code: "authentication_required"}})
}

func tokenMadeRules() []rule {
	made := map[string]shape{"": tokenMade}
	return []rule{
		{says: "the key scopes absent is a full token without an end", method: "POST", path: "/api/tokens", body: `{"name":"full"}`, status: 201, keep: "full_token", shapes: made, values: map[string]any{"name": "full", "scopes": "[full]", "expires_at": nil, "last_used_at": nil, "revoked": false}},
		{says: "no name is the usual one", method: "POST", path: "/api/tokens", body: `{}`, status: 201, keep: "unnamed", shapes: made, values: map[string]any{"name": "Unnamed Token", "scopes": "[full]"}},
		{says: "[full] is a full token", method: "POST", path: "/api/tokens", body: `{"name":"x","scopes":["full"],"expires_in_days":0}`, status: 201, keep: "x", shapes: made, values: map[string]any{"scopes": "[full]", "expires_at": nil}},
		{says: "scopes are trimmed, collapsed and sorted", method: "POST", path: "/api/tokens", body: `{"name":"scoped","scopes":[" write","read","write"],"expires_in_days":30}`, status: 201, keep: "scoped_token", shapes: map[string]shape{"": "id:int name:string created_at:N last_used_at:N? expires_at:N revoked:bool scopes:list rate_limits:object? token:text"}, values: map[string]any{"scopes": "[read write]"}},
		{says: "listed without plaintext", method: "GET", path: "/api/tokens", status: 200, shapes: map[string]shape{"": "tokens:list", "tokens[]": tokenShape}},
		{says: "DELETE of one", method: "DELETE", path: "/api/tokens/{x}", status: 200, shapes: map[string]shape{"": "message:text"}},
		{says: "DELETE of one that is gone", method: "DELETE", path: "/api/tokens/{x}", status: 404, code: "not_found"},
		{says: "DELETE of an unknown one", method: "DELETE", path: "/api/tokens/999999", status: 404, code: "not_found"},
	}
}

func tokenRefusedRules() []rule {
	var rules []rule
	for _, scopes := range []string{`[]`, `"read"`, `["full","read"]`, `["everything"]`, `[1]`, `null`, `{}`} {
		rules = append(rules,
			rule{says: "POST: scopes that are " + scopes, method: "POST", path: "/api/tokens", body: `{"name":"x","scopes":` + scopes + `}`, status: 400, code: "invalid_parameter"},
			rule{says: "PATCH: scopes that are " + scopes, method: "PATCH", path: "/api/tokens/{scoped_token}", body: `{"scopes":` + scopes + `}`, status: 400, code: "invalid_parameter"})
	}
	for _, days := range []string{`-1`, `1.5`, `"7"`, `true`, `9223372036854775807`} {
		rules = append(rules, rule{says: "expires_in_days that is " + days, method: "POST", path: "/api/tokens", body: `{"name":"x","expires_in_days":` + days + `}`, status: 400, code: "invalid_parameter"})
	}
	return append(rules,
		rule{says: "a name of 101 (ours)", method: "POST", path: "/api/tokens", body: `{"name":"` + strings.Repeat("é", 101) + `"}`, status: 400, code: "invalid_parameter"},
		rule{says: "JSON null (ours: 400)", method: "POST", path: "/api/tokens", body: `null`, status: 400, code: "bad_request"},
		rule{says: "no JSON at all is 415", method: "POST", path: "/api/tokens", body: `name=x`, header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, status: 415, code: "unsupported_media_type"})
}

func tokenChangedRules() []rule {
	const path = "/api/tokens/{scoped_token}"
	return []rule{
		{says: "PATCH renames and answers the bare token", method: "PATCH", path: path, body: `{"name":"renamed"}`, status: 200, shapes: map[string]shape{"": tokenShape}, values: map[string]any{"name": "renamed", "scopes": "[read write]"}},
		{says: "PATCH of neither", method: "PATCH", path: path, body: `{}`, status: 400, code: "invalid_parameter"},
		{says: "an empty name is none", method: "PATCH", path: path, body: `{"name":""}`, status: 400, code: "invalid_parameter"},
		{says: "wider scopes are refused, and with them the name", method: "PATCH", path: path, body: `{"name":"wider","scopes":["read","delete"]}`, status: 400, code: "invalid_parameter"},
		{says: "a set never becomes full", method: "PATCH", path: path, body: `{"scopes":["full"]}`, status: 400, code: "invalid_parameter"},
		{says: "narrower ones are taken", method: "PATCH", path: path, body: `{"scopes":["read"]}`, status: 200, values: map[string]any{"scopes": "[read]", "name": "renamed"}},
		{says: "full becomes any set", method: "PATCH", path: "/api/tokens/{unnamed}", body: `{"scopes":["share","delete"]}`, status: 200, values: map[string]any{"scopes": "[delete share]"}},
		{says: "an unknown one", method: "PATCH", path: "/api/tokens/999999", body: `{"name":"x"}`, status: 404, code: "not_found"},
	}
}
