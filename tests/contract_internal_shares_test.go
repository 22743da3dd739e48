package tests

import "testing"

const (
	internalShare = shape("id:int user_id:int username:text? email:text? is_owner:bool can_edit:bool can_reshare:bool source:text? granted_by:int shared_at:Z6")
	personShape   = shape("id:int username:text email:text")
)

// internalShareContract is the contract's rows of sharing between accounts (older 2.14, newer 1.7 and 4), as the routes of
// this server have them. Eve is of Ada's organization. What a share ends with stands in recordings' own tests.
func internalShareContract(t *testing.T, r *rig) {
	t.Helper()
	const path = "/api/v1/recordings/{talk}/internal-shares"
	r.holds(t, r.ada, internalShareRules())
	r.holds(t, r.eve, recipientRules())
	r.holds(t, r.scoped(t, "read", "write"), []rule{
		{says: "sharing takes share", method: "POST", path: path, body: `{"user_id":{eve}}`, status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}},
		{says: "listing shares takes it too", method: "GET", path: path, status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}},
		{says: "ending one takes it", method: "DELETE", path: path + "/{internal}", status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}},
		{says: "finding people takes read alone", method: "GET", path: "/api/v1/users/search?q=eve", status: 200, shapes: map[string]shape{"[]": personShape}},
	})
	r.holds(t, r.scoped(t, "share"), []rule{
		{says: "a name is a text, which takes read", method: "GET", path: path, status: 200, values: map[string]any{"shares[1].username": nil, "shares[1].email": nil}},
	})
	r.holds(t, r.eve, []rule{{says: "who only sees it ends no share", method: "DELETE", path: path + "/{internal}", status: 404, code: "not_found"}})
	r.holds(t, r.ada, []rule{
		{says: "ending one of nobody", method: "DELETE", path: path, body: `{"user_id":999999}`, status: 404, code: "not_found"},
		{says: "ending takes a person", method: "DELETE", path: path, body: `{}`, status: 400, code: "invalid_parameter"},
		{
			says: "ended by the person", method: "DELETE", path: path, body: `{"user_id":{eve}}`, status: 200,
			shapes: map[string]shape{"": "success:bool revoked_count:int cascaded:bool"}, values: map[string]any{"success": true, "revoked_count": 1, "cascaded": false},
		},
		{says: "it is gone", method: "DELETE", path: path + "/{internal}", status: 404, code: "not_found"},
		{says: "by the address in capitals, to edit", method: "POST", path: path, body: `{"email":"EVE@example.org","can_edit":true,"can_reshare":true}`, status: 201, keep: "internal:share.id", values: map[string]any{"share.can_edit": true, "share.can_reshare": true}},
	})
	r.holds(t, r.eve, []rule{
		{says: "who may edit edits", method: "PATCH", path: "/api/v1/recordings/{talk}", body: `{"title":"talk"}`, status: 200},
		{says: "and does not delete", method: "DELETE", path: "/api/v1/recordings/{talk}", status: 403, code: "insufficient_permission"},
		{says: "who may share on sees with whom", method: "GET", path: path, status: 200, values: map[string]any{"shares.len": 2}},
	})
	r.holds(t, r.ada, []rule{{says: "ended by its id", method: "DELETE", path: path + "/{internal}", status: 200, values: map[string]any{"revoked_count": 1}}})
	r.holds(t, r.eve, []rule{
		{says: "from then on there is no such recording", method: "GET", path: "/api/v1/recordings/{talk}", status: 404, code: "not_found"},
		{says: "nor in lists", method: "GET", path: "/api/v1/recordings?scope=shared", status: 200, values: map[string]any{"pagination.total": 0}},
	})
}

func internalShareRules() []rule {
	const path = "/api/v1/recordings/{talk}/internal-shares"
	return []rule{
		{says: "people are found by two characters", method: "GET", path: "/api/v1/users/search?q=e", status: 400, code: "invalid_parameter"},
		{says: "of the organization, without oneself", method: "GET", path: "/api/v1/users/search?q=EXAMPLE.org", status: 200, keep: "eve:[0].id", shapes: map[string]shape{"[]": personShape}},
		{
			says: "a share is 201", method: "POST", path: path, body: `{"user_id":{eve}}`, status: 201, keep: "internal:share.id",
			shapes: map[string]shape{"": "success:bool share:object", "share": internalShare},
			values: map[string]any{"success": true, "share.user_id": "{eve}", "share.can_edit": false, "share.can_reshare": false, "share.source": "manual", "share.is_owner": false},
		},
		{says: "a second one with the same person", method: "POST", path: path, body: `{"username":"eve.example.org","can_edit":true}`, status: 409, code: "conflict"},
		{says: "with nobody", method: "POST", path: path, body: `{"can_edit":true}`, status: 400, code: "invalid_parameter"},
		{says: "by two names", method: "POST", path: path, body: `{"user_id":1,"username":"eve.example.org"}`, status: 400, code: "invalid_parameter"},
		{says: "with somebody unknown", method: "POST", path: path, body: `{"email":"nobody@example.org"}`, status: 404, code: "not_found"},
		{says: "with oneself", method: "POST", path: path, body: `{"email":"ada@example.org"}`, status: 400, code: "invalid_parameter"},
		{says: "of a recording that is not there", method: "POST", path: "/api/v1/recordings/999999/internal-shares", body: `{"user_id":{eve}}`, status: 404, code: "not_found"},
		{
			says: "who sees it, the owner first", method: "GET", path: path, status: 200, shapes: map[string]shape{"": "shares:list", "shares[]": internalShare},
			values: map[string]any{"shares.len": 2, "shares[0].is_owner": true, "shares[0].source": nil, "shares[0].can_edit": true, "shares[1].user_id": "{eve}"},
		},
		{says: "one's own recordings are not shared with oneself", method: "GET", path: "/api/v1/recordings?scope=all", status: 200, values: map[string]any{"recordings[0].is_shared": false, "recordings[0].owner": nil, "recordings[0].share": nil}},
	}
}

// recipientRules are what Eve may do with what she only sees.
func recipientRules() []rule {
	const path = "/api/v1/recordings/{talk}"
	return []rule{
		{
			says: "it is in lists of what is shared", method: "GET", path: "/api/v1/recordings?scope=shared", status: 200,
			shapes: map[string]shape{"recordings[0].owner": "id:int username:null name:null", "recordings[0].share": "id:int can_edit:bool can_reshare:bool source:text shared_at:Z6"},
			values: map[string]any{"pagination.total": 1, "recordings[0].id": "{talk}", "recordings[0].is_shared": true, "recordings[0].share.id": "{internal}"},
		},
		{says: "and not in those of her own", method: "GET", path: "/api/v1/recordings?owner_id=1", status: 200, values: map[string]any{"pagination.total": 0}},
		{says: "the detail", method: "GET", path: path, status: 200},
		{says: "the transcript", method: "GET", path: path + "/transcript", status: 200},
		{says: "the status", method: "GET", path: path + "/status", status: 200},
		{says: "her own notes", method: "PUT", path: path + "/notes", body: `{"notes":"Eve's"}`, status: 200, values: map[string]any{"notes": "Eve's"}},
		{says: "her own mark", method: "PATCH", path: path, body: `{"is_archived":true}`, status: 200, values: map[string]any{"recording.is_archived": true, "recording.notes": "Eve's"}},
		{says: "the summary is not hers to write", method: "PUT", path: path + "/summary", body: `{"summary":"x"}`, status: 403, code: "insufficient_permission"},
		{says: "nor the title", method: "PATCH", path: path, body: `{"title":"x"}`, status: 403, code: "insufficient_permission"},
		{says: "nor its tags", method: "PUT", path: path + "/tags", body: `{"tag_ids":[]}`, status: 403, code: "insufficient_permission"},
		{says: "nor its deletion", method: "DELETE", path: path, status: 403, code: "insufficient_permission"},
		{says: "nor another transcription", method: "POST", path: path + "/transcribe", body: `{}`, status: 403, code: "insufficient_permission"},
		{says: "she makes no public link", method: "GET", path: path + "/shares", status: 404, code: "not_found"},
		{says: "she does not share it on", method: "POST", path: path + "/internal-shares", body: `{"username":"ada.example.org"}`, status: 403, code: "insufficient_permission"},
		{says: "nor sees with whom it is", method: "GET", path: path + "/internal-shares", status: 403, code: "insufficient_permission"},
		{says: "a batch says so for each", method: "PATCH", path: "/api/v1/recordings/batch", body: `{"recording_ids":[{talk}],"updates":{"add_tag_ids":[1]}}`, status: 200, values: map[string]any{"failed": 1}},
		{says: "a scope is one of three", method: "GET", path: "/api/v1/search?q=hello&scope=theirs", status: 400, code: "invalid_parameter"},
		{says: "an unknown one of the feed", method: "GET", path: "/api/v1/recordings/changes?scope=theirs", status: 400, code: "invalid_parameter"},
	}
}
