package tests

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
)

func contractOfTranscribing(t *testing.T, w *world) {
	ada, eve := w.account(t, "transcribe"), w.account(t, "transcribe.eve")
	id, gone := finished(t, ada, map[string]string{"language": "de"}), finished(t, ada, nil)
	held := waiting(t, ada, map[string]string{"initial_prompt": "hold"})
	ada.AwaitStatus(held, time.Minute, "PROCESSING")
	ada.Send(http.MethodPut, at("/api/v1/recordings/%d/summary", id), object{"summary": "old"})
	ada.Send(http.MethodPost, at("/api/v1/recordings/%d/delete-audio", gone), nil)
	w.exec(t, fmt.Sprintf("INSERT INTO recording_events (recording_id, title, starts, attendees, created_at) "+
		"VALUES (%d, 'Review', '2026-03-04T15:30:00', '[]', '2026-03-04 00:00:00')", id))
	path := at("/api/v1/recordings/%d/transcribe", id)
	queued := object{"success": true, "job_id": whole, "status": "QUEUED", "message": text}
	bad := func(rule string, body any) row {
		return row{rule: rule, method: "POST", path: path, body: body, status: 400, code: "invalid_parameter"}
	}
	keeps(t, ada, []row{{rule: "there are results", path: at("/api/v1/recordings/%d", id), want: some{
		"transcription": text, "summary": "old", "events": []any{some{"title": "Review"}},
	}}})
	keeps(t, eve, []row{{rule: "another account's is 404 (differs: 403)", method: "POST", path: path, body: object{}, status: 404, code: "not_found"}})
	keeps(t, ada, []row{
		{rule: "no recording", method: "POST", path: "/api/v1/recordings/999999999/transcribe", body: object{}, status: 404, code: "not_found"},
		{rule: "the audio was removed", method: "POST", path: at("/api/v1/recordings/%d/transcribe", gone), body: object{}, status: 404, code: "not_found"},
		{rule: "it is being worked on", method: "POST", path: at("/api/v1/recordings/%d/transcribe", held), body: object{}, status: 400, code: "invalid_state"},
		bad("max_speakers over 100 (differs: no bound)", object{"max_speakers": 101}),
		bad("min_speakers above max_speakers (differs)", object{"min_speakers": 3, "max_speakers": 2}),
		bad("a language of the wrong kind", object{"language": 1}),
		bad("hotwords over 10,000 characters (differs)", object{"hotwords": strings.Repeat("é", 10_001)}),
		{
			rule: "queued, 200, the job's id a number; unknown members are ignored", method: "POST", path: path,
			body: object{"language": "", "hotwords": "watchword", "initial_prompt": "hold", "min_speakers": 1, "max_speakers": 2, "mood": "red"}, want: queued,
		},
		{rule: "transcript, summary and events are gone at once", path: at("/api/v1/recordings/%d", id), want: some{
			"transcription": nil, "summary": nil, "events": []any{}, "completed_at": nil,
		}},
		{rule: "and the transcript is 404 until there is one", path: at("/api/v1/recordings/%d/transcript", id), status: 404, code: "not_found"},
	})
	t.Run("an empty language asks for detection, hints go to the engine", func(t *testing.T) {
		ada.AwaitStatus(id, time.Minute, "PROCESSING")
		err := w.provider.Await(t.Context(), func(service *asrtest.Server) bool { return callWith(service, "watchword") != nil })
		if err != nil {
			t.Fatal(err)
		}
		if call := callWith(w.provider, "watchword"); call.Get("language") != "" || call.Get("max_speakers") != "2" {
			t.Errorf("the engine was asked with %v", call)
		}
	})
	t.Run("no body at all will do (differs: 415)", func(t *testing.T) {
		other := finished(t, ada, nil)
		answer := ada.Call(http.MethodPost, at("/api/v1/recordings/%d/transcribe", other), nil, nil)
		expectForm(t, answer, queued)
		ada.AwaitStatus(other, time.Minute, "COMPLETED")
	})
	contractOfKeys(t, w)
}

// callWith are the fields of the first call with these hotwords, nil when there was none.
func callWith(service *asrtest.Server, hotwords string) url.Values {
	for _, call := range service.Calls() {
		if call.Fields.Get("hotwords") == hotwords {
			return call.Fields
		}
	}
	return nil
}

// contractOfKeys is the Idempotency-Key of what costs, which the contract has not.
func contractOfKeys(t *testing.T, w *world) {
	ada := w.token(t, "transcribe")
	id, other := finished(t, ada, nil), finished(t, ada, nil)
	send := func(path, key string, body any) row {
		return row{method: "POST", path: path, body: body, header: http.Header{"Idempotency-Key": {key}}}
	}
	path := at("/api/v1/recordings/%d/transcribe", id)
	first := send(path, "k", object{"hotwords": "GDPR"}).send(t, ada)
	ada.AwaitStatus(id, time.Minute, "COMPLETED")
	again := send(path, "k", object{"hotwords": "GDPR"}).send(t, ada)
	if first.Status != http.StatusOK || again.Status != http.StatusOK || string(again.Body) != string(first.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("first %v, again %v", first, again)
	}
	if status := ada.Get(at("/api/v1/recordings/%d/status", id)).JSON(t)["status"]; status != "COMPLETED" {
		t.Errorf("after the repetition the recording is %v, want it to rest", status)
	}
	for name, r := range map[string]row{
		"another body":      send(path, "k", object{"hotwords": "HIPAA"}),
		"another recording": send(at("/api/v1/recordings/%d/transcribe", other), "k", object{"hotwords": "GDPR"}),
	} {
		if answer := r.send(t, ada); answer.Status != http.StatusUnprocessableEntity || answer.Code() != "idempotency_key_reused" {
			t.Errorf("the key with %s: %v, want 422 idempotency_key_reused", name, answer)
		}
	}
	batch := send("/api/v1/recordings/batch/transcribe", "b", object{"recording_ids": []int64{id, other}})
	one := batch.send(t, ada)
	ada.AwaitStatus(other, time.Minute, "COMPLETED")
	if two := batch.send(t, ada); one.Status != http.StatusOK || string(two.Body) != string(one.Body) {
		t.Errorf("a batch: %v, again %v", one, two)
	}
}
