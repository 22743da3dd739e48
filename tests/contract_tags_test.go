package tests

import "testing"

const (
	tagCreated = shape("id:int name:string color:string is_group_tag:bool group_id:int? custom_prompt:string? " +
		"default_language:string? default_min_speakers:int? default_max_speakers:int? protect_from_deletion:bool " +
		"group_name:string? auto_share_on_apply:bool share_with_group_lead:bool") // the last three are ours
	tagListed  = tagCreated + " title_prompt:null can_edit:bool"
	tagChanged = shape("id:int name:string color:string custom_prompt:string? default_language:string? " +
		"default_min_speakers:int? default_max_speakers:int? protect_from_deletion:bool")
	tagOnRecording = shape("id:int name:string color:string")
	succeeded      = shape("success:bool message:text")
)

// tagContract is the contract's rows of tags (newer 10, 3.3 and 2.9 of the older file), and of tags on recordings.
func tagContract(t *testing.T, r *rig) {
	t.Helper()
	r.holds(t, r.eve, []rule{
		{says: "another account's tag", method: "POST", path: "/api/v1/tags", body: `{"name":"Eve's"}`, status: 201, keep: "foreign"},
	})
	r.holds(t, r.ada, tagRules())
	r.holds(t, r.ada, taggingRules())
	r.holds(t, r.ada, taggingReplacedRules())
	r.holds(t, r.scoped(t, "write"), []rule{
		{
			says: "without the scope read a tag has no name", method: "PUT", path: "/api/v1/recordings/{recording}/tags",
			body: `{"tag_ids":[{b}]}`, status: 200, values: map[string]any{"tags[0].name": nil, "tags[0].id": "{b}"},
		},
		{
			says: "deleting a tag takes the scope delete", method: "DELETE", path: "/api/v1/tags/{a}", status: 403, code: "insufficient_scope",
			shapes: map[string]shape{"": refusedScope},
		},
	})
}

func tagRules() []rule {
	whole := `{"name":"Whole","color":"#a1B2c3","group_id":null,"custom_prompt":"Short.","default_language":"de",
		"default_min_speakers":2,"default_max_speakers":4,"protect_from_deletion":true,"hue":"ignored"}`
	return []rule{
		{says: "an empty list", method: "GET", path: "/api/v1/tags", status: 200, shapes: map[string]shape{"": "tags:list"}, values: map[string]any{"tags.len": 0}},
		{
			says: "created bare, personal, in the usual color, and 201", method: "POST", path: "/api/v1/tags", body: `{"name":"Standup"}`, status: 201, keep: "a",
			shapes: map[string]shape{"": tagCreated},
			values: map[string]any{"color": "#3B82F6", "is_group_tag": false, "group_id": nil, "protect_from_deletion": false, "custom_prompt": nil},
		},
		{
			says: "all fields are stored as sent, unknown ones ignored", method: "POST", path: "/api/v1/tags", body: whole, status: 201, keep: "b",
			shapes: map[string]shape{"": tagCreated},
			values: map[string]any{
				"color": "#a1B2c3", "custom_prompt": "Short.", "default_language": "de", "default_min_speakers": 2, "default_max_speakers": 4,
				"protect_from_deletion": true,
			},
		},
		{says: "no name", method: "POST", path: "/api/v1/tags", body: `{"color":"#3B82F6"}`, status: 400, code: "invalid_parameter"},
		{says: "an empty name", method: "POST", path: "/api/v1/tags", body: `{"name":""}`, status: 400, code: "invalid_parameter"},
		{says: "a name longer than the column", method: "POST", path: "/api/v1/tags", body: `{"name":"123456789012345678901234567890123456789012345678901"}`, status: 400, code: "invalid_parameter"},
		{says: "a name that the account has is 400", method: "POST", path: "/api/v1/tags", body: `{"name":"Standup"}`, status: 400, code: "invalid_parameter"},
		{says: "another account may have the name", method: "POST", path: "/api/v1/tags", body: `{"name":"Eve's"}`, status: 201},
		{says: "a color is #RRGGBB (ours)", method: "POST", path: "/api/v1/tags", body: `{"name":"x","color":"blue"}`, status: 400, code: "invalid_parameter"},
		{says: "a group that one is not in is 404 (ours)", method: "POST", path: "/api/v1/tags", body: `{"name":"x","group_id":999999}`, status: 404, code: "not_found"},
		{
			says: "listed by name, with can_edit", method: "GET", path: "/api/v1/tags", status: 200, shapes: map[string]shape{"tags[]": tagListed},
			values: map[string]any{"tags.len": 3, "tags[0].name": "Eve's", "tags[1].name": "Standup", "tags[2].name": "Whole", "tags[1].can_edit": true},
		},
		{says: "?name= is exact, trimmed, any case", method: "GET", path: "/api/v1/tags?name=+sTANDUP+", status: 200, values: map[string]any{"tags.len": 1, "tags[0].id": "{a}"}},
		{says: "?name= is no part of a name", method: "GET", path: "/api/v1/tags?name=Stand", status: 200, values: map[string]any{"tags.len": 0}},
		{
			says: "PUT changes what is named alone", method: "PUT", path: "/api/v1/tags/{b}", body: `{"color":"#000000"}`, status: 200,
			shapes: map[string]shape{"": "success:bool tag:object", "tag": tagChanged},
			values: map[string]any{"success": true, "tag.color": "#000000", "tag.name": "Whole", "tag.default_language": "de"},
		},
		{says: "null clears", method: "PUT", path: "/api/v1/tags/{b}", body: `{"custom_prompt":null}`, status: 200, values: map[string]any{"tag.custom_prompt": nil}},
		{says: "PUT of nothing", method: "PUT", path: "/api/v1/tags/{b}", body: `{}`, status: 400, code: "invalid_parameter"},
		{says: "PUT of a name that is taken is 409 (ours)", method: "PUT", path: "/api/v1/tags/{b}", body: `{"name":"Standup"}`, status: 409, code: "conflict"},
		{says: "PUT of an unknown tag", method: "PUT", path: "/api/v1/tags/999999", body: `{"name":"x"}`, status: 404, code: "not_found"},
		{says: "PUT of another account's tag is 404 (ours)", method: "PUT", path: "/api/v1/tags/{foreign}", body: `{"name":"x"}`, status: 404, code: "not_found"},
		{says: "DELETE of another account's tag is 404 (ours)", method: "DELETE", path: "/api/v1/tags/{foreign}", status: 404, code: "not_found"},
		{says: "one that goes", method: "POST", path: "/api/v1/tags", body: `{"name":"Gone"}`, status: 201, keep: "gone"},
		{says: "DELETE says so", method: "DELETE", path: "/api/v1/tags/{gone}", status: 200, shapes: map[string]shape{"": succeeded}, values: map[string]any{"success": true}},
		{says: "DELETE of one that is gone", method: "DELETE", path: "/api/v1/tags/{gone}", status: 404, code: "not_found"},
	}
}

func taggingRules() []rule {
	const path = "/api/v1/recordings/{recording}/tags"
	added := map[string]shape{"": "success:bool added_tags:list errors:list?", "added_tags[]": "id:int name:string"}
	return []rule{
		{says: "tag_id, which one client sends", method: "POST", path: path, body: `{"tag_id":{b}}`, status: 200, shapes: added, values: map[string]any{"success": true, "errors": nil, "added_tags[0].id": "{b}"}},
		{says: "tag_ids that is null beside it", method: "POST", path: path, body: `{"tag_ids":null,"tag_id":{b}}`, status: 200},
		{
			says: "tag_ids in their order, behind those that there are; unknown and foreign ones are errors, the rest goes in", method: "POST", path: path,
			body: `{"tag_ids":[{a},999999,{foreign}]}`, status: 200, shapes: added,
			values: map[string]any{"added_tags.len": 1, "added_tags[0].id": "{a}", "errors.len": 2},
		},
		{says: "those that there are, and duplicates, are passed over", method: "POST", path: path, body: `{"tag_ids":[{a},{a}]}`, status: 200, values: map[string]any{"added_tags.len": 0, "errors": nil}},
		{
			says: "the detail has them in order", method: "GET", path: "/api/v1/recordings/{recording}", status: 200,
			shapes: map[string]shape{"tags[]": tagOnRecording}, values: map[string]any{"tags[0].id": "{b}", "tags[1].id": "{a}"},
		},
		{says: "neither key", method: "POST", path: path, body: `{}`, status: 400, code: "invalid_parameter"},
		{says: "ids that are no list (ours: 400)", method: "POST", path: path, body: `{"tag_ids":1}`, status: 400, code: "invalid_parameter"},
		{says: "JSON null (ours: 400)", method: "POST", path: path, body: `null`, status: 400, code: "bad_request"},
		{says: "an unknown recording", method: "POST", path: "/api/v1/recordings/999999/tags", body: `{"tag_id":{a}}`, status: 404, code: "not_found"},
		{says: "DELETE takes one off", method: "DELETE", path: path + "/{a}", status: 200, shapes: map[string]shape{"": succeeded}},
		{says: "DELETE of one that is not on it", method: "DELETE", path: path + "/{a}", status: 404, code: "not_found"},
		{says: "DELETE of another account's tag", method: "DELETE", path: path + "/{foreign}", status: 404, code: "not_found"},
	}
}

func taggingReplacedRules() []rule {
	const path = "/api/v1/recordings/{recording}/tags"
	return []rule{
		{
			says: "PUT replaces, in order, and tells what came and went", method: "PUT", path: path, body: `{"tag_ids":[{a},{a}]}`, status: 200,
			shapes: map[string]shape{"": "tags:list added:list removed:list", "tags[]": tagOnRecording},
			values: map[string]any{"tags.len": 1, "tags[0].id": "{a}", "added": "[{a}]", "removed": "[{b}]"},
		},
		{
			says: "bad ids are refused by name, and nothing changes", method: "PUT", path: path, body: `{"tag_ids":[{b},999999,{foreign}]}`, status: 400, code: "invalid_parameter",
			shapes: map[string]shape{"": "error:text code:text tag_ids:list"}, values: map[string]any{"tag_ids": "[999999 {foreign}]"},
		},
		{says: "nothing changed", method: "GET", path: "/api/v1/recordings/{recording}", status: 200, values: map[string]any{"tags.len": 1}},
		{says: "a boolean is no id", method: "PUT", path: path, body: `{"tag_ids":[true]}`, status: 400, code: "invalid_parameter"},
		{says: "no list", method: "PUT", path: path, body: `{"tag_ids":"1"}`, status: 400, code: "invalid_parameter"},
		{says: "no key", method: "PUT", path: path, body: `{}`, status: 400, code: "invalid_parameter"},
		{says: "an unknown recording", method: "PUT", path: "/api/v1/recordings/999999/tags", body: `{"tag_ids":[]}`, status: 404, code: "not_found"},
		{says: "[] clears", method: "PUT", path: path, body: `{"tag_ids":[]}`, status: 200, values: map[string]any{"tags": "[]", "added": "[]", "removed": "[{a}]"}},
		{says: "If-Match that no longer holds is 412 (ours)", method: "PUT", path: path, body: `{"tag_ids":[]}`, header: map[string][]string{"If-Match": {`W/"r{recording}-1-0000000000000000"`}}, status: 412, code: "precondition_failed"},
	}
}

// refusedScope is the contract's answer to a token without a scope.
const refusedScope = shape("error:text code:text required_scopes:list token_scopes:list")

// refusedRole is what a role without the verb is answered, and which verb that is.
const refusedRole = shape("error:text code:text required_permission:text")
