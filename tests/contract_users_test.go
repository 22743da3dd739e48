package tests

import (
	"testing"

	"github.com/stenometer/stenometer/tests/servertest"
)

const (
	userShape = shape("id:int username:text email:text name:string? job_title:string? company:string? sso_provider:string? is_admin:bool " +
		"email_verified:bool can_share_publicly:bool role:text organization_id:int preferences:object group_memberships:list")
	preferencesShape = shape("ui_language:string? transcription_language:string? output_language:string? summary_prompt:string? extract_events:bool " +
		"auto_speaker_labelling:bool auto_speaker_labelling_threshold:string? auto_summarization:bool notify_email_on_completion:bool " +
		"show_timestamps_simple_view:bool editor_autosave:bool diarize:bool")
)

// userContract is the contract's rows of the account and its one setting (newer 3 and 16, 3.9 of the older file).
func userContract(t *testing.T, r *rig) {
	t.Helper()
	const path = "/api/v1/settings/auto-summarization"
	r.holds(t, r.ada, []rule{
		{
			says: "the account; summaries by themselves are on until someone says otherwise", method: "GET", path: "/api/v1/users/me", status: 200,
			shapes: map[string]shape{"": userShape, "preferences": preferencesShape, "group_memberships[]": "group_id:int group_name:text role:text joined_at:N"},
			values: map[string]any{
				"email": "ada@example.org", "username": "ada.example.org", "is_admin": true, "role": "admin", "can_share_publicly": true, "group_memberships.len": 1, "group_memberships[0].role": "admin",
				"preferences.auto_summarization": true, "preferences.diarize": true,
			},
		},
		{says: "off", method: "PUT", path: path, body: `{"enabled":false}`, status: 200, shapes: map[string]shape{"": "success:bool auto_summarization:bool"}, values: map[string]any{"success": true, "auto_summarization": false}},
		{says: "the account shows it", method: "GET", path: "/api/v1/users/me", status: 200, values: map[string]any{"preferences.auto_summarization": false}},
		{says: "on again", method: "PUT", path: path, body: `{"enabled":true}`, status: 200, values: map[string]any{"auto_summarization": true}},
		{says: "the key is missing", method: "PUT", path: path, body: `{}`, status: 400, code: "invalid_parameter"},
		{says: "null is no answer", method: "PUT", path: path, body: `{"enabled":null}`, status: 400, code: "invalid_parameter"},
		{says: "JSON null", method: "PUT", path: path, body: `null`, status: 400, code: "bad_request"},
		{says: "only true and false are (ours)", method: "PUT", path: path, body: `{"enabled":"false"}`, status: 400, code: "invalid_parameter"},
	})
	r.holds(t, bySession, []rule{{says: "a browser sees its account", method: "GET", path: "/api/v1/users/me", status: 200, shapes: map[string]shape{"": userShape}}})
	r.holds(t, r.scoped(t, "account"), []rule{
		{says: "the setting takes account alone", method: "PUT", path: path, body: `{"enabled":true}`, status: 200},
		{says: "the account takes read", method: "GET", path: "/api/v1/users/me", status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}},
	})
	r.holds(t, r.scoped(t, "read", "write"), []rule{
		{says: "the setting is no matter of write", method: "PUT", path: path, body: `{"enabled":true}`, status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}, values: map[string]any{"required_scopes": "[account]", "token_scopes": "[read write]"}},
	})
	servertest.CreateUser(t, r.environment, "nil@example.org", "--role", "viewer")
	r.holds(t, servertest.CreateToken(t, r.environment, "nil@example.org"), []rule{
		{says: "who may not publish", method: "GET", path: "/api/v1/users/me", status: 200, values: map[string]any{"can_share_publicly": false, "is_admin": false, "role": "viewer"}},
	})
}
