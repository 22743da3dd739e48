package tests

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/jobstest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// writingWorld is a world with a scripted text model, in which recordings are summarized by themselves.
type writingWorld struct {
	*world
	model *llmtest.Server

	mu    sync.Mutex // guards gates
	gates map[string]chan struct{}
}

// hold answers no prompt with this text before resume is called. Sections share the model, so that none may pause it.
func (w *writingWorld) hold(text string) (resume func()) {
	gate := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gates[text] = gate
	return sync.OnceFunc(func() { close(gate) })
}

// write is what the model writes, when nothing holds it.
func (w *writingWorld) write(call llmtest.Call) llmtest.Reply {
	said := told(call)
	w.mu.Lock()
	gates := maps.Clone(w.gates)
	w.mu.Unlock()
	for text, gate := range gates {
		if strings.Contains(said, text) {
			<-gate
		}
	}
	return written(call, said)
}

// The caps tell the scripted model what it is asked for.
const summaryCap, chatCap, titleCap, eventCap = 801, 802, 203, 804

// maxInputChars is how much a request may say to the model.
const maxInputChars = 3000

// What a text model does with recordings, as the contract has it (newer 12 to 14 and 16; 2.6, 3.1.4, 4 and 9.6 of the
// older file): each row is sent to the built server on both databases. Where it answers otherwise the row says so.
func TestTheContractOfTextWork(t *testing.T) {
	t.Parallel()
	zones := map[string]string{"sqlite": "America/Los_Angeles", "postgres": "Asia/Tokyo"}
	for name, address := range jobstest.Migrated.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider, model := asrtest.New(t), llmtest.New(t)
			provider.Always(func(call asrtest.Call) asrtest.Reply {
				if call.Fields.Get("initial_prompt") != "mail" {
					return spoken(call)
				}
				return asrtest.Segments(asrtest.Segment{Start: 0, End: 2, Text: "The budget is 100% agreed. Write to cy@example.org."})
			})
			environment := quiet(t).With(lively).With(servertest.Environment{
				"DATABASE_URL": address(t), "SECRET_KEY": "0123456789abcdef0123456789abcdef", "TZ": zones[name],
				"ASR_BASE_URL": provider.ASRBaseURL(), "API_MAX_TOKENS_PER_USER": "0", "JOBS_MAX_CONCURRENT_PER_ORG": "100",
				"RECORDING_CHANGES_SETTLE_MILLISECONDS": "10", "AUTO_SUMMARIZATION": "true", "AI_MAX_INPUT_CHARS": "3000",
				"TEXT_MODEL_BASE_URL": model.BaseURL(), "TEXT_MODEL_API_KEY": "sk-test", "TEXT_MODEL_NAME": "scripted",
				"SUMMARY_MAX_TOKENS": "801", "CHAT_MAX_TOKENS": "802", "TITLE_MAX_TOKENS": "203", "EVENT_MAX_TOKENS": "804",
			})
			w := &writingWorld{world: &world{environment, servertest.Start(t, environment), provider}, model: model, gates: map[string]chan struct{}{}}
			model.Always(w.write)
			for _, section := range []struct {
				name string
				test func(*testing.T, *writingWorld)
			}{
				{"summaries by themselves", contractOfAutomaticSummaries},
				{"summarize", contractOfSummarizing},
				{"prompts", contractOfPrompts},
				{"summaries that fail", contractOfFailedSummaries},
				{"while it is summarized", contractOfSummarizingState},
				{"title", contractOfTitles},
				{"identify", contractOfIdentifying},
				{"assign", contractOfNewSummariesWithNames},
				{"chat", contractOfChats},
				{"sources", contractOfSources},
				{"preferences", contractOfPreferences},
				{"use", contractOfUse},
			} {
				t.Run(section.name, func(t *testing.T) {
					t.Parallel()
					section.test(t, w)
				})
			}
		})
	}
}

// told is all that a model was told.
func told(call llmtest.Call) string {
	var said strings.Builder
	for _, message := range call.Messages {
		said.WriteString(message.Content + "\n")
	}
	return said.String()
}

// written is what the model writes. "hold the line" in a prompt gets no answer, "say no" a refusal.
func written(call llmtest.Call, said string) llmtest.Reply {
	switch {
	case strings.Contains(said, "hold the line"):
		return llmtest.Reply{Hold: true}
	case strings.Contains(said, "say no"):
		return llmtest.Fails(http.StatusBadRequest)
	case call.Cap() == titleCap:
		return llmtest.Says("Title: \"The zebrafinch budget\"\n").Using(10, 5)
	case call.Cap() == eventCap && strings.Contains(said, "start_datetime"):
		return llmtest.Says(`{"events":[{"title":"Review","start_datetime":"2026-03-04T15:30:00+02:00","end_datetime":null,"description":null,"location":"Room 1",
			"attendees":["Ann","bob@example.org","Cy <cy@example.org>",7],"reminder_minutes":15},{"title":"without a time"}]}`).Using(10, 5)
	case call.Cap() == eventCap:
		return llmtest.Says(`{"SPEAKER_00":"Ann (chair), Ltd","SPEAKER_01":"unknown","SPEAKER_09":"Nobody"}`).Using(10, 5)
	case call.Cap() == chatCap && strings.Contains(said, "exact quote"):
		return llmtest.Says(`It is agreed [S2 "the BUDGET is  100%"]. Again [S2 "The budget is 100%"], greeted [S0 "Bye"], [S77 "x"] and [S1].`).Using(10, 5)
	case call.Cap() == chatCap:
		return llmtest.Says(`Agreed [S2 "The budget is 100%"].`).Using(10, 5)
	}
	return llmtest.Says("They agreed on the zebrafinch budget.").Using(10, 5)
}

// calls are those in which the model was told a text.
func (w *writingWorld) calls(text string) []llmtest.Call {
	return slices.DeleteFunc(w.model.Calls(), func(call llmtest.Call) bool { return !strings.Contains(told(call), text) })
}

// unsummarized is an account whose recordings are not summarized by themselves.
func (w *writingWorld) unsummarized(t *testing.T, name string) *servertest.Client {
	t.Helper()
	client := w.account(t, name)
	if answer := client.Send(http.MethodPut, "/api/v1/settings/auto-summarization", object{"enabled": false}); answer.Status != http.StatusOK {
		t.Fatal(answer)
	}
	return client
}

// announced are the data of a recording's events of one type, in their order.
func (w *writingWorld) announced(t *testing.T, recording int64, kind string) []any {
	t.Helper()
	db := modelstest.Open(t, w.environment["DATABASE_URL"], false)
	var rows []models.OutboxEvent
	if err := db.Read.Where("recording_id = ? AND type = ?", recording, kind).Order("id").Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	var data []any
	for _, row := range rows {
		var one any
		if err := json.Unmarshal([]byte(row.Data), &one); err != nil {
			t.Fatal(err)
		}
		data = append(data, one)
	}
	return data
}

// expectAnnounced compares them with their form.
func (w *writingWorld) expectAnnounced(t *testing.T, recording int64, kind string, want ...any) {
	t.Helper()
	for _, fault := range differences(kind, w.announced(t, recording, kind), append([]any{}, want...)) {
		t.Error(fault)
	}
}

// summaryTold is the data of recording.summary.completed.
var summaryTold = object{
	"recording_id": whole, "title": text, "updated_at": micro, "language": text, "audio_duration_seconds": number,
	"transcription_duration_seconds": whole, "summarization_duration_seconds": whole,
}

func contractOfAutomaticSummaries(t *testing.T, w *writingWorld) {
	ada := w.account(t, "automatic")
	ada.Send(http.MethodPatch, "/api/v1/settings/processing", object{"extract_events": true, "output_language": "Dutch", "summary_prompt": "Begin with {{customer}}{{nobody}}."})
	id := finished(t, ada, map[string]string{"prompt_variables": `{"customer":"Acme"}`, "meeting_date": "2026-03-02T10:00:00", "initial_prompt": "mail"})
	attendee := func(name, email any) object { return object{"name": name, "email": email} }
	event := object{
		"id": whole, "recording_id": id, "title": "Review", "start_datetime": "2026-03-04T15:30:00", "end_datetime": nil, "floating": true,
		"description": nil, "location": "Room 1", "reminder_minutes": 15, "created_at": naive,
		"attendees": []any{attendee("Ann", nil), attendee(nil, "bob@example.org"), attendee("Cy", "cy@example.org")},
	}
	item := listItem.with(object{
		"id": id, "status": "COMPLETED", "has_transcription": true, "has_summary": true, "title": "The zebrafinch budget",
		"completed_at": naive, "summarization_duration_seconds": whole, "transcription_duration_seconds": whole, "error_message": nil,
	})
	path := at("/api/v1/recordings/%d", id)
	follow(t, ada, "", id)
	keeps(t, ada, []row{
		{rule: "a placeholder gives way to a title; summary and events are there", path: path, want: some{
			"title": "The zebrafinch budget", "status": "COMPLETED", "summary": "They agreed on the zebrafinch budget.", "events": []any{event},
			"completed_at": naive, "summarization_duration_seconds": whole, "error_message": nil, "error_code": nil,
		}},
		{rule: "the summary alone", path: path + "/summary", want: object{"summary": "They agreed on the zebrafinch budget.", "has_summary": true}},
		{rule: "the events alone", path: path + "/events", want: object{"events": []any{event}}},
		{rule: "the list tells it", path: "/api/v1/recordings", want: some{"recordings": []any{item}}},
		{rule: "the feed tells it", path: "/api/v1/recordings/changes", want: some{"changes": []any{object{"type": "upsert", "recording": item}}}},
		{rule: "search finds it", path: "/api/v1/search?q=zebrafinch&fields=summary", want: some{"results": []any{some{"recording_id": id, "field": "summary"}}}},
		{rule: "the month has its tokens", path: "/api/v1/stats", want: some{"tokens": object{"used_this_month": 45, "budget": nil, "percentage": nil}}},
	})
	contractOfRequests(t, w)
	w.expectAnnounced(t, id, "recording.summary.completed", summaryTold.with(object{"recording_id": id, "title": "The zebrafinch budget"}))
	w.expectAnnounced(t, id, "recording.events.extracted", object{"recording_id": id, "title": text, "updated_at": micro, "events_count": 1})

	before := len(w.calls("Begin with ."))
	named, brief := finished(t, ada, map[string]string{"title": "Mine"}), finished(t, ada, map[string]string{"initial_prompt": "untimed"})
	keeps(t, ada, []row{
		{rule: "a title that a person gave stays", path: at("/api/v1/recordings/%d", named), want: some{"title": "Mine", "summary": text}},
		{rule: "too few words need no summary (differs: a placeholder)", path: at("/api/v1/recordings/%d", brief), want: some{"status": "COMPLETED", "summary": nil, "completed_at": naive}},
		{rule: "off", method: "PUT", path: "/api/v1/settings/auto-summarization", body: object{"enabled": false}, want: object{"success": true, "auto_summarization": false}},
	})
	silent := finished(t, ada, nil)
	keeps(t, ada, []row{{rule: "and no summary is made", path: at("/api/v1/recordings/%d", silent), want: some{"status": "COMPLETED", "summary": nil, "events": []any{}}}})
	if made := len(w.calls("Begin with .")) - before; made != 1 {
		t.Errorf("%d summaries were asked for, want one", made)
	}
}

// contractOfRequests is what the model of the first summary, title and appointments was sent (9.6 of the older file).
func contractOfRequests(t *testing.T, w *writingWorld) {
	t.Helper()
	if begun := w.calls("Begin with Acme."); len(begun) != 1 || begun[0].Cap() != summaryCap {
		t.Errorf("the account's prompt was in %d calls", len(begun))
	}
	seen := map[int64]llmtest.Call{}
	for _, call := range w.calls("Dutch") {
		seen[call.Cap()] = call
	}
	for most, temperature := range map[int64]float64{summaryCap: 0.5, titleCap: 0.7, eventCap: 0.2} {
		call := seen[most]
		var sent struct{ Stream bool }
		if err := json.Unmarshal(call.Body, &sent); err != nil {
			t.Fatalf("no call has the cap %d", most)
		}
		last := call.Messages[len(call.Messages)-1]
		if call.Path != "/v1/chat/completions" || call.Header.Get("Authorization") != "Bearer sk-test" || call.Model != "scripted" || sent.Stream ||
			call.Temperature == nil || *call.Temperature != temperature || call.JSON != (most == eventCap) ||
			call.Messages[0].Role != "system" || last.Role != "user" || !strings.Contains(last.Content, "The budget is 100% agreed.") {
			t.Errorf("with the cap %d the model was sent %s", most, call.Body)
		}
	}
}

func contractOfPreferences(t *testing.T, w *writingWorld) {
	ada, reader := w.account(t, "preferences"), w.token(t, "preferences", "read", "write", "process")
	preferences := func(prompt, language any, events, automatic bool) row {
		return row{rule: "the account shows it", path: "/api/v1/users/me", want: some{"preferences": some{
			"summary_prompt": prompt, "output_language": language, "extract_events": events, "auto_summarization": automatic,
		}}}
	}
	const path = "/api/v1/settings/processing"
	stands := func(prompt, language any, events bool) object {
		return object{"success": true, "summary_prompt": prompt, "output_language": language, "extract_events": events}
	}
	set := func(rule string, body, want any) row {
		return row{rule: rule, method: "PATCH", path: path, body: body, want: want}
	}
	bad := func(rule string, body any) row {
		return row{rule: rule, method: "PATCH", path: path, body: body, status: 400, code: "invalid_parameter", want: some{"error": text, "code": "invalid_parameter"}}
	}
	keeps(t, ada, []row{
		preferences(nil, nil, false, true),
		set("nothing changes nothing", object{}, stands(nil, nil, false)),
		set("one after the other", object{"summary_prompt": "Short."}, stands("Short.", nil, false)),
		set("what is left out stays", object{"output_language": "Dutch", "extract_events": true}, stands("Short.", "Dutch", true)),
		preferences("Short.", "Dutch", true, true),
		set("null is none", object{"summary_prompt": nil, "output_language": nil, "extract_events": false}, stands(nil, nil, false)),
		bad("a prompt over 10,000 characters", object{"summary_prompt": strings.Repeat("é", 10_001)}),
		bad("a language over 50", object{"output_language": strings.Repeat("é", 51)}),
		bad("events that are a word", object{"extract_events": "yes"}),
		preferences(nil, nil, false, true),
	})
	keeps(t, reader, []row{{
		rule: "the setting takes account", method: "PATCH", path: path, body: object{"extract_events": true}, status: 403, code: "insufficient_scope",
		want: object{"error": text, "code": "insufficient_scope", "required_scopes": []any{"account"}, "token_scopes": []any{"process", "read", "write"}},
	}})
}

// settled waits until a recording is no longer worked on, and checks how it ended.
func settled(t *testing.T, client *servertest.Client, id int64, status string) {
	t.Helper()
	if ended := client.AwaitStatus(id, time.Minute, "COMPLETED", "FAILED"); ended["status"] != status {
		t.Errorf("recording %d is %v, want %s", id, ended, status)
	}
}
