package v1_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestAssignAndListForms(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	path := fmt.Sprint("/api/v1/recordings/", id)
	s.complete(id, "segments", "", segment(0, 1, "SPEAKER_00", "hello"), segment(1, 2, "SPEAKER_01", "yes"), segment(2, 3, "SPEAKER_00", "well"))
	answer := s.expect(s.send("PUT", path+"/speakers/assign", `{"speaker_map":{"SPEAKER_00":"Ada","SPEAKER_01":{"isMe":true,"name":null}},"regenerate_summary":true}`), 200, "")
	keys(t, "assign", answer, "success message recording summary_queued embeddings_updated snippets_created")
	recording := answer["recording"].(map[string]any)
	keys(t, "assigned recording", recording, "id title participants status")
	if recording["participants"] != "Ada, Me" || answer["summary_queued"] != true || recording["status"] != "COMPLETED" || answer["success"] != true {
		t.Errorf("the answer is %v", answer)
	}
	listed := s.get(path + "/speakers")
	list := s.expect(listed, 200, "")
	keys(t, "speakers", list, "speakers suggestions")
	first := list["speakers"].([]any)[0].(map[string]any)
	keys(t, "voice", first, "label identified_name speaker_id email segment_count")
	if first["label"] != "Ada" || first["identified_name"] != "Ada" || first["segment_count"] != 2.0 || fmt.Sprint(list["suggestions"]) != "map[]" {
		t.Errorf("the speakers are %v", list)
	}
	if tag := listed.Header.Get("ETag"); !strings.HasPrefix(tag, fmt.Sprint(`W/"k`, id, "-")) || s.get(path+"/speakers", "If-None-Match", tag).StatusCode != 304 {
		t.Errorf("the list is tagged %s", tag)
	}
	transcript := s.expect(s.get(path+"/transcript"), 200, "")
	shown := transcript["segments"].([]any)[0].(map[string]any)
	if shown["speaker"] != "Ada" || shown["speaker_label"] != "SPEAKER_00" || shown["speaker_id"] != first["speaker_id"] {
		t.Errorf("the segment is %v", shown)
	}
	s.expect(s.send("PUT", fmt.Sprint("/api/v1/speakers/", first["speaker_id"]), `{"name":"Countess"}`), 200, "")
	if text := s.expect(s.get(path+"/transcript?format=text"), 200, "")["content"].(string); !strings.HasPrefix(text, "[Countess]: hello") {
		t.Errorf("after the renaming the transcript is %q", text)
	}
}

// Quirk 32: no body is a failure of the server. The scope that a summary needs is asked for before anything changes.
func TestAssignRefusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	s.complete(id, "segments", "", segment(0, 1, "A", "hello"))
	path := fmt.Sprint("/api/v1/recordings/", id, "/speakers/assign")
	many := strings.TrimSuffix(strings.Repeat(`"%d":"x",`, 101), ",")
	numbers := make([]any, 101)
	for i := range numbers {
		numbers[i] = i
	}
	for _, body := range []string{
		`{}`, `{"speaker_map":null}`, `{"speaker_map":[]}`, `{"speaker_map":"x"}`, `{"speaker_map":7}`, `{"speaker_map":{"A":7}}`,
		`{"speaker_map":{"A":null}}`, `{"speaker_map":{"A":["x"]}}`, `{"speaker_map":{"A":{"name":7}}}`, `{"speaker_map":{"A":{"isMe":"yes"}}}`,
		`{"speaker_map":{"A":"x"},"regenerate_summary":"yes"}`, `{"speaker_map":{` + fmt.Sprintf(many, numbers...) + `}}`,
		`{"speaker_map":{"A":"` + strings.Repeat("x", 101) + `"}}`,
	} {
		s.expect(s.send("PUT", path, body), 400, "invalid_parameter")
	}
	for _, body := range []string{``, `[]`, `null`, `{"speaker_map":{"A":"x"`, `{"speaker_map":{"A"}}`} {
		s.expect(s.send("PUT", path, body), 400, "bad_request")
	}
	s.expect(s.do("PUT", path, strings.NewReader(`{}`)), 415, "unsupported_media_type")
	write := "Bearer " + s.mint(s.user, "write")
	refused := s.expect(s.send("PUT", path, `{"speaker_map":{"A":"Ada"},"regenerate_summary":true}`, "Authorization", write), 403, "insufficient_scope")
	if fmt.Sprint(refused["required_scopes"], refused["token_scopes"]) != "[process write] [write]" {
		t.Errorf("the refusal is %v", refused)
	}
	stale := s.get(fmt.Sprint("/api/v1/recordings/", id)).Header.Get("ETag")
	untouched := s.expect(s.get("/api/v1/speakers"), 200, "")
	if len(untouched["speakers"].([]any)) != 0 {
		t.Errorf("a refused request saved %v", untouched)
	}
	s.expect(s.send("PUT", path, `{"speaker_map":{"A":"Ada"},"regenerate_summary":false}`, "Authorization", write, "If-Match", stale), 200, "")
	s.expect(s.send("PUT", path, `{"speaker_map":{"Ada":"Eve"}}`, "If-Match", stale), 412, "precondition_failed")
	s.expect(s.send("PUT", path, `{"speaker_map":{}}`), 200, "")
	stranger := "Bearer " + s.mint(s.account("stranger"), "full")
	s.expect(s.send("PUT", path, `{"speaker_map":{"A":"Eve"}}`, "Authorization", stranger), 404, "not_found")
	s.expect(s.get(strings.TrimSuffix(path, "/assign"), "Authorization", stranger), 404, "not_found")
}
