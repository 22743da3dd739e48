package tests

import (
	"net/http"
	"testing"
)

// capabilityShapes is newer 3, with what this server says of itself besides.
func capabilityShapes() map[string]shape {
	return map[string]shape{
		"": "speakr_version:text api_version:text server:text server_version:text features:object models_local:bool",
		"features": "token_scopes:bool changes_feed:bool etags:bool webhook_signature_v2:bool external_refs:bool upload_idempotency:bool " +
			"share_links:bool chat_sources:bool internal_sharing:bool public_sharing:bool can_share_publicly:bool search:object inquire:object",
		"features.search":  "keyword:bool semantic:bool",
		"features.inquire": "enabled:bool agent:bool",
	}
}

const currentShape = shape("id:int name:string scopes:list created_at:Z6 expires_at:Z6? last_used_at:Z6? via:text rate_limits:object?")

// discoveryContract is the contract's rows by which clients find out whom they talk to (newer 3, 2.11 of the older file).
func discoveryContract(t *testing.T, r *rig) {
	t.Helper()
	has := map[string]any{
		"api_version": "1.1", "server": "stenometer", "features.token_scopes": true, "features.changes_feed": true, "features.etags": true,
		"features.external_refs": true, "features.upload_idempotency": true, "features.share_links": true, "features.public_sharing": true,
		"features.can_share_publicly": true, "features.internal_sharing": true, "features.search.keyword": true, "features.search.semantic": false,
		"features.webhook_signature_v2": true, "features.chat_sources": true, "features.inquire.enabled": false, "features.inquire.agent": false,
	}
	r.holds(t, r.ada, []rule{
		{says: "capabilities are true only for what there is", method: "GET", path: "/api/v1/capabilities", status: 200, shapes: capabilityShapes(), values: has},
		{says: "a full token says so", method: "GET", path: "/api/v1/tokens/current", status: 200, shapes: map[string]shape{"": currentShape}, values: map[string]any{"scopes": "[full]", "via": "header", "expires_at": nil}},
		{
			says: "the speech engine", method: "GET", path: "/api/v1/transcription", status: 200,
			shapes: map[string]shape{
				"":             "connector:text capabilities:object models:list default_model:string?",
				"capabilities": "diarization:bool speaker_count_control:bool hotwords:bool initial_prompt:bool timestamps:bool language_detection:bool chunking:bool",
			},
			values: map[string]any{"connector": "asr_endpoint", "capabilities.diarization": true, "capabilities.timestamps": true, "capabilities.language_detection": true},
		},
	})
	for _, scope := range []string{"read", "write", "upload", "process", "share", "delete", "webhooks", "account"} {
		r.holds(t, r.scoped(t, scope), []rule{
			{says: "current needs no scope: " + scope, method: "GET", path: "/api/v1/tokens/current", status: 200, shapes: map[string]shape{"": currentShape}, values: map[string]any{"scopes": "[" + scope + "]"}},
			{says: "nor do capabilities: " + scope, method: "GET", path: "/api/v1/capabilities", status: 200, shapes: capabilityShapes()},
		})
	}
	r.holds(t, bySession, []rule{
		{says: "a session is no token", method: "GET", path: "/api/v1/tokens/current", status: 404, code: "not_found"},
		{says: "a session sees the capabilities", method: "GET", path: "/api/v1/capabilities", status: 200, shapes: capabilityShapes()},
	})
	r.holds(t, "", []rule{
		{says: "nobody is told the capabilities", method: "GET", path: "/api/v1/capabilities", status: 401, code: "authentication_required"},
		{says: "nobody is no token", method: "GET", path: "/api/v1/tokens/current", status: 401, code: "authentication_required"},
	})
	t.Run("the document and its page are public, for a token without read too (ours)", func(t *testing.T) {
		for _, token := range []string{"", r.ada, r.scoped(t, "write")} {
			for path, kind := range map[string]string{"/api/v1/openapi.json": "application/json", "/api/v1/docs": "text/html; charset=utf-8"} {
				if answer := r.client(t, token).Get(path); answer.Status != http.StatusOK || answer.Header.Get("Content-Type") != kind {
					t.Errorf("%s: %d %s, want 200 %s", path, answer.Status, answer.Header.Get("Content-Type"), kind)
				}
			}
		}
	})
}
