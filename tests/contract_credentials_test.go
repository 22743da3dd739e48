package tests

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// credentialContract is the contract's rows of credentials and of their refusals (newer 1.1 to 1.4, 6 of the older file).
func credentialContract(t *testing.T, r *rig) {
	t.Helper()
	const path = "/api/v1/users/me"
	places := []rule{
		{says: "Authorization: Bearer", header: http.Header{"Authorization": {"Bearer " + r.ada}}, status: 200},
		{says: "X-API-Token", header: http.Header{"X-Api-Token": {r.ada}}, status: 200},
		{says: "API-Token", header: http.Header{"Api-Token": {r.ada}}, status: 200},
		{says: "bearer in lower case (ours)", header: http.Header{"Authorization": {"bearer " + r.ada}}, status: 200},
		{says: "no token", status: 401, code: "authentication_required"},
		{says: "an unknown token", header: http.Header{"Authorization": {"Bearer unknown"}}, status: 401, code: "invalid_token"},
		{says: "a bad Bearer hides a good X-API-Token", header: http.Header{"Authorization": {"Bearer unknown"}, "X-Api-Token": {r.ada}}, status: 401, code: "invalid_token"},
		{says: "a bad X-API-Token hides a good API-Token", header: http.Header{"X-Api-Token": {"unknown"}, "Api-Token": {r.ada}}, status: 401, code: "invalid_token"},
		{says: "two tokens that differ (ours)", header: http.Header{"X-Api-Token": {r.ada}, "Api-Token": {r.eve}}, status: 401, code: "invalid_token"},
		{says: "an expired token", header: http.Header{"X-Api-Token": {r.expired(t)}}, status: 401, code: "invalid_token"},
	}
	for i := range places {
		places[i].method, places[i].path = "GET", path
	}
	places = append(places, rule{says: "?token= is switched off (ours)", method: "GET", path: path + "?token=" + r.ada, status: 401, code: "invalid_token"})
	r.holds(t, "", places)
	t.Run("every 401 asks for Bearer, in JSON, and is no redirect", func(t *testing.T) {
		for _, path := range []string{path, "/api/v1/recordings", "/api/tokens", "/api/v1/recordings/1/audio"} {
			answer := r.client(t, "").Get(path)
			if answer.Status != http.StatusUnauthorized || answer.Header.Get("WWW-Authenticate") != "Bearer" || answer.Header.Get("Location") != "" {
				t.Errorf("%s: %v with %v", path, answer, answer.Header)
			}
		}
	})
	t.Run("a scope that lacks", func(t *testing.T) { lackingScope(t, r) })
	t.Run("a token beside a cookie is judged alone (ours)", func(t *testing.T) {
		client := r.client(t, r.eve)
		client.Cookies = r.session
		if answer := client.Get(path); answer.JSON(t)["email"] != "eve@example.org" {
			t.Errorf("%v, want the token's account", answer)
		}
	})
	t.Run("a cookie changes nothing for another site (ours: cross_origin)", func(t *testing.T) {
		answer := r.client(t, bySession).Call(http.MethodPost, "/api/tokens", nil, http.Header{"Sec-Fetch-Site": {"cross-site"}, "Content-Type": {"application/json"}})
		if answer.Status != http.StatusForbidden || answer.Code() != "cross_origin" {
			t.Errorf("%v, want 403 cross_origin", answer)
		}
	})
	t.Run("beyond a limit", func(t *testing.T) { beyondALimit(t, r) })
}

// expired is a token of Ada's whose end has come.
func (r *rig) expired(t *testing.T) string {
	t.Helper()
	made := r.client(t, bySession).Send(http.MethodPost, "/api/tokens", map[string]any{"name": "expired", "expires_in_days": 1}).JSON(t)
	db := modelstest.Open(t, r.environment["DATABASE_URL"], false)
	err := db.Transaction(t.Context(), func(tx *gorm.DB) error {
		return tx.Model(&models.APIToken{}).Where("id = ?", recordingID(t, made)).Update("expires_at", time.Now().Add(-time.Minute)).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	token, _ := made["token"].(string)
	return token
}

func lackingScope(t *testing.T, r *rig) {
	t.Helper()
	token := r.scoped(t, "upload", "read")
	for _, row := range []struct{ method, path, challenge, required string }{
		{"POST", "/api/v1/tags", `Bearer error="insufficient_scope", scope="write"`, "[write]"},
		{"GET", "/api/tokens", `Bearer error="insufficient_scope"`, "[]"},
	} {
		answer := r.client(t, token).Send(row.method, row.path, map[string]any{"name": "not made"})
		if got := answer.Header.Get("WWW-Authenticate"); answer.Status != http.StatusForbidden || got != row.challenge {
			t.Errorf("%s %s: %d with %s, want 403 with %s", row.method, row.path, answer.Status, got, row.challenge)
		}
	}
	r.holds(t, token, []rule{
		{says: "names both sets, sorted", method: "POST", path: "/api/v1/tags", body: `{"name":"not made"}`, status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}, values: map[string]any{"required_scopes": "[write]", "token_scopes": "[read upload]"}},
		{says: "has no side effect", method: "GET", path: "/api/v1/tags?name=not+made", status: 200, values: map[string]any{"tags.len": 0}},
	})
}

// beyondALimit shows the contract's headers, and that the refusal is JSON with a code, which is ours.
func beyondALimit(t *testing.T, r *rig) {
	t.Helper()
	made := r.client(t, bySession).Send(http.MethodPost, "/api/tokens", map[string]any{"name": "few", "rate_limits": map[string]string{"read": "1 per hour"}}).JSON(t)
	token, _ := made["token"].(string)
	client := r.client(t, token)
	first := client.Get("/api/v1/users/me")
	reset, err := strconv.ParseInt(first.Header.Get("X-RateLimit-Reset"), 10, 64)
	if first.Status != http.StatusOK || first.Header.Get("X-RateLimit-Limit") != "1" || first.Header.Get("X-RateLimit-Remaining") != "0" || err != nil || reset <= time.Now().Unix() {
		t.Errorf("the first: %d with %v", first.Status, first.Header)
	}
	if first.Header.Get("Retry-After") != "" {
		t.Error("a success asks to wait")
	}
	r.holds(t, token, []rule{
		{
			says: "429 is JSON with a code (ours)", method: "GET", path: "/api/v1/users/me", status: 429, code: "token_rate_limit_exceeded",
			shapes: map[string]shape{"": "error:text code:text limit:object retry_after:int", "limit": "name:text scope:text limit:int window_seconds:int"},
		},
		{says: "another category is not touched", method: "PUT", path: "/api/v1/settings/auto-summarization", body: `{"enabled":true}`, status: 200},
	})
	refused := client.Get("/api/v1/users/me")
	if wait, err := strconv.Atoi(refused.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 3600 {
		t.Errorf("Retry-After is %q", refused.Header.Get("Retry-After"))
	}
}
