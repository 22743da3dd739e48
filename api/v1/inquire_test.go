package v1_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/tests/llmtest"
)

const inquire = "/api/v1/inquire"

// A question about many recordings is answered in the contract's form, whether or not there is anything to search.
func TestInquireAnswers(t *testing.T) {
	t.Parallel()
	s := open(t)
	nothing := s.expect(s.send("POST", inquire, `{"question":"When?","stream":0}`), http.StatusOK, "")
	keys(t, "answer", nothing, "answer citations mode_used steps usage")
	if list, ok := nothing["citations"].([]any); !ok || len(list) != 0 || nothing["mode_used"] != "rag" || nothing["steps"] != 0.0 || nothing["usage"] != nil || !strings.HasPrefix(nothing["answer"].(string), "There is nothing to search") {
		t.Errorf("with nothing to search the answer is %v", nothing)
	}
	id := s.conversation()
	s.model.Always(func(call llmtest.Call) llmtest.Reply {
		_, from, _ := strings.Cut(call.Messages[1].Content, "](")
		address, _, _ := strings.Cut(from, ")")
		return llmtest.Says("By Friday [talk](" + address + ").")
	})
	for _, filters := range []string{
		`{}`, `null`, `{"recording_ids":[]}`, `{"recording_ids":null,"tag_ids":null,"speakers":null,"date_from":null,"date_to":""}`,
		fmt.Sprintf(`{"recording_ids":["%d","x",true,{},1.5]}`, id), `{"speakers":["speaker_01"]}`, `{"date_from":"2020-01-01T00:00:00Z","unknown":1}`,
	} {
		answer := s.expect(s.send("POST", inquire, `{"question":"When is the budget sent?","mode":"auto","scope":"all","history":null,"filters":`+filters+`}`), http.StatusOK, "")
		list := answer["citations"].([]any)
		if answer["answer"] != "By Friday [1]." || len(list) != 1 {
			t.Fatalf("with %s the answer is %v", filters, answer)
		}
		cited := list[0].(map[string]any)
		keys(t, "citation", cited, "n recording_id title start_time quote url")
		if cited["n"] != 1.0 || cited["recording_id"] != float64(id) || cited["quote"] != nil || cited["url"] != fmt.Sprintf("/recordings/%d?t=%v", id, cited["start_time"]) {
			t.Errorf("cited is %v", cited)
		}
	}
	before := len(s.model.Calls())
	for _, filters := range []string{`{"recording_ids":["x"]}`, `{"recording_ids":[999]}`, `{"tag_ids":[1]}`, `{"date_to":"2020-01-01"}`} {
		if answer := s.expect(s.send("POST", inquire, `{"question":"When?","filters":`+filters+`}`), http.StatusOK, ""); len(s.model.Calls()) != before || !strings.HasPrefix(answer["answer"].(string), "There is nothing") {
			t.Errorf("with %s the answer is %v", filters, answer)
		}
	}
	if shown := s.expect(s.get("/api/v1/capabilities"), http.StatusOK, "")["features"].(map[string]any)["inquire"].(map[string]any); shown["enabled"] != true || shown["agent"] != false {
		t.Errorf("the features are %v", shown)
	}
	s.model.Script(llmtest.Fails(400))
	s.expect(s.send("POST", inquire, `{"question":"When?"}`), http.StatusBadGateway, "inquire_failed")
	s.model.Script(llmtest.Busy(60))
	s.expect(s.send("POST", inquire, `{"question":"When?"}`), http.StatusServiceUnavailable, "provider_unavailable")
}

// A question that makes no sense is refused by the name of what is wrong with it; no model is asked.
func TestInquireRefusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.conversation()
	list := func(member string, count int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(member+",", count), ",") + "]"
	}
	for body, want := range map[string]struct {
		status int
		code   string
		named  string
	}{
		`{}`:                                             {400, "invalid_parameter", "question"},
		`{"question":" "}`:                               {400, "invalid_parameter", "question"},
		`{"question":7}`:                                 {400, "invalid_parameter", "question"},
		`{"question":"x","mode":"magic"}`:                {400, "invalid_parameter", "mode"},
		`{"question":"x","mode":"agent"}`:                {403, "feature_disabled", "mode"},
		`{"question":"x","scope":"theirs"}`:              {400, "invalid_parameter", "scope"},
		`{"question":"x","filters":[]}`:                  {400, "invalid_parameter", "filters"},
		`{"question":"x","filters":{"recording_ids":7}}`: {400, "invalid_parameter", "recording_ids"},
		`{"question":"x","filters":{"recording_ids":` + list("1", 1001) + `}}`:         {400, "invalid_parameter", "filters.recording_ids"},
		`{"question":"x","filters":{"tag_ids":["x"]}}`:                                 {400, "invalid_parameter", "tag_ids"},
		`{"question":"x","filters":{"tag_ids":` + list("1", 101) + `}}`:                {400, "invalid_parameter", "filters.tag_ids"},
		`{"question":"x","filters":{"speakers":` + list(`"a"`, 101) + `}}`:             {400, "invalid_parameter", "filters.speakers"},
		`{"question":"x","filters":{"speakers":["` + strings.Repeat("a", 201) + `"]}}`: {400, "invalid_parameter", "filters.speakers"},
		`{"question":"x","filters":{"speakers":["a\u0000"]}}`:                          {400, "invalid_parameter", "filters.speakers"},
		`{"question":"x","filters":{"date_from":"soon"}}`:                              {400, "invalid_parameter", "filters.date_from"},
		`{"question":"x","filters":{"date_to":"2026-13-01"}}`:                          {400, "invalid_parameter", "filters.date_to"},
		`{"question":"x","stream":{}}`:                                                 {400, "invalid_parameter", "stream"},
		`{"question":"x","history":[{"role":"system","content":"x"}]}`:                 {400, "invalid_parameter", "history[0].role"},
		`{"question":"x","history":` + list(`{"role":"user","content":""}`, 201) + `}`: {413, "payload_too_large", "history"},
		`{"question":"` + strings.Repeat("x", 20_001) + `"}`:                           {413, "payload_too_large", "20000"},
	} {
		refused := s.expect(s.send("POST", inquire, body), want.status, want.code)
		if !strings.Contains(refused["error"].(string), want.named) {
			t.Errorf("%.60s is refused by %v", body, refused)
		}
	}
	if calls := len(s.model.Calls()); calls != 0 {
		t.Errorf("%d calls", calls)
	}
	blind := s.mint(s.user, "process")
	answer := s.expect(s.send("POST", inquire, `{"question":"When?"}`, "Authorization", "Bearer "+blind), http.StatusOK, "")
	if answer["answer"] != nil || len(s.model.Calls()) != 0 {
		t.Errorf("who may not read is told %v", answer)
	}
	var held int64
	if err := s.db.Read.Model(&models.LedgerEntry{}).Count(&held).Error; err != nil || held != 0 {
		t.Errorf("%d ledger entries, %v", held, err)
	}
}
