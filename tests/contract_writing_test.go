package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// patchedObject is the answer to PATCH.
var patchedObject = object{
	"id": whole, "title": orNull{text}, "participants": orNull{text}, "notes": orNull{text}, "summary": orNull{text},
	"meeting_date": orNull{naive}, "is_inbox": boolean, "is_highlighted": boolean, "is_archived": boolean, "folder_id": orNull{whole},
	"updated_at": micro,
}

func contractOfPatches(t *testing.T, w *world) {
	ada, eve := w.account(t, "patch"), w.account(t, "patch.eve")
	id := finished(t, ada, map[string]string{"title": "Alpha"})
	path := at("/api/v1/recordings/%d", id)
	folder := recordingID(t, ada.Send(http.MethodPost, "/api/v1/folders", object{"name": "Work"}).JSON(t))
	foreign := recordingID(t, eve.Send(http.MethodPost, "/api/v1/folders", object{"name": "Work"}).JSON(t))
	sets := func(rule string, body, want object) row {
		return row{rule: rule, method: "PATCH", path: path, body: body, want: object{"success": true, "recording": patchedObject.with(want)}}
	}
	bad := func(rule string, body any) row {
		return row{rule: rule, method: "PATCH", path: path, body: body, status: 400, code: "invalid_parameter"}
	}
	keeps(t, ada, []row{
		sets("title", object{"title": "New"}, object{"id": id, "title": "New"}),
		sets("participants, notes and summary", object{"participants": "Ann", "notes": "n", "summary": "s"},
			object{"title": "New", "participants": "Ann", "notes": "n", "summary": "s"}),
		sets("null clears a text", object{"notes": nil, "participants": nil}, object{"notes": nil, "participants": nil, "summary": "s"}),
		sets("an offset becomes UTC (differs from June)", object{"meeting_date": "2024-01-15T09:00:00+02:00"}, object{"meeting_date": "2024-01-15T07:00:00"}),
		sets("a time without a zone is UTC", object{"meeting_date": "2024-01-15T09:00:00.25"}, object{"meeting_date": "2024-01-15T09:00:00.250000"}),
		sets("a bare date is its midnight", object{"meeting_date": "2024-01-15"}, object{"meeting_date": "2024-01-15T00:00:00"}),
		sets("Z is taken", object{"meeting_date": "2024-01-15T09:00:00Z"}, object{"meeting_date": "2024-01-15T09:00:00"}),
		sets("an empty meeting_date clears it", object{"meeting_date": ""}, object{"meeting_date": nil}),
		sets("the flags", object{"is_inbox": false, "is_highlighted": true, "is_archived": true},
			object{"is_inbox": false, "is_highlighted": true, "is_archived": true}),
		sets("null is false where the contract coerces", object{"is_highlighted": nil}, object{"is_highlighted": false, "is_archived": true}),
		sets("folder_id", object{"folder_id": folder}, object{"folder_id": folder}),
		sets("null takes it out of its folder", object{"folder_id": nil}, object{"folder_id": nil}),
		sets("unknown members are ignored", object{"title": "New", "mood": "red"}, object{"title": "New"}),
		sets("nothing but unknown members changes nothing", object{"mood": "red"}, object{"title": "New"}),
		bad("an empty object", object{}), bad("meeting_date that is no date", object{"meeting_date": "soon"}),
		bad("is_archived that is no boolean", object{"is_archived": 1}), bad("is_archived null", object{"is_archived": nil}),
		bad("keep_audio_only cannot be changed", object{"keep_audio_only": false}),
		bad("is_inbox as a word is refused (differs: any value is coerced)", object{"is_inbox": "false"}),
		bad("a title over 200 characters (differs: no bound)", object{"title": strings.Repeat("é", 201)}),
		bad("participants over 500 characters (differs)", object{"participants": strings.Repeat("é", 501)}),
		{rule: "an unknown folder", method: "PATCH", path: path, body: object{"folder_id": 999_999_999}, status: 404, code: "not_found"},
		{rule: "a folder of another account is 404 (differs: 403)", method: "PATCH", path: path, body: object{"folder_id": foreign}, status: 404, code: "not_found"},
		{rule: "no JSON", method: "PATCH", path: path, body: "{", status: 400, code: "bad_request"},
		{rule: "another kind of body", method: "PATCH", path: path, body: "title=x", header: http.Header{"Content-Type": {"text/plain"}}, status: 415, code: "unsupported_media_type"},
		{rule: "all or nothing", method: "PATCH", path: path, body: object{"title": "half", "folder_id": foreign}, status: 404, code: "not_found"},
		{rule: "nothing of a refused change is kept", path: path + "?include=", want: some{"title": "New"}},
		{rule: "no recording", method: "PATCH", path: "/api/v1/recordings/999999999", body: object{"title": "x"}, status: 404, code: "not_found"},
	})
	keeps(t, eve, []row{{rule: "another account's is 404 (differs: 403)", method: "PATCH", path: path, body: object{"title": "x"}, status: 404, code: "not_found"}})
}

func contractOfTexts(t *testing.T, w *world) {
	ada, eve := w.account(t, "texts"), w.account(t, "texts.eve")
	id := finished(t, ada, nil)
	for _, name := range []string{"notes", "summary"} {
		path, has := at("/api/v1/recordings/%d/", id)+name, "has_"+name
		put := func(rule string, body any, status int, code string, want any) row {
			return row{rule: name + ": " + rule, method: "PUT", path: path, body: body, status: status, code: code, want: want}
		}
		keeps(t, ada, []row{
			{rule: name + ": none is 200 with null", path: path, want: object{name: nil, has: false}},
			put("replaced", object{name: "# Höhe\n"}, 200, "", object{"success": true, name: "# Höhe\n"}),
			{rule: name + ": read as it was written", path: path, want: object{name: "# Höhe\n", has: true}},
			put("the member is missing", object{"text": "x"}, 400, "invalid_parameter", nil),
			put("of the wrong kind (differs: 500)", object{name: 1}, 400, "invalid_parameter", nil),
			put("over 1 MiB (differs: no bound)", object{name: strings.Repeat("x", 1<<20+1)}, 400, "invalid_parameter", some{"error": text, "code": "invalid_parameter"}),
			put("of 1 MiB", object{name: strings.Repeat("x", 1<<20)}, 200, "", object{"success": true, name: strings.Repeat("x", 1<<20)}),
			put("null takes it away", object{name: nil}, 200, "", object{"success": true, name: nil}),
			{rule: name + ": taken away", path: path, want: object{name: nil, has: false}},
			put("no JSON", "{", 400, "bad_request", nil),
			{rule: name + ": no recording", path: "/api/v1/recordings/999999999/" + name, status: 404, code: "not_found"},
		})
		keeps(t, eve, []row{
			{rule: name + ": another account's is 404 (differs: 403)", path: path, status: 404, code: "not_found"},
			put("another account's is not written", object{name: "x"}, 404, "not_found", nil),
		})
	}
}

func contractOfBatches(t *testing.T, w *world) {
	ada, eve := w.account(t, "batch"), w.account(t, "batch.eve")
	first, second := finished(t, ada, nil), finished(t, ada, map[string]string{"initial_prompt": "fail"})
	foreign := finished(t, eve, nil)
	tag := recordingID(t, ada.Send(http.MethodPost, "/api/v1/tags", object{"name": "urgent"}).JSON(t))
	folder := recordingID(t, ada.Send(http.MethodPost, "/api/v1/folders", object{"name": "Work"}).JSON(t))
	foreignTag := recordingID(t, eve.Send(http.MethodPost, "/api/v1/tags", object{"name": "urgent"}).JSON(t))
	const path = "/api/v1/recordings/batch"
	ok, failed := func(id int64) object { return object{"id": id, "success": true} }, func(id int64) object { return object{"id": id, "success": false, "error": text} }
	patch := func(rule string, ids any, updates object, want any) row {
		return row{rule: "PATCH: " + rule, method: "PATCH", path: path, body: object{"recording_ids": ids, "updates": updates}, want: want}
	}
	both := object{"success": true, "updated": 2, "failed": 0, "results": []any{ok(first), ok(second)}}
	mine := []int64{first, second}
	bad := func(rule, method string, body any) row {
		return row{rule: method + ": " + rule, method: method, path: path, body: body, status: 400, code: "invalid_parameter"}
	}
	keeps(t, ada, []row{
		patch("flags, a folder and tags", mine, object{
			"is_inbox": false, "is_highlighted": true, "is_archived": true, "folder_id": folder,
			"add_tag_ids": []int64{tag, foreignTag, 999_999_999},
		}, both),
		{rule: "all of it is there, tags of others were passed over", path: at("/api/v1/recordings/%d?include=", first), want: some{
			"is_inbox": false, "is_highlighted": true, "is_archived": true, "folder_id": folder, "tags": []any{some{"id": tag}},
		}},
		patch("tags removed, the folder too", mine, object{"remove_tag_ids": []int64{tag}, "folder_id": nil}, both),
		{rule: "nothing of it is there", path: at("/api/v1/recordings/%d?include=", first), want: some{"folder_id": nil, "tags": []any{}}},
		patch("some fail where others succeed; another account's as one that there is not", []int64{first, foreign, 999_999_999}, object{"is_inbox": true},
			object{"success": true, "updated": 1, "failed": 2, "results": []any{ok(first), failed(foreign), failed(999_999_999)}}),
		patch("twice is once (differs: twice)", []int64{first, first}, object{"is_inbox": true},
			object{"success": true, "updated": 1, "failed": 0, "results": []any{ok(first)}}),
		{rule: "PATCH: no updates changes nothing", method: "PATCH", path: path, body: object{"recording_ids": mine}, want: both},
		bad("updates null (differs: 500)", "PATCH", object{"recording_ids": mine, "updates": nil}),
		bad("no ids", "PATCH", object{"updates": object{"is_inbox": true}}), bad("an empty list", "PATCH", object{"recording_ids": []int64{}}),
		bad("ids that are no list (differs: 500)", "PATCH", object{"recording_ids": "12"}),
		bad("is_archived that is no boolean", "PATCH", object{"recording_ids": mine, "updates": object{"is_archived": "yes"}}),
		{rule: "PATCH: an unknown folder fails the whole", method: "PATCH", path: path, body: object{"recording_ids": mine, "updates": object{"folder_id": 999_999_999}}, status: 404, code: "not_found"},
		{rule: "GET is 405 with Allow, not a recording", path: path, status: 405, code: "method_not_allowed"},
		{rule: "more than 1,000 ids (differs: no bound)", method: "PATCH", path: path, body: object{"recording_ids": upTo(1001)}, status: 413, code: "payload_too_large", want: some{"code": "payload_too_large"}},
		{rule: "1,000 ids", method: "PATCH", path: path, body: object{"recording_ids": upTo(1000), "updates": object{}}, want: some{"success": true}},
		bad("no ids", "DELETE", object{"recording_ids": []int64{}}),
	})
	keeps(t, ada, []row{
		{
			rule: "POST transcribe: a job each, or the reason", method: "POST", path: path + "/transcribe", body: object{"recording_ids": []int64{second, foreign}},
			want: object{"success": true, "queued": 1, "failed": 1, "results": []any{object{"id": second, "success": true, "job_id": whole}, failed(foreign)}},
		},
		{rule: "POST transcribe: no ids", method: "POST", path: path + "/transcribe", body: object{}, status: 400, code: "invalid_parameter"},
		{
			rule: "DELETE: own ones, not another account's", method: "DELETE", path: path, body: object{"recording_ids": []int64{first, foreign}},
			want: object{"success": true, "deleted": 1, "failed": 1, "results": []any{ok(first), failed(foreign)}},
		},
		{rule: "it is gone", path: at("/api/v1/recordings/%d", first), status: 404, code: "not_found"},
	})
	keeps(t, eve, []row{{rule: "the other account's is there", path: at("/api/v1/recordings/%d?include=", foreign), want: some{"id": foreign, "is_inbox": true}}})
	if allow := ada.Get(path).Header.Get("Allow"); !containsAll(allow, "PATCH", "DELETE") {
		t.Errorf("Allow is %q", allow)
	}
}

// upTo are ids that nothing has.
func upTo(n int) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(1_000_000_000 + i)
	}
	return ids
}

func contractOfDeletions(t *testing.T, w *world) {
	ada, eve := w.account(t, "delete"), w.account(t, "delete.eve")
	id, kept := finished(t, ada, nil), finished(t, ada, map[string]string{"notes": "kept"})
	held := waiting(t, ada, map[string]string{"initial_prompt": "hold"})
	ada.AwaitStatus(held, time.Minute, "PROCESSING")
	path, audio := at("/api/v1/recordings/%d", id), at("/api/v1/recordings/%d/delete-audio", kept)
	keeps(t, eve, []row{
		{rule: "another account's recording is 404 (differs: 403)", method: "DELETE", path: path, status: 404, code: "not_found"},
		{rule: "another account's audio is 404 (differs: 403)", method: "POST", path: audio, status: 404, code: "not_found"},
	})
	keeps(t, ada, []row{
		{rule: "a recording is deleted", method: "DELETE", path: path, want: object{"success": true, "message": text}},
		{rule: "and is gone", method: "DELETE", path: path, status: 404, code: "not_found"},
		{rule: "its audio is deleted", method: "POST", path: audio, want: object{"success": true, "audio_deleted_at": naive}},
		{rule: "once", method: "POST", path: audio, status: 409, code: "conflict"},
		{rule: "the audio is gone", path: at("/api/v1/recordings/%d/audio", kept), status: 404, code: "not_found"},
		{rule: "the rest stays", path: at("/api/v1/recordings/%d", kept), want: some{
			"audio_available": false, "audio_duration": nil, "notes": "kept", "transcription": text, "status": "COMPLETED",
		}},
		{rule: "not while it is worked on", method: "POST", path: at("/api/v1/recordings/%d/delete-audio", held), status: 409, code: "conflict"},
		{rule: "no recording", method: "POST", path: "/api/v1/recordings/999999999/delete-audio", status: 404, code: "not_found"},
		{rule: "one that is worked on is deleted", method: "DELETE", path: at("/api/v1/recordings/%d", held), want: object{"success": true, "message": text}},
	})
	if status := ada.Get(fmt.Sprintf("/api/v1/recordings/%d/status", held)).Status; status != http.StatusNotFound {
		t.Errorf("the status of a deleted recording is %d", status)
	}
}
