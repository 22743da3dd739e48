package tests

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/llmtest"
)

func contractOfSummarizing(t *testing.T, w *writingWorld) {
	ada, eve := w.unsummarized(t, "summarize"), w.account(t, "summarize.eve")
	id, brief := finished(t, ada, map[string]string{"title": "Talk"}), finished(t, ada, map[string]string{"initial_prompt": "untimed"})
	deaf := finished(t, ada, map[string]string{"initial_prompt": "fail"})
	held := waiting(t, ada, map[string]string{"initial_prompt": "hold"})
	ada.AwaitStatus(held, time.Minute, "PROCESSING")
	ada.Send(http.MethodPut, at("/api/v1/recordings/%d/summary", id), object{"summary": "old"})
	w.exec(t, fmt.Sprintf("INSERT INTO recording_events (recording_id, title, starts, attendees, created_at) "+
		"VALUES (%d, 'Old', '2026-03-04T15:30:00', '[]', '2026-03-04 00:00:00')", id))
	path := at("/api/v1/recordings/%d/summarize", id)
	post := func(rule, path string, body any, status int, code string) row {
		r := row{rule: rule, method: "POST", path: path, body: body, status: status, code: code}
		if code == "invalid_parameter" || code == "payload_too_large" {
			r.want = some{"error": text, "code": code} // and the bound
		}
		return r
	}
	variables := object{}
	for i := range 51 {
		variables[fmt.Sprintf("v%d", i)] = ""
	}
	keeps(t, eve, []row{post("another account's is 404 (differs: 403)", path, object{}, 404, "not_found")})
	keeps(t, w.token(t, "summarize", "read", "write"), []row{{
		rule: "it takes process", method: "POST", path: path, body: object{}, status: 403, code: "insufficient_scope",
		want: object{"error": text, "code": "insufficient_scope", "required_scopes": []any{"process"}, "token_scopes": []any{"read", "write"}},
	}})
	keeps(t, ada, []row{
		post("no recording", "/api/v1/recordings/999999999/summarize", object{}, 404, "not_found"),
		post("fewer than ten characters", at("/api/v1/recordings/%d/summarize", brief), object{}, 400, "invalid_state"),
		post("a failed transcription", at("/api/v1/recordings/%d/summarize", deaf), object{}, 400, "invalid_state"),
		post("while it is transcribed", at("/api/v1/recordings/%d/summarize", held), object{}, 400, "invalid_state"),
		post("a prompt of the wrong kind", path, object{"custom_prompt": 1}, 400, "invalid_parameter"),
		post("a prompt over 10,000 characters (differs: no bound)", path, object{"custom_prompt": strings.Repeat("é", 10_001)}, 400, "invalid_parameter"),
		post("a prompt over the bound of input (differs)", path, object{"custom_prompt": strings.Repeat("é", maxInputChars+1)}, 413, "payload_too_large"),
		post("variables that are no object", path, object{"prompt_variables": []any{}}, 400, "invalid_parameter"),
		post("a variable that is no text", path, object{"prompt_variables": object{"a": 1}}, 400, "invalid_parameter"),
		post("51 variables", path, object{"prompt_variables": variables}, 400, "invalid_parameter"),
		post("a variable over 2,000 characters", path, object{"prompt_variables": object{"a": strings.Repeat("é", 2001)}}, 400, "invalid_parameter"),
		post("a body that is a list", path, []any{}, 400, "bad_request"),
		post("no JSON", path, "{", 400, "bad_request"),
		{rule: "another kind of body", method: "POST", path: path, body: "a=b", header: http.Header{"Content-Type": {"text/plain"}}, status: 415, code: "unsupported_media_type"},
		{rule: "nothing of that changed it", path: at("/api/v1/recordings/%d", id), want: some{"status": "COMPLETED", "summary": "old", "events": []any{some{"title": "Old"}}}},
		{rule: "GET is 405", path: path, status: 405, code: "method_not_allowed"},
	})
	resume := w.hold("Wait for me.")
	defer resume()
	keeps(t, ada, []row{
		{
			rule: "queued, 200, the job's id a number; unknown members are ignored", method: "POST", path: path,
			body: object{"custom_prompt": "Wait for me.", "prompt_mode": "sideways", "prompt_variables": nil, "mood": "red"},
			want: object{"success": true, "job_id": whole, "status": "QUEUED", "message": text},
		},
		{rule: "summary and events are gone at once", path: at("/api/v1/recordings/%d", id), want: some{
			"status": "SUMMARIZING", "summary": nil, "events": []any{}, "completed_at": nil, "transcription": text, "title": "Talk",
		}},
	})
	resume()
	settled(t, ada, id, "COMPLETED")
	keeps(t, ada, []row{
		{rule: "the new one", path: at("/api/v1/recordings/%d", id), want: some{"summary": "They agreed on the zebrafinch budget.", "title": "Talk", "completed_at": naive}},
		{rule: "no body at all will do (differs: 415)", method: "POST", path: path, want: some{"success": true}},
	})
	settled(t, ada, id, "COMPLETED")
	w.expectAnnounced(t, id, "recording.summary.completed", summaryTold, summaryTold)
}

// contractOfPrompts is who says what a summary is to be: the request, tags, folder, in this order.
func contractOfPrompts(t *testing.T, w *writingWorld) {
	ada := w.unsummarized(t, "prompts")
	folder := recordingID(t, ada.Send(http.MethodPost, "/api/v1/folders", object{"name": "Work", "custom_prompt": "By the folder."}).JSON(t))
	tag := recordingID(t, ada.Send(http.MethodPost, "/api/v1/tags", object{"name": "urgent", "custom_prompt": "By the tag for {{who}}."}).JSON(t))
	id := finished(t, ada, map[string]string{
		"title": "Talk", "folder_id": fmt.Sprint(folder), "tag_id": fmt.Sprint(tag), "prompt_variables": `{"who":"Ann","what":"bees"}`,
	})
	for _, c := range []struct {
		rule      string
		body      object
		has, lack []string
	}{
		{"the tags go before the folder", object{}, []string{"By the tag for Ann."}, []string{"By the folder."}},
		{"the request's variables go before the upload's", object{"prompt_variables": object{"who": "Zoe"}}, []string{"By the tag for Zoe."}, nil},
		{"the request's prompt replaces them", object{"custom_prompt": "On {{what}} and {{nothing}}."}, []string{"On bees and ."}, []string{"By the tag"}},
		{"an unknown mode is replace", object{"custom_prompt": "Only this.", "prompt_mode": "merge"}, []string{"Only this."}, []string{"By the tag"}},
		{"append puts it behind", object{"custom_prompt": "And this.", "prompt_mode": "append"}, []string{"By the tag for Ann.\n\nAnd this."}, nil},
		{"a blank prompt says nothing", object{"custom_prompt": " "}, []string{"By the tag for Ann."}, nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if answer := ada.Send(http.MethodPost, at("/api/v1/recordings/%d/summarize", id), c.body); answer.Status != http.StatusOK {
				t.Fatal(answer)
			}
			settled(t, ada, id, "COMPLETED")
			calls := w.calls(c.has[0])
			if len(calls) == 0 {
				t.Fatalf("the model was not told %q", c.has[0])
			}
			for _, text := range c.lack {
				if strings.Contains(told(calls[len(calls)-1]), text) {
					t.Errorf("the model was told %q", text)
				}
			}
		})
	}
}

func contractOfFailedSummaries(t *testing.T, w *writingWorld) {
	ada := w.unsummarized(t, "failing")
	id := finished(t, ada, map[string]string{"title": "Talk"})
	path := at("/api/v1/recordings/%d", id)
	ours := kind{"a reason in our words", func(v any) bool {
		said, _ := v.(string)
		return said != "" && !strings.Contains(said, "PROVIDER-SECRET") && !strings.Contains(said, "sk-")
	}}
	keeps(t, ada, []row{{rule: "queued", method: "POST", path: path + "/summarize", body: object{"custom_prompt": "say no"}, want: some{"success": true}}})
	settled(t, ada, id, "FAILED")
	keeps(t, ada, []row{
		{rule: "the reason is no summary (differs), and the transcript stays", path: path, want: some{
			"status": "FAILED", "summary": nil, "transcription": text, "error_message": ours, "error_code": text, "completed_at": nil,
		}},
		{rule: "the status tells it (differs: null)", path: path + "/status", want: object{
			"id": id, "status": "FAILED", "queue_position": nil, "error_message": ours, "error_code": text, "completed_at": nil,
		}},
		{rule: "the list tells it", path: "/api/v1/recordings?status=failed", want: listOf(id)},
		{rule: "the transcript is read", path: path + "/transcript", want: some{"segments": each{some{"sentence": text}}}},
		{rule: "no summary", path: path + "/summary", want: object{"summary": nil, "has_summary": false}},
		{rule: "questions are answered", method: "POST", path: path + "/chat", body: object{"message": "What?"}, want: some{"response": text}},
		{rule: "it is asked for again", method: "POST", path: path + "/summarize", body: object{}, want: some{"success": true}},
	})
	settled(t, ada, id, "COMPLETED")
	keeps(t, ada, []row{{rule: "and is there", path: path, want: some{"summary": text, "error_message": nil, "error_code": nil, "completed_at": naive}}})
	w.expectAnnounced(t, id, "recording.summary.failed", object{"recording_id": id, "title": "Talk", "updated_at": micro, "error": ours})
	w.expectAnnounced(t, id, "recording.summary.completed", summaryTold)
	w.expectAnnounced(t, id, "recording.updated")
}

// contractOfSummarizingState is what can be done with a recording that is being summarized (4 of the older file).
func contractOfSummarizingState(t *testing.T, w *writingWorld) {
	ada := w.unsummarized(t, "state")
	id := finished(t, ada, map[string]string{"title": "Talk"})
	path := at("/api/v1/recordings/%d", id)
	keeps(t, ada, []row{{rule: "queued", method: "POST", path: path + "/summarize", body: object{"custom_prompt": "hold the line"}, want: some{"success": true}}})
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.model.Await(patience, func(*llmtest.Server) bool { return len(w.calls("hold the line")) == 1 }); err != nil {
		t.Fatal(err)
	}
	keeps(t, ada, []row{
		{rule: "SUMMARIZING", path: path + "/status", want: object{
			"id": id, "status": "SUMMARIZING", "queue_position": nil, "error_message": nil, "error_code": nil, "completed_at": nil,
		}},
		{rule: "it counts as processing", path: "/api/v1/stats", want: some{"recordings": some{"total": 1, "processing": 1, "pending": 0}}},
		{rule: "and is listed so", path: "/api/v1/recordings?status=processing", want: listOf(id)},
		{rule: "a second summary", method: "POST", path: path + "/summarize", body: object{}, status: 400, code: "invalid_state"},
		{rule: "a transcription", method: "POST", path: path + "/transcribe", body: object{}, status: 400, code: "invalid_state"},
		{rule: "a question", method: "POST", path: path + "/chat", body: object{"message": "What?"}, want: some{"response": text}},
		{rule: "a change", method: "PATCH", path: path, body: object{"title": "Other"}, want: some{"success": true}},
		{rule: "names", method: "PUT", path: path + "/speakers/assign", body: object{"speaker_map": object{"SPEAKER_00": "Ann"}, "regenerate_summary": true}, want: some{
			"summary_queued": false, "recording": some{"status": "SUMMARIZING", "participants": "Ann"},
		}},
		{rule: "the transcript", path: path + "/transcript", want: some{"segments": each{some{"sentence": text}}}},
	})
	aborted := w.model.Aborted()
	keeps(t, ada, []row{
		{rule: "it is deleted in this state too", method: "DELETE", path: path, want: some{"success": true}},
		{rule: "and gone", path: path, status: 404, code: "not_found"},
	})
	if err := w.model.Await(patience, func(s *llmtest.Server) bool { return s.Aborted() > aborted }); err != nil {
		t.Errorf("the model is asked on: %v", err)
	}
}
