package v1_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// conversation is a recording of two voices.
func (s *site) conversation() int64 {
	id := s.recording("talk.wav", "prompt_variables", `{"who":"Ada"}`)
	s.complete(id, recordings.Segmented, "", segment(0, 2, "SPEAKER_00", "Shall we begin with the budget?"), segment(2, 4, "SPEAKER_01", "I send it out by Friday."))
	return id
}

func at(id int64, verb string) string { return fmt.Sprintf("/api/v1/recordings/%d/%s", id, verb) }

// Summarizing answers as transcribing does, also without a body, and the recording is SUMMARIZING without its old summary.
func TestSummarizeAnswers(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, body := range []string{"", `{}`, `{"custom_prompt":"In verse, {{who}}","prompt_mode":"append","prompt_variables":{"who":"Ada"},"unknown":1}`, `{"prompt_mode":"sideways","custom_prompt":null}`} {
		id := s.conversation()
		answer := s.expect(s.send("POST", at(id, "summarize"), body), http.StatusOK, "")
		keys(t, "answer", answer, "success job_id status message")
		if answer["success"] != true || answer["status"] != "QUEUED" || answer["job_id"].(float64) < 1 {
			t.Errorf("%s is answered %v", body, answer)
		}
		if shown := s.expect(s.get(at(id, "status")), http.StatusOK, ""); shown["status"] != "SUMMARIZING" {
			t.Errorf("the status is %v", shown)
		}
		s.expect(s.send("POST", at(id, "summarize"), ""), http.StatusBadRequest, "invalid_state")
	}
	id := s.conversation()
	for body, named := range map[string]string{
		`{"custom_prompt":"` + strings.Repeat("x", 10_001) + `"}`: "custom_prompt",
		`{"custom_prompt":7}`:                                            "custom_prompt",
		`{"prompt_variables":["x"]}`:                                     "prompt_variables",
		`{"prompt_variables":{"x":7}}`:                                   "prompt_variables",
		`{"prompt_variables":{"x":"` + strings.Repeat("x", 2001) + `"}}`: "prompt_variables.x",
		`{"custom_prompt":"a\u0000b"}`:                                   "custom_prompt",
	} {
		if refused := s.expect(s.send("POST", at(id, "summarize"), body), http.StatusBadRequest, "invalid_parameter"); !strings.Contains(refused["error"].(string), named) {
			t.Errorf("%.40s is refused by %v", body, refused)
		}
	}
	short := s.recording("short.wav")
	s.complete(short, recordings.Plain, "too short")
	s.expect(s.send("POST", at(short, "summarize"), ""), http.StatusBadRequest, "invalid_state")
	s.expect(s.send("POST", at(999, "summarize"), ""), http.StatusNotFound, "not_found")
}

// A question is answered with its sources in the contract's form.
func TestChatAnswers(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.conversation()
	s.model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Says(`By Friday [S1 "by friday"].`) })
	answer := s.expect(s.send("POST", at(id, "chat"), `{"message":"When?","with_sources":true,"conversation_history":null}`), http.StatusOK, "")
	keys(t, "answer", answer, "response sources left_out")
	source := answer["sources"].([]any)[0].(map[string]any)
	keys(t, "source", source, "n segment_index start_time end_time speaker quote verified")
	if answer["response"] != "By Friday [1]." || source["n"] != 1.0 || source["segment_index"] != 1.0 || source["start_time"] != 2.0 || source["verified"] != true || answer["left_out"] != nil {
		t.Errorf("the answer is %v", answer)
	}
	plain := s.expect(s.send("POST", at(id, "chat"), `{"message":"When?","conversation_history":[{"role":"user","content":"Hello"}]}`), http.StatusOK, "")
	if list, ok := plain["sources"].([]any); !ok || len(list) != 0 {
		t.Errorf("without sources the answer is %v", plain)
	}
	before := len(s.model.Calls())
	for body, want := range map[string]struct {
		status int
		code   string
	}{
		`{}`:                                   {http.StatusBadRequest, "invalid_parameter"},
		`{"message":""}`:                       {http.StatusBadRequest, "invalid_parameter"},
		`{"message":7}`:                        {http.StatusBadRequest, "invalid_parameter"},
		`{"message":"x","with_sources":"yes"}`: {http.StatusBadRequest, "invalid_parameter"},
		`{"message":"x","conversation_history":[{"role":"system","content":"x"}]}`:      {http.StatusBadRequest, "invalid_parameter"},
		`{"message":"x","conversation_history":[null]}`:                                 {http.StatusBadRequest, "invalid_parameter"},
		`{"message":"x","conversation_history":[` + strings.Repeat(`{},`, 200) + `{}]}`: {http.StatusRequestEntityTooLarge, "payload_too_large"},
		`{"message":"` + strings.Repeat("x", 20_001) + `"}`:                             {http.StatusRequestEntityTooLarge, "payload_too_large"},
	} {
		s.expect(s.send("POST", at(id, "chat"), body), want.status, want.code)
	}
	// Access comes before all else that a readable body can lack, and so does the transcript.
	s.expect(s.send("POST", at(999, "chat"), `{}`), http.StatusNotFound, "not_found")
	s.expect(s.send("POST", at(s.recording("fresh.wav"), "chat"), `{}`), http.StatusBadRequest, "invalid_state")
	s.setBudget(budgets.Subject{OrganizationID: s.user.OrganizationID}, budgets.SetMicros(new(int64(10))))
	refused := s.expect(s.send("POST", at(id, "chat"), `{"message":"x"}`), http.StatusPaymentRequired, "budget_exceeded")
	if refused["budget"] == nil || refused["resets_at"] == nil || len(s.model.Calls()) != before {
		t.Errorf("the refusal is %v after %d calls", refused, len(s.model.Calls())-before)
	}
}

// A model's failure has its own statuses.
func TestModelFailuresAnswer(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.conversation()
	s.model.Script(llmtest.Fails(http.StatusForbidden), llmtest.Busy(3))
	s.expect(s.send("POST", at(id, "chat"), `{"message":"x"}`), http.StatusBadGateway, "provider_failed")
	busy := s.send("POST", at(id, "chat"), `{"message":"x"}`)
	s.expect(busy, http.StatusServiceUnavailable, "provider_unavailable")
	if busy.Header.Get("Retry-After") == "" || strings.Contains(string(busy.body), "SECRET") {
		t.Errorf("the answer is %v %s", busy.Header, busy.body)
	}
}

// A title's answer has the recording in the form of an upload's, with its variables and transcript.
func TestRegenerateTitleAnswers(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.conversation()
	s.model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Says("The budget") })
	answer := s.expect(s.send("POST", at(id, "regenerate_title"), ""), http.StatusOK, "")
	keys(t, "answer", answer, "success title recording")
	recording := answer["recording"].(map[string]any)
	if answer["title"] != "The budget" || recording["title"] != "The budget" || !strings.Contains(fmt.Sprint(recording["transcription"]), "Friday") || fmt.Sprint(recording["prompt_variables"]) != "map[who:Ada]" {
		t.Errorf("the answer is %v", answer)
	}
	for _, gone := range []string{"ignored", "idempotent_replay"} {
		if _, there := recording[gone]; there {
			t.Errorf("the recording has %q", gone)
		}
	}
}

// Speakers are suggested under their labels; assigning them with a new summary needs the scope process besides, before
// anything changes.
func TestIdentifyAndAssignAnswers(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.conversation()
	s.model.Script(llmtest.Says(`{"SPEAKER_01":"Grace"}`))
	answer := s.expect(s.send("POST", at(id, "speakers/identify"), ""), http.StatusOK, "")
	keys(t, "answer", answer, "success speaker_map left_out")
	if fmt.Sprint(answer["speaker_map"]) != "map[SPEAKER_00: SPEAKER_01:Grace]" {
		t.Errorf("the answer is %v", answer)
	}
	body := `{"speaker_map":{"SPEAKER_01":"Grace"},"regenerate_summary":true}`
	refused := s.expect(s.send("PUT", at(id, "speakers/assign"), body, "Authorization", "Bearer "+s.mint(s.user, "read write")), http.StatusForbidden, "insufficient_scope")
	if fmt.Sprint(refused["required_scopes"]) != "[process write]" {
		t.Errorf("the refusal is %v", refused)
	}
	var named int64
	if err := s.db.Read.Model(&models.Speaker{}).Count(&named).Error; err != nil || named != 0 {
		t.Errorf("the refusal left %d speakers, %v", named, err)
	}
	// Money refuses nothing here.
	s.setBudget(budgets.Subject{OrganizationID: s.user.OrganizationID}, budgets.SetMicros(new(int64(0))))
	answer = s.expect(s.send("PUT", at(id, "speakers/assign"), body), http.StatusOK, "")
	if answer["summary_queued"] != true || answer["recording"].(map[string]any)["status"] != "COMPLETED" {
		t.Errorf("the answer is %v", answer)
	}
}

// How recordings are worked on is kept, field by field, and shown with the account.
func TestProcessingSettings(t *testing.T) {
	t.Parallel()
	s := open(t)
	const path = "/api/v1/settings/processing"
	answer := s.expect(s.send("PATCH", path, `{"summary_prompt":" Be brief. ","output_language":"Dutch","extract_events":true}`), http.StatusOK, "")
	keys(t, "answer", answer, "success summary_prompt output_language extract_events")
	answer = s.expect(s.send("PATCH", path, `{"output_language":null}`), http.StatusOK, "")
	preferences := s.expect(s.get("/api/v1/users/me"), http.StatusOK, "")["preferences"].(map[string]any)
	for _, shown := range []map[string]any{answer, preferences} {
		if shown["summary_prompt"] != "Be brief." || shown["output_language"] != nil || shown["extract_events"] != true {
			t.Errorf("it is shown as %v", shown)
		}
	}
	for _, body := range []string{
		`{"summary_prompt":"` + strings.Repeat("x", 10_001) + `"}`, `{"output_language":"` + strings.Repeat("x", 51) + `"}`,
		`{"extract_events":"yes"}`, `{"summary_prompt":"a\u0000b"}`,
	} {
		s.expect(s.send("PATCH", path, body), http.StatusBadRequest, "invalid_parameter")
	}
	s.expect(s.send("PATCH", path, `{}`, "Authorization", "Bearer "+s.mint(s.user, "write")), http.StatusForbidden, "insufficient_scope")
}
