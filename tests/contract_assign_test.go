package tests

import "testing"

const (
	assignedShape = shape("success:bool message:text recording:object summary_queued:bool embeddings_updated:int snippets_created:int")
	voiceShape    = shape("label:string identified_name:string? speaker_id:int? email:string? segment_count:int")
)

// assignContract is the contract's rows of who speaks in a recording, and of giving them names (newer 11, 2.6 of the
// older file).
func assignContract(t *testing.T, r *rig) {
	t.Helper()
	r.holds(t, r.ada, voiceRules())
	r.holds(t, r.scoped(t, "write"), []rule{
		{
			says: "regenerate_summary takes process too", method: "PUT", path: "/api/v1/recordings/{talk}/speakers/assign", body: `{"speaker_map":{"SPEAKER_00":"Nobody"},"regenerate_summary":true}`,
			status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}, values: map[string]any{"required_scopes": "[process write]", "token_scopes": "[write]"},
		},
		{says: "listing who speaks takes read", method: "GET", path: "/api/v1/recordings/{talk}/speakers", status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}},
	})
	r.holds(t, r.ada, assignRules())
	r.holds(t, r.ada, assignAgainRules())
	r.holds(t, r.ada, assignPlainRules())
}

func voiceRules() []rule {
	const path = "/api/v1/recordings/{talk}/speakers"
	return []rule{
		{
			says: "one entry for each voice, in order of appearance", method: "GET", path: path, status: 200,
			shapes: map[string]shape{"": "speakers:list suggestions:object", "speakers[]": voiceShape},
			values: map[string]any{
				"speakers.len": 2, "speakers[0].label": "SPEAKER_00", "speakers[0].segment_count": 2, "speakers[0].identified_name": nil,
				"speakers[1].label": "SPEAKER_01", "suggestions": "map[]",
			},
		},
		{says: "a plain transcript has none", method: "GET", path: "/api/v1/recordings/{recording}/speakers", status: 200, values: map[string]any{"speakers.len": 0}},
		{says: "an unknown recording", method: "GET", path: "/api/v1/recordings/999999/speakers", status: 404, code: "not_found"},
	}
}

func assignRules() []rule {
	const path = "/api/v1/recordings/{talk}/speakers/assign"
	return []rule{
		{says: "the refused assignment changed nothing", method: "GET", path: "/api/v1/recordings/{talk}/speakers", status: 200, values: map[string]any{"speakers[0].identified_name": nil}},
		{
			says: "a name as text, and the caller by isMe", method: "PUT", path: path, body: `{"speaker_map":{"SPEAKER_00":" Grace ","SPEAKER_01":{"isMe":true}}}`, status: 200,
			shapes: map[string]shape{"": assignedShape, "recording": "id:int title:string participants:string status:string"},
			values: map[string]any{
				"success": true, "recording.participants": "Grace, Me", "recording.status": "COMPLETED", "recording.title": "talk", "summary_queued": false,
				"embeddings_updated": 0, "snippets_created": 0,
			},
		},
		{
			says: "the transcript has the names, and tells what the engine said", method: "GET", path: "/api/v1/recordings/{talk}/transcript", status: 200,
			shapes: map[string]shape{"segments[]": "index:int speaker:string speaker_label:string speaker_id:int text:string sentence:string start_time:number end_time:number"},
			values: map[string]any{"segments[0].speaker": "Grace", "segments[0].speaker_label": "SPEAKER_00", "segments[1].speaker": "Me", "segments[2].speaker": "Grace"},
		},
		{
			says: "the names are people now, each used once", method: "GET", path: "/api/v1/speakers", status: 200, shapes: map[string]shape{"speakers[]": speakerListed},
			values: map[string]any{"speakers.len": 2, "speakers[0].use_count": 1, "speakers[1].use_count": 1},
		},
		{says: "who speaks says their names", method: "GET", path: "/api/v1/recordings/{talk}/speakers", status: 200, shapes: map[string]shape{"speakers[]": voiceShape}, values: map[string]any{"speakers[0].identified_name": "Grace", "speakers[0].segment_count": 2}},
		{says: "a blank name leaves a voice as it is, an object may name", method: "PUT", path: path, body: `{"speaker_map":{"SPEAKER_00":"","SPEAKER_01":{"name":"Alan","isMe":false}}}`, status: 200, values: map[string]any{"recording.participants": "Alan, Grace"}},
		{says: "no map", method: "PUT", path: path, body: `{}`, status: 400, code: "invalid_parameter"},
		{says: "a map that is a list", method: "PUT", path: path, body: `{"speaker_map":["Grace"]}`, status: 400, code: "invalid_parameter"},
		{says: "a value that is a number", method: "PUT", path: path, body: `{"speaker_map":{"SPEAKER_00":1}}`, status: 400, code: "invalid_parameter"},
		{says: "a body that is no JSON (ours: 400)", method: "PUT", path: path, body: `{"speaker_map"`, status: 400, code: "bad_request"},
		{says: "an unknown recording", method: "PUT", path: "/api/v1/recordings/999999/speakers/assign", body: `{"speaker_map":{}}`, status: 404, code: "not_found"},
	}
}

func assignAgainRules() []rule {
	return []rule{
		{says: "the same person in another recording", method: "PUT", path: "/api/v1/recordings/{again}/speakers/assign", body: `{"speaker_map":{"SPEAKER_00":"Grace"},"regenerate_summary":true}`, status: 200, values: map[string]any{"recording.participants": "Grace", "recording.status": "COMPLETED", "summary_queued": true}},
		{says: "who is used most comes first", method: "GET", path: "/api/v1/speakers", status: 200, values: map[string]any{"speakers[0].name": "Grace", "speakers[0].use_count": 2}, keep: "grace:speakers[0].id"},
		{says: "labels that nobody named stay", method: "GET", path: "/api/v1/recordings/{again}/transcript", status: 200, values: map[string]any{"segments[1].speaker": "SPEAKER_01", "segments[1].speaker_id": nil}},
		{says: "a new name and an address", method: "PUT", path: "/api/v1/speakers/{grace}", body: `{"name":"Hopper","email":"hopper@example.org"}`, status: 200},
		{says: "the new name reaches every recording", method: "GET", path: "/api/v1/recordings/{again}/transcript", status: 200, values: map[string]any{"segments[0].speaker": "Hopper", "segments[0].speaker_id": "{grace}"}},
		{says: "who speaks says how to reach them", method: "GET", path: "/api/v1/recordings/{talk}/speakers", status: 200, values: map[string]any{"speakers[0].email": "hopper@example.org", "speakers[0].speaker_id": "{grace}"}},
		{says: "who is deleted", method: "DELETE", path: "/api/v1/speakers/{grace}", status: 200},
		{says: "keeps the name in transcripts", method: "GET", path: "/api/v1/recordings/{talk}/transcript", status: 200, values: map[string]any{"segments[0].speaker": "Hopper", "segments[0].speaker_id": nil}},
		{says: "If-Match that no longer holds is 412 (ours)", method: "PUT", path: "/api/v1/recordings/{again}/speakers/assign", body: `{"speaker_map":{}}`, header: map[string][]string{"If-Match": {`W/"r{again}-1-0000000000000000"`}}, status: 412, code: "precondition_failed"},
	}
}

func assignPlainRules() []rule {
	return []rule{
		{
			says: "in a plain transcript labels stand in brackets, and participants in the map's order", method: "PUT", path: "/api/v1/recordings/{full}/speakers/assign",
			body: `{"speaker_map":{"SPEAKER_01":"Zoe","SPEAKER_00":"Alan"}}`, status: 200, values: map[string]any{"recording.participants": "Zoe, Alan"},
		},
		{says: "the labels are replaced, whatever their case and spaces", method: "GET", path: "/api/v1/recordings/{full}/transcript", status: 200, shapes: map[string]shape{"": "format:string kind:string segments:list raw:string"}, values: map[string]any{"kind": "plain", "raw": "[Alan]: Hello. [Zoe]: Hi."}},
	}
}
