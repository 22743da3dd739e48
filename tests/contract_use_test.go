package tests

import (
	"net/http"
	"testing"

	"github.com/stenometer/stenometer/tests/servertest"
)

// contractOfUse is how tokens and audio of a month are counted and bounded (3.10 and 8 of the older file).
func contractOfUse(t *testing.T, w *writingWorld) {
	ada := w.account(t, "use")
	id := finished(t, ada, nil)
	bound := func(arguments ...string) {
		servertest.Prepare(t, w.environment, "", append([]string{"budget", "set", "--user", "use@example.org"}, arguments...)...)
	}
	audio := object{
		"used_this_month_seconds": 3, "used_this_month_minutes": 0, "budget_seconds": nil, "budget_minutes": nil, "percentage": nil, "estimated_cost": 0,
	}
	stats := func(rule string, tokens, transcription object) row {
		return row{rule: rule, path: "/api/v1/stats", want: some{"tokens": tokens, "transcription": transcription}}
	}
	keeps(t, ada, []row{stats("a summary and a title of fifteen tokens each", object{"used_this_month": 30, "budget": nil, "percentage": nil}, audio)})
	bound("--tokens", "90", "--transcription-seconds", "125")
	keeps(t, ada, []row{stats("percentages have one decimal, minutes are whole", object{"used_this_month": 30, "budget": 90, "percentage": 33.3},
		audio.with(object{"budget_seconds": 125, "budget_minutes": 2, "percentage": 2.4}))})
	bound("--tokens", "20")
	path := at("/api/v1/recordings/%d", id)
	refused := object{
		"error": text, "code": "budget_exceeded", "spent": 30, "held": 0, "budget": 20, "unit": "tokens", "scope": "account",
		"resets_at": pattern("a UTC time to the second", `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`),
	}
	start := func(rule, tail string, body any) row {
		return row{rule: rule + " (differs: 500, or 200 and not counted)", method: http.MethodPost, path: path + tail, body: body, status: 402, code: "budget_exceeded", want: refused}
	}
	keeps(t, ada, []row{
		stats("more than all of it", object{"used_this_month": 30, "budget": 20, "percentage": 150}, audio.with(object{"budget_seconds": 125, "budget_minutes": 2, "percentage": 2.4})),
		start("summarize", "/summarize", object{}),
		start("title", "/regenerate_title", nil),
		start("names", "/speakers/identify", nil),
		start("a question", "/chat", object{"message": "What?"}),
		{rule: "nothing has changed", path: path, want: some{"status": "COMPLETED", "summary": text, "title": text}},
		{rule: "names are assigned all the same", method: http.MethodPut, path: path + "/speakers/assign", body: object{"speaker_map": object{"SPEAKER_00": "Ann"}}, want: some{"success": true}},
	})
	unpaid := finished(t, ada, map[string]string{"title": "Other"})
	keeps(t, ada, []row{{rule: "a summary that would follow fails, and the transcript stays (differs: its error is the summary)", path: at("/api/v1/recordings/%d", unpaid), want: some{
		"status": "FAILED", "error_code": "budget_exceeded", "error_message": text, "summary": nil, "transcription": text,
	}}})
	w.expectAnnounced(t, unpaid, "recording.summary.failed", object{"recording_id": unpaid, "title": "Other", "updated_at": micro, "error": text})
}
