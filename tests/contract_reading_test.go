package tests

import (
	"net/http"
	"testing"
)

func contractOfTitles(t *testing.T, w *writingWorld) {
	ada, eve := w.unsummarized(t, "title"), w.account(t, "title.eve")
	id := finished(t, ada, map[string]string{"title": "Mine"})
	deaf, brief := finished(t, ada, map[string]string{"initial_prompt": "fail"}), finished(t, ada, map[string]string{"initial_prompt": "untimed"})
	path := at("/api/v1/recordings/%d/regenerate_title", id)
	post := func(rule, path string, status int, code string) row {
		return row{rule: rule, method: "POST", path: path, status: status, code: code}
	}
	anything := kind{"anything", func(any) bool { return true }}
	// The transcript is as details show it, and not as it is stored (differs).
	titled := uploadObject().with(object{
		"id": id, "title": "The zebrafinch budget", "status": "COMPLETED", "completed_at": naive, "transcription": "[SPEAKER_00]: Hello\n[SPEAKER_01]: Hi é <b>\n[SPEAKER_00]: The budget is 100% agreed.",
		"duplicate_info": anything, "audio_duration": number, "processing_time_seconds": number, "transcription_duration_seconds": whole,
	})
	keeps(t, eve, []row{post("another account's is 404 (differs: 403)", path, 404, "not_found")})
	keeps(t, w.token(t, "title", "read", "write"), []row{{
		rule: "it takes process", method: "POST", path: path, status: 403, code: "insufficient_scope",
		want: object{"error": text, "code": "insufficient_scope", "required_scopes": []any{"process"}, "token_scopes": []any{"read", "write"}},
	}})
	keeps(t, ada, []row{
		post("no recording", "/api/v1/recordings/999999999/regenerate_title", 404, "not_found"),
		post("a failed transcription", at("/api/v1/recordings/%d/regenerate_title", deaf), 400, "invalid_state"),
		post("fewer than ten characters", at("/api/v1/recordings/%d/regenerate_title", brief), 400, "invalid_state"),
		{rule: "GET is 405", path: path, status: 405, code: "method_not_allowed"},
		{rule: "nothing has changed", path: at("/api/v1/recordings/%d", id), want: some{"title": "Mine"}},
		{rule: "200 when it is there; also over a person's title", method: "POST", path: path, want: object{"success": true, "title": "The zebrafinch budget", "recording": titled}},
		{rule: "it is stored", path: at("/api/v1/recordings/%d", id), want: some{"title": "The zebrafinch budget"}},
		{rule: "a body is no matter", method: "POST", path: path, body: object{"mood": "red"}, want: some{"success": true}},
	})
	w.expectAnnounced(t, id, "recording.updated", object{
		"recording_id": id, "title": "The zebrafinch budget", "fields_changed": []any{"title"}, "updated_at": micro,
	})
	keeps(t, w.token(t, "title", "process"), []row{{rule: "without read no text is shown (differs)", method: "POST", path: path, want: some{
		"success": true, "title": nil, "recording": some{"title": nil, "transcription": nil},
	}}})
}

func contractOfIdentifying(t *testing.T, w *writingWorld) {
	ada, eve := w.unsummarized(t, "identify"), w.account(t, "identify.eve")
	id, plain := finished(t, ada, nil), finished(t, ada, map[string]string{"initial_prompt": "plain"})
	deaf, brief := finished(t, ada, map[string]string{"initial_prompt": "fail"}), finished(t, ada, map[string]string{"initial_prompt": "untimed"})
	path := at("/api/v1/recordings/%d/speakers/identify", id)
	post := func(rule, path string, status int, code string) row {
		return row{rule: rule, method: "POST", path: path, status: status, code: code}
	}
	keeps(t, eve, []row{post("another account's is 404 (differs: 403)", path, 404, "not_found")})
	keeps(t, w.token(t, "identify", "read", "write"), []row{{
		rule: "it takes process", method: "POST", path: path, status: 403, code: "insufficient_scope",
		want: object{"error": text, "code": "insufficient_scope", "required_scopes": []any{"process"}, "token_scopes": []any{"read", "write"}},
	}})
	keeps(t, ada, []row{
		post("no recording", "/api/v1/recordings/999999999/speakers/identify", 404, "not_found"),
		post("a failed transcription", at("/api/v1/recordings/%d/speakers/identify", deaf), 400, "invalid_state"),
		post("a plain transcript", at("/api/v1/recordings/%d/speakers/identify", plain), 400, "invalid_state"),
		post("fewer than ten characters (differs)", at("/api/v1/recordings/%d/speakers/identify", brief), 400, "invalid_state"),
		{rule: "names are cleaned, placeholders are none, strangers are left out", method: "POST", path: path, want: object{
			"success": true, "speaker_map": object{"SPEAKER_00": "Ann", "SPEAKER_01": ""}, "left_out": nil,
		}},
		{rule: "they are suggestions: nothing is stored", path: at("/api/v1/recordings/%d/speakers", id), want: some{"speakers": each{some{"identified_name": nil, "speaker_id": nil}}}},
		{rule: "no speaker is made", path: "/api/v1/speakers", want: some{"speakers": []any{}}},
		{rule: "GET is 405", path: path, status: 405, code: "method_not_allowed"},
	})
	keeps(t, w.token(t, "identify", "process"), []row{{rule: "without read nobody is asked (differs)", method: "POST", path: path, want: object{"success": true, "speaker_map": nil, "left_out": nil}}})
	w.expectAnnounced(t, id, "recording.updated")
	if calls := w.calls("Name the speakers as JSON."); len(calls) == 0 || !calls[0].JSON || calls[0].Temperature == nil || *calls[0].Temperature != 0.2 {
		t.Errorf("the model was asked %d times, or not for JSON", len(calls))
	}
}

func contractOfNewSummariesWithNames(t *testing.T, w *writingWorld) {
	ada := w.unsummarized(t, "assign")
	id, brief := finished(t, ada, map[string]string{"title": "Talk"}), finished(t, ada, map[string]string{"initial_prompt": "untimed"})
	path := at("/api/v1/recordings/%d/speakers/assign", id)
	named := object{"speaker_map": object{"SPEAKER_00": "Annabel"}, "regenerate_summary": true}
	resume := w.hold("Annabel")
	defer resume()
	keeps(t, ada, []row{
		{rule: "the status in the answer is that of before", method: "PUT", path: path, body: named, want: object{
			"success": true, "message": text, "summary_queued": true, "embeddings_updated": 0, "snippets_created": 0,
			"recording": object{"id": id, "title": "Talk", "participants": "Annabel", "status": "COMPLETED"},
		}},
		{rule: "the summary is under way", path: at("/api/v1/recordings/%d/status", id), want: some{"status": "SUMMARIZING"}},
	})
	resume()
	settled(t, ada, id, "COMPLETED")
	keeps(t, ada, []row{
		{rule: "and there", path: at("/api/v1/recordings/%d", id), want: some{"summary": text, "participants": "Annabel"}},
		{rule: "without it none is made", method: "PUT", path: path, body: object{"speaker_map": object{"SPEAKER_01": "Bob"}}, want: some{"summary_queued": false}},
		{rule: "and the old one stays", path: at("/api/v1/recordings/%d", id), want: some{"status": "COMPLETED", "summary": text}},
		{rule: "a summary that cannot be made is not queued, and the names count", method: "PUT", path: at("/api/v1/recordings/%d/speakers/assign", brief), body: named, want: some{
			"summary_queued": false, "recording": some{"status": "COMPLETED"},
		}},
		{rule: "regenerate_summary that is a word (differs)", method: "PUT", path: path, body: object{"speaker_map": object{}, "regenerate_summary": "yes"}, status: 400, code: "invalid_parameter", want: some{"error": text, "code": "invalid_parameter"}},
	})
	if calls := w.calls("Annabel"); len(calls) != 1 || calls[0].Cap() != summaryCap {
		t.Errorf("the name was told in %d calls", len(calls))
	}
	keeps(t, w.token(t, "assign", "read", "write"), []row{{
		rule: "the summary takes process besides (differs)", method: http.MethodPut, path: path, body: named, status: 403, code: "insufficient_scope",
		want: object{"error": text, "code": "insufficient_scope", "required_scopes": []any{"process", "write"}, "token_scopes": []any{"read", "write"}},
	}})
}
