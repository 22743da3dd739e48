package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
)

// uploadObject is the answer to an upload, but for what tells the first from its repetition.
func uploadObject() object {
	return listItem.without("has_transcription", "has_summary", "is_shared", "owner", "share", "error_message", "error_code").with(object{
		"user_id": whole, "mime_type": text, "audio_deleted_at": nil, "tags": []any{}, "folder": nil, "notes": nil, "notes_html": "",
		"transcription": nil, "summary": nil, "summary_html": "", "events": []any{}, "prompt_variables": object{},
		"resolved_hotwords": nil, "resolved_initial_prompt": nil, "duplicate_info": nil, "shared_with_count": 0, "public_share_count": 0,
		"external_refs": []any{}, "title": "Recording - talk.wav", "status": "QUEUED", "meeting_date": naive, "folder_id": nil,
		"is_inbox": true, "is_highlighted": false, "is_archived": false, "completed_at": nil, "audio_available": true,
	})
}

// sentForm is one upload of a table, and its answer.
type sentForm struct {
	rule   string
	fields map[string]string
	status int
	code   string
	want   any
}

// sendForms uploads a file for each row; each file is another, so that none is a copy, and variant is the first.
func sendForms(t *testing.T, client *servertest.Client, variant int16, rows []sentForm) {
	t.Helper()
	for i, r := range rows {
		t.Run(r.rule, func(t *testing.T) {
			answer := client.Upload("talk.wav", talk(variant+int16(i)), r.fields)
			if want := max(r.status, http.StatusAccepted); r.code == "" && answer.Status != want || r.code != "" && (answer.Status != r.status || answer.Code() != r.code) {
				t.Fatalf("got %v, want %d %s", answer, want, r.code)
			}
			if r.want == nil {
				r.want = object{"error": text, "code": r.code}
			}
			expectForm(t, answer, r.want)
		})
	}
}

func contractOfUploads(t *testing.T, w *world) {
	ada := w.account(t, "upload")
	first := firstUpload()
	sendForms(t, ada, 0, []sentForm{
		{rule: "202 with 36 members and the newer ones", want: first},
		{rule: "title is trimmed", fields: map[string]string{"title": "  Talk "}, want: first.with(object{"title": "Talk"})},
		{rule: "a blank title is a placeholder", fields: map[string]string{"title": " "}, want: first},
		{rule: "notes as they were sent, and as HTML", fields: map[string]string{"notes": "a <b>"}, want: first.with(object{"notes": "a <b>", "notes_html": "<p>a &lt;b&gt;</p>"})},
		{rule: "participants are trimmed", fields: map[string]string{"participants": " Ann "}, want: first.with(object{"participants": "Ann"})},
		{rule: "blank participants are none", fields: map[string]string{"participants": " "}, want: first.with(object{"participants": nil})},
		badForm("participants over 500 characters", map[string]string{"participants": strings.Repeat("é", 501)}),
		badForm("a title over 200 characters (differs: no bound)", map[string]string{"title": strings.Repeat("é", 201)}),
		{rule: "meeting_date, its offset converted", fields: map[string]string{"meeting_date": "2024-01-15T09:00:00+02:00"}, want: first.with(object{"meeting_date": "2024-01-15T07:00:00"})},
		{rule: "a meeting_date that is none is ignored", fields: map[string]string{"meeting_date": "soon"}, want: first},
		{
			rule: "file_last_modified stands in for the date, in UTC (differs: the server's zone)", fields: map[string]string{"file_last_modified": "1705309200123"},
			want: first.with(object{"meeting_date": "2024-01-15T09:00:00.123000"}),
		},
		{
			rule: "meeting_date goes before file_last_modified", fields: map[string]string{"file_last_modified": "1705309200123", "meeting_date": "2001-02-03"},
			want: first.with(object{"meeting_date": "2001-02-03T00:00:00"}),
		},
		{rule: "a file_last_modified that is none is ignored", fields: map[string]string{"file_last_modified": "yesterday"}, want: first},
		{
			rule: "hints that will be used are told", fields: map[string]string{"hotwords": " GDPR ", "initial_prompt": "A talk."},
			want: first.with(object{"resolved_hotwords": "GDPR", "resolved_initial_prompt": "A talk."}),
		},
		{rule: "speakers that are no numbers are none", fields: map[string]string{"min_speakers": "few", "max_speakers": "0"}, want: first},
		badForm("more than 100 speakers (differs: no bound)", map[string]string{"max_speakers": "101"}),
		{rule: "client_timezone, client_tz_offset and unknown fields are ignored", fields: map[string]string{"client_timezone": "Asia/Tokyo", "client_tz_offset": "-540", "mood": "red"}, want: first},
		{
			rule: "keep_audio_only changes nothing (differs)", fields: map[string]string{"keep_audio_only": "true"},
			want: first.with(object{"keep_audio_only": false}),
		},
		{
			rule: "prompt_variables are kept as texts", fields: map[string]string{"prompt_variables": `{"a":" b ","n":7,"no name":"x"}`},
			want: first.with(object{"prompt_variables": object{"a": "b", "n": "7"}}),
		},
		{rule: "prompt_variables that are no object are ignored", fields: map[string]string{"prompt_variables": `["a"`}, want: first},
	})
	contractOfPlaces(t, ada, w.account(t, "upload.eve"))
	contractOfCopies(t, ada)
}

// firstUpload is the answer to an upload that was worked.
func firstUpload() object {
	return uploadObject().with(object{"ignored": object{"tag_ids": []any{}, "folder_id": nil}})
}

func badForm(rule string, fields map[string]string) sentForm {
	return sentForm{rule: rule, fields: fields, status: 400, code: "invalid_parameter", want: some{"error": text}}
}

// contractOfPlaces is where an upload is put: tags, a folder, and what other systems call it.
func contractOfPlaces(t *testing.T, ada, eve *servertest.Client) {
	tag := recordingID(t, ada.Send(http.MethodPost, "/api/v1/tags", object{"name": "urgent", "default_language": "de"}).JSON(t))
	folder := recordingID(t, ada.Send(http.MethodPost, "/api/v1/folders", object{"name": "Work"}).JSON(t))
	foreign := recordingID(t, eve.Send(http.MethodPost, "/api/v1/tags", object{"name": "urgent"}).JSON(t))
	first := firstUpload()
	tagged := first.with(object{"tags": []any{some{"id": tag, "name": "urgent", "default_language": "de", "created_at": naive}}})
	ignoring := func(tags []any, folder any) object {
		return first.with(object{"ignored": object{"tag_ids": tags, "folder_id": folder}})
	}
	refused := func(tags []any, folder any) object {
		return object{"error": text, "code": "invalid_parameter", "ignored": object{"tag_ids": tags, "folder_id": folder}}
	}
	sendForms(t, ada, 100, []sentForm{
		{rule: "tag_id", fields: map[string]string{"tag_id": fmt.Sprint(tag)}, want: tagged},
		{rule: "tag_ids[0]", fields: map[string]string{"tag_ids[0]": fmt.Sprint(tag)}, want: tagged},
		{rule: "tag_ids stop at the first gap", fields: map[string]string{"tag_ids[1]": fmt.Sprint(tag)}, want: ignoring([]any{tag}, nil)},
		{rule: "tags that are not the account's are dropped and told", fields: map[string]string{"tag_ids[0]": fmt.Sprint(foreign), "tag_ids[1]": "x"}, want: ignoring([]any{foreign, "x"}, nil)},
		{
			rule: "folder_id", fields: map[string]string{"folder_id": fmt.Sprint(folder)},
			want: first.with(object{"folder_id": folder, "folder": some{"id": folder, "name": "Work", "created_at": naive}}),
		},
		{rule: "an unknown folder is dropped and told", fields: map[string]string{"folder_id": "999999999"}, want: ignoring([]any{}, 999_999_999)},
		{rule: "a folder that is no number is told as it was sent", fields: map[string]string{"folder_id": "x"}, want: ignoring([]any{}, "x")},
		{
			rule: "strict, in any case, refuses what would be ignored", fields: map[string]string{"strict": "TRUE", "tag_id": "x", "folder_id": "999999999"}, status: 400, code: "invalid_parameter",
			want: refused([]any{"x"}, 999_999_999),
		},
		{rule: "strict with what there is", fields: map[string]string{"strict": "true", "tag_id": fmt.Sprint(tag)}, want: tagged},
		{
			rule: "external_refs", fields: map[string]string{"external_refs": `[{"system":"crm","kind":"deal","ref":"D-1"}]`},
			want: first.with(object{"external_refs": []any{refObject.with(object{"system": "crm", "kind": "deal", "ref": "D-1"})}}),
		},
		badForm("external_refs that are no array", map[string]string{"external_refs": "{}"}),
		badForm("a reference with a fault", map[string]string{"external_refs": `[{"system":"CRM!","kind":"deal","ref":"1"}]`}),
		{rule: "51 references", fields: map[string]string{"external_refs": manyRefs(51)}, status: 409, code: "conflict"},
		{rule: "50 references", fields: map[string]string{"external_refs": manyRefs(50)}, want: first.with(object{"external_refs": each{refObject}})},
	})
}

func manyRefs(n int) string {
	refs := make([]string, n)
	for i := range refs {
		refs[i] = fmt.Sprintf(`{"system":"crm","kind":"deal","ref":"%d"}`, i)
	}
	return "[" + strings.Join(refs, ",") + "]"
}

// contractOfCopies is the same file again, and what is no file.
func contractOfCopies(t *testing.T, ada *servertest.Client) {
	content := talk(1000)
	first := ada.Upload("first.wav", content, map[string]string{"title": "First"}).JSON(t)
	second := ada.Upload("second.wav", content, map[string]string{"title": "Second"})
	t.Run("a copy is taken, with a warning", func(t *testing.T) {
		expectForm(t, second, some{
			"title":             "Second",
			"duplicate_warning": object{"existing_recording_id": first["id"], "existing_title": "First", "existing_created_at": first["created_at"]},
			"duplicate_info": object{"total_copies": 2, "copies": []any{
				object{"id": first["id"], "title": "First", "created_at": naive, "is_self": false},
				object{"id": whole, "title": "Second", "created_at": naive, "is_self": true},
			}},
		})
	})
	for _, r := range []struct {
		rule, code string
		status     int
		answer     servertest.Answer
	}{
		{"no file", "invalid_parameter", 400, post(t, ada, fieldPart("title", "x"))},
		{"a file without a name", "invalid_parameter", 400, post(t, ada, filePart("", content))},
		{"a file as a plain field", "invalid_parameter", 400, post(t, ada, fieldPart("file", "x"))},
		{"a file that is no media (differs: 500)", "invalid_media", 400, ada.Upload("a.mp3", []byte("no music"), nil)},
		{"an empty file", "invalid_media", 400, ada.Upload("a.mp3", nil, nil)},
		{"GET is 405, not a recording", "method_not_allowed", 405, ada.Get("/api/v1/recordings/upload")},
		{"another kind of body", "unsupported_media_type", 415, ada.Send(http.MethodPost, "/api/v1/recordings/upload", object{})},
	} {
		t.Run(r.rule, func(t *testing.T) {
			if r.answer.Status != r.status {
				t.Errorf("got %v, want %d", r.answer, r.status)
			}
			expectForm(t, r.answer, object{"error": text, "code": r.code})
		})
	}
}

func contractOfReplays(t *testing.T, w *world) {
	ada, eve := w.account(t, "replay"), w.account(t, "replay.eve")
	content, other := talk(1), talk(2)
	key := map[string]string{"idempotency_key": " k ", "title": "First"}
	first := ada.Upload("talk.wav", content, key)
	id := recordingID(t, first.JSON(t))
	ada.AwaitStatus(id, time.Minute, "COMPLETED")
	replayed := uploadObject().with(object{
		"id": id, "title": "First", "status": "COMPLETED", "idempotent_replay": true, "completed_at": naive,
		"audio_duration": number, "processing_time_seconds": number, "transcription_duration_seconds": whole,
		"transcription": orNull{text},
	})
	expectForm(t, first, firstUpload().with(object{"title": "First"}))
	withHeader := func(client *servertest.Client, content []byte, header string) servertest.Answer {
		contentType, body := form(t, filePart("talk.wav", content))
		return client.Call(http.MethodPost, "/api/v1/recordings/upload", strings.NewReader(string(body)), http.Header{"Content-Type": {contentType}, "Idempotency-Key": {header}})
	}
	for _, r := range []struct {
		rule   string
		answer servertest.Answer
		status int
		want   any
	}{
		{"the key again, with other fields, is the recording as it is now", ada.Upload("again.wav", content, map[string]string{
			"idempotency_key": "k", "title": "Second", "strict": "true", "folder_id": "999999999",
		}), 200, replayed},
		{"the key in the header is the same key (differs: form only)", withHeader(ada, content, "k"), 200, replayed},
		{"the key with other bytes (differs: replayed)", ada.Upload("talk.wav", other, key), 422, object{"error": text, "code": "idempotency_key_reused"}},
		{
			"a key over 100 characters", ada.Upload("talk.wav", other, map[string]string{"idempotency_key": strings.Repeat("k", 101)}), 400,
			some{"code": "invalid_parameter"},
		},
		{"a key that a refused upload has borne is free", ada.Upload("talk.mp3", []byte("no music"), map[string]string{"idempotency_key": "free"}), 400, some{"code": "invalid_media"}},
		{"and makes a recording", ada.Upload("talk.wav", other, map[string]string{"idempotency_key": "free"}), 202, some{"ignored": some{}}},
		{"the key of another account", eve.Upload("talk.wav", other, key), 202, some{"ignored": some{}}},
		{"a blank key is none", ada.Upload("talk.wav", content, map[string]string{"idempotency_key": " "}), 202, some{"duplicate_warning": some{}}},
	} {
		t.Run(r.rule, func(t *testing.T) {
			if r.answer.Status != r.status {
				t.Errorf("got %v, want %d", r.answer, r.status)
			}
			expectForm(t, r.answer, r.want)
		})
	}
	t.Run("a key dies with its recording", func(t *testing.T) {
		ada.Send(http.MethodDelete, at("/api/v1/recordings/%d", id), nil)
		if again := ada.Upload("talk.wav", content, key); again.Status != http.StatusAccepted {
			t.Errorf("after the deletion: %v, want 202", again)
		}
	})
}
