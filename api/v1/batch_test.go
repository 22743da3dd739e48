package v1_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const batchPath = "/api/v1/recordings/batch"

func TestBatchForms(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b := s.recording("a.wav"), s.recording("b.wav")
	s.complete(a, "segments", "")
	ids := fmt.Sprintf(`"recording_ids":[%d,424242,%d,%d]`, b, a, b)
	body := s.expect(s.send("PATCH", batchPath, `{`+ids+`,"updates":{"is_archived":true,"is_inbox":null,"other":1}}`), 200, "")
	keys(t, "answer", body, "success updated failed results")
	results := body["results"].([]any)
	keys(t, "success", results[0].(map[string]any), "id success")
	keys(t, "failure", results[1].(map[string]any), "id success error")
	if body["success"] != true || body["updated"] != 2.0 || body["failed"] != 1.0 || len(results) != 3 || results[0].(map[string]any)["id"] != float64(b) {
		t.Errorf("the answer is %v", body)
	}
	if shown := s.expect(s.get(fmt.Sprintf("/api/v1/recordings/%d", a)), 200, ""); shown["is_archived"] != true || shown["is_inbox"] != false {
		t.Errorf("a became %v", shown)
	}
	if body = s.expect(s.send("PATCH", batchPath, `{`+ids+`}`), 200, ""); body["updated"] != 2.0 {
		t.Errorf("without updates: %v", body)
	}
	body = s.expect(s.send("POST", batchPath+"/transcribe", `{`+ids+`}`), 200, "")
	keys(t, "answer", body, "success queued failed results")
	last := body["results"].([]any)[2].(map[string]any)
	keys(t, "queued", last, "id success job_id")
	if body["queued"] != 1.0 || body["failed"] != 2.0 || last["id"] != float64(a) || last["job_id"].(float64) < 1 {
		t.Errorf("the answer is %v", body)
	}
	body = s.expect(s.send("DELETE", batchPath, `{`+ids+`}`), 200, "")
	keys(t, "answer", body, "success deleted failed results")
	if body["deleted"] != 2.0 || body["failed"] != 1.0 {
		t.Errorf("the answer is %v", body)
	}
	if list := s.expect(s.get("/api/v1/recordings"), 200, "")["recordings"].([]any); len(list) != 0 {
		t.Errorf("%d recordings are left", len(list))
	}
}

func TestBatchRefusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	s.expect(s.get(batchPath), 405, "method_not_allowed")
	for _, route := range [][2]string{{"PATCH", ""}, {"DELETE", ""}, {"POST", "/transcribe"}} {
		for _, body := range []string{
			`{}`, `{"recording_ids":[]}`, `{"recording_ids":null}`, `{"recording_ids":1}`, `{"recording_ids":"12"}`, `{"recording_ids":[true]}`,
			`{"recording_ids":["1"]}`, `{"recording_ids":[1.5]}`, `{"recording_ids":[9223372036854775808]}`, `{"recording_ids":{"0":1}}`,
		} {
			told := s.expect(s.send(route[0], batchPath+route[1], body), 400, "invalid_parameter")
			if !strings.Contains(told["error"].(string), "recording_ids") {
				t.Errorf("%s is told as %q", body, told["error"])
			}
		}
		for _, body := range []string{``, `[]`, `null`, `{`} {
			s.expect(s.send(route[0], batchPath+route[1], body), 400, "bad_request")
		}
		many := make([]int64, 1001)
		for i := range many {
			many[i] = id + int64(i)
		}
		encoded, err := json.Marshal(map[string]any{"recording_ids": many})
		if err != nil {
			t.Fatal(err)
		}
		told := s.expect(s.send(route[0], batchPath+route[1], string(encoded)), 413, "payload_too_large")
		if told["max_ids"] != 1000.0 {
			t.Errorf("the refusal is %v", told)
		}
	}
	for updates, code := range map[string]string{
		`null`: "invalid_parameter", `[]`: "invalid_parameter", `{"is_inbox":"false"}`: "invalid_parameter", `{"is_highlighted":1}`: "invalid_parameter",
		`{"is_archived":null}`: "invalid_parameter", `{"is_archived":"x"}`: "invalid_parameter", `{"add_tag_ids":[true]}`: "invalid_parameter",
		`{"remove_tag_ids":5}`: "invalid_parameter", `{"add_tag_ids":[` + strings.Repeat("1,", 100) + `1]}`: "invalid_parameter",
		`{"folder_id":"x"}`: "invalid_parameter", `{"folder_id":424242}`: "not_found",
	} {
		status := map[string]int{"invalid_parameter": 400, "not_found": 404}[code]
		s.expect(s.send("PATCH", batchPath, fmt.Sprintf(`{"recording_ids":[%d],"updates":%s}`, id, updates)), status, code)
	}
	if list := s.expect(s.get("/api/v1/recordings"), 200, "")["recordings"].([]any); len(list) != 1 || list[0].(map[string]any)["is_inbox"] != true {
		t.Errorf("refused batches left %v", list)
	}
}
