package tests

import "testing"

const (
	folderCreated = shape("id:int name:string color:string group_id:int? is_group_folder:bool group_name:string? custom_prompt:string? " +
		"default_language:string? default_min_speakers:int? default_max_speakers:int? default_hotwords:string? default_initial_prompt:string? " +
		"default_transcription_model:string? protect_from_deletion:bool retention_days:int? auto_share_on_apply:bool " +
		"share_with_group_lead:bool naming_template_id:null naming_template_name:null export_template_id:null " +
		"export_template_name:null created_at:N recording_count:int")
	folderShown  = folderCreated + " can_edit:bool"
	folderListed = folderShown + " user_role:string?"
)

// folderContract is the contract's rows of folders (2.10 and 3.4 of the older file).
func folderContract(t *testing.T, r *rig) {
	t.Helper()
	r.holds(t, r.eve, []rule{
		{says: "another account's folder", method: "POST", path: "/api/v1/folders", body: `{"name":"Eve's"}`, status: 201, keep: "foreign"},
	})
	r.holds(t, r.ada, folderRules())
	r.holds(t, r.ada, folderChangeRules())
	r.holds(t, r.scoped(t, "write"), []rule{
		{says: "without the scope read a folder has no name and no texts", method: "PATCH", path: "/api/v1/folders/{a}", body: `{"color":"#000000"}`, status: 200, values: map[string]any{"name": nil, "color": "#000000"}},
		{says: "deleting a folder takes the scope delete", method: "DELETE", path: "/api/v1/folders/{a}", status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}},
	})
	r.holds(t, r.ada, folderDeletedRules())
}

func folderRules() []rule {
	whole := `{"name":"Whole","color":"#000000","group_id":null,"custom_prompt":"Short.","default_language":"de","default_min_speakers":1,
		"default_max_speakers":3,"default_hotwords":"Stenometer","default_initial_prompt":"A talk.","default_transcription_model":"large",
		"retention_days":30,"auto_share_on_apply":false,"share_with_group_lead":false,"naming_template_id":null,"export_template_id":0}`
	return []rule{
		{
			says: "created bare, in the usual color, and 201", method: "POST", path: "/api/v1/folders", body: `{"name":"Interviews"}`, status: 201, keep: "a",
			shapes: map[string]shape{"": folderCreated},
			values: map[string]any{
				"color": "#10B981", "is_group_folder": false, "retention_days": nil, "protect_from_deletion": false, "recording_count": 0,
				"auto_share_on_apply": true, "share_with_group_lead": true,
			},
		},
		{
			says: "all fields are stored as sent; sharing with a group, which it is not in, stays true", method: "POST", path: "/api/v1/folders", body: whole, status: 201, keep: "b",
			shapes: map[string]shape{"": folderCreated},
			values: map[string]any{
				"color": "#000000", "custom_prompt": "Short.", "default_language": "de", "default_min_speakers": 1, "default_max_speakers": 3,
				"default_hotwords": "Stenometer", "default_initial_prompt": "A talk.", "default_transcription_model": "large", "retention_days": 30,
				"auto_share_on_apply": true, "share_with_group_lead": true,
			},
		},
		{says: "no name", method: "POST", path: "/api/v1/folders", body: `{}`, status: 400, code: "invalid_parameter"},
		{says: "a name that the account has", method: "POST", path: "/api/v1/folders", body: `{"name":"Whole"}`, status: 400, code: "invalid_parameter"},
		{says: "a template that does not exist", method: "POST", path: "/api/v1/folders", body: `{"name":"x","naming_template_id":1}`, status: 404, code: "not_found"},
		{says: "a group that one is not in is 404 (ours)", method: "POST", path: "/api/v1/folders", body: `{"name":"x","group_id":999999}`, status: 404, code: "not_found"},
		{says: "a put into it", method: "PATCH", path: "/api/v1/recordings/{recording}", body: `{"folder_id":{a}}`, status: 200, values: map[string]any{"recording.folder_id": "{a}"}},
		{says: "another account's folder is none to put into", method: "PATCH", path: "/api/v1/recordings/{recording}", body: `{"folder_id":{foreign}}`, status: 404, code: "not_found"},
		{says: "the recording shows it", method: "GET", path: "/api/v1/recordings/{recording}", status: 200, shapes: map[string]shape{"folder": "id:int name:string"}, values: map[string]any{"folder_id": "{a}", "folder.name": "Interviews"}},
		{says: "one folder, with can_edit and without user_role", method: "GET", path: "/api/v1/folders/{a}", status: 200, shapes: map[string]shape{"": folderShown}, values: map[string]any{"can_edit": true, "recording_count": 1}},
		{says: "an unknown folder", method: "GET", path: "/api/v1/folders/999999", status: 404, code: "not_found"},
		{says: "another account's folder is 404 (ours)", method: "GET", path: "/api/v1/folders/{foreign}", status: 404, code: "not_found"},
		{
			says: "the list is a bare array, with can_edit and user_role", method: "GET", path: "/api/v1/folders", status: 200, shapes: map[string]shape{"[]": folderListed},
			values: map[string]any{"len": 2, "[0].name": "Interviews", "[0].recording_count": 1, "[1].name": "Whole", "[1].user_role": nil},
		},
	}
}

func folderChangeRules() []rule {
	rules := []rule{
		{says: "-1 keeps for good, and protects", method: "PATCH", path: "/api/v1/folders/{b}", body: `{"retention_days":-1}`, status: 200, values: map[string]any{"retention_days": -1, "protect_from_deletion": true}},
		{says: "0 is null, and protects no more", method: "PATCH", path: "/api/v1/folders/{b}", body: `{"retention_days":0}`, status: 200, values: map[string]any{"retention_days": nil, "protect_from_deletion": false}},
		{
			says: "empty hints are null", method: "PATCH", path: "/api/v1/folders/{b}", body: `{"default_hotwords":"","default_initial_prompt":"","default_transcription_model":""}`, status: 200,
			values: map[string]any{"default_hotwords": nil, "default_initial_prompt": nil, "default_transcription_model": nil, "default_language": "de"},
		},
		{says: "an empty name (ours: 400)", method: "PATCH", path: "/api/v1/folders/{b}", body: `{"name":""}`, status: 400, code: "invalid_parameter"},
		{says: "days beyond the bound", method: "PATCH", path: "/api/v1/folders/{b}", body: `{"retention_days":36501}`, status: 400, code: "invalid_parameter"},
		{says: "JSON null (ours: 400)", method: "PATCH", path: "/api/v1/folders/{b}", body: `null`, status: 400, code: "bad_request"},
	}
	for _, method := range []string{"PATCH", "PUT"} {
		rules = append(rules,
			rule{says: method + " changes what is named alone, and answers the bare folder", method: method, path: "/api/v1/folders/{b}", body: `{"name":"By ` + method + `"}`, status: 200, shapes: map[string]shape{"": folderCreated}, values: map[string]any{"name": "By " + method, "color": "#000000"}},
			rule{says: method + " of a name that is taken is 409 (ours)", method: method, path: "/api/v1/folders/{b}", body: `{"name":"Interviews"}`, status: 409, code: "conflict"},
			rule{says: method + " of a template that does not exist", method: method, path: "/api/v1/folders/{b}", body: `{"export_template_id":1}`, status: 404, code: "not_found"},
			rule{says: method + " of another account's folder is 404 (ours)", method: method, path: "/api/v1/folders/{foreign}", body: `{"name":"x"}`, status: 404, code: "not_found"},
			rule{says: method + " of an unknown folder", method: method, path: "/api/v1/folders/999999", body: `{"name":"x"}`, status: 404, code: "not_found"},
		)
	}
	return rules
}

func folderDeletedRules() []rule {
	return []rule{
		{says: "DELETE of another account's folder is 404 (ours)", method: "DELETE", path: "/api/v1/folders/{foreign}", status: 404, code: "not_found"},
		{says: "DELETE says success alone", method: "DELETE", path: "/api/v1/folders/{a}", status: 200, shapes: map[string]shape{"": "success:bool"}},
		{says: "its recordings stay, in no folder", method: "GET", path: "/api/v1/recordings/{recording}", status: 200, values: map[string]any{"folder_id": nil, "folder": nil}},
		{says: "DELETE of one that is gone", method: "DELETE", path: "/api/v1/folders/{a}", status: 404, code: "not_found"},
	}
}
