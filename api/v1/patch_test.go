package v1_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

func TestPatchForm(t *testing.T) {
	t.Parallel()
	s := open(t)
	folder := models.Folder{UserID: s.user.ID, Name: "F", Color: "#10B981"}
	s.write(func(tx *gorm.DB) error { return tx.Create(&folder).Error })
	path := fmt.Sprintf("/api/v1/recordings/%d", s.recording("a.wav", "title", "T"))
	body := s.expect(s.send("PATCH", path, fmt.Sprintf(`{"title":"Ü","participants":"A","notes":"n","summary":"s","meeting_date":"2026-03-05T09:00:00+02:00",
		"is_inbox":false,"is_highlighted":true,"is_archived":true,"folder_id":%d,"unknown":[1]}`, folder.ID)), 200, "")
	keys(t, "answer", body, "success recording")
	r := body["recording"].(map[string]any)
	keys(t, "recording", r, "id title participants notes summary meeting_date is_inbox is_highlighted is_archived folder_id updated_at")
	if r["title"] != "Ü" || r["meeting_date"] != "2026-03-05T07:00:00" || r["is_inbox"] != false || r["is_highlighted"] != true || r["is_archived"] != true ||
		r["folder_id"] != float64(folder.ID) || len(r["updated_at"].(string)) != len("2026-03-05T06:13:46.123456Z") {
		t.Errorf("the recording is %v", r)
	}
	for sent, want := range map[string]string{
		`{"title":null}`:                           "title:<nil>",
		`{"meeting_date":""}`:                      "meeting_date:<nil>",
		`{"meeting_date":"2026-03-05"}`:            "meeting_date:2026-03-05T00:00:00",
		`{"meeting_date":null}`:                    "meeting_date:<nil>",
		`{"meeting_date":"2026-03-05T06:13:46.5"}`: "meeting_date:2026-03-05T06:13:46.500000",
		`{"is_highlighted":null}`:                  "is_highlighted:false",
		`{"is_inbox":true}`:                        "is_inbox:true",
		`{"folder_id":null}`:                       "folder_id:<nil>",
		`{"unknown":1}`:                            "participants:A",
	} {
		shown := fmt.Sprint(s.expect(s.send("PATCH", path, sent), 200, "")["recording"])
		if !strings.Contains(shown, want) {
			t.Errorf("%s shows %s, want %s", sent, shown, want)
		}
	}
	if shown := s.expect(s.get(path), 200, ""); shown["participants"] != "A" || shown["notes"] != "n" || shown["summary"] != "s" {
		t.Errorf("the detail is %v", shown)
	}
}

// Whatever a client sends that cannot be is told with its name, and changes nothing.
func TestPatchRefusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	path := fmt.Sprintf("/api/v1/recordings/%d", s.recording("a.wav", "title", "T"))
	for _, refused := range []struct{ body, code, names string }{
		{`{}`, "invalid_parameter", "nothing"},
		{` { } `, "invalid_parameter", "nothing"},
		{``, "bad_request", "object"},
		{`null`, "bad_request", "object"},
		{`[]`, "bad_request", "object"},
		{`{"title":`, "bad_request", "JSON"},
		{`{"title":"x","title":1}`, "invalid_parameter", "title"},
		{`{"title":"x","is_inbox":"false"}`, "invalid_parameter", "is_inbox"},
		{`{"title":"x","is_inbox":0}`, "invalid_parameter", "is_inbox"},
		{`{"title":"x","is_highlighted":1}`, "invalid_parameter", "is_highlighted"},
		{`{"title":"x","is_archived":null}`, "invalid_parameter", "is_archived"},
		{`{"title":"x","is_archived":"true"}`, "invalid_parameter", "is_archived"},
		{`{"title":"x","meeting_date":0}`, "invalid_parameter", "meeting_date"},
		{`{"title":"x","meeting_date":false}`, "invalid_parameter", "meeting_date"},
		{`{"title":"x","meeting_date":"2026-02-29"}`, "invalid_parameter", "meeting_date"},
		{`{"title":"x","meeting_date":"tomorrow"}`, "invalid_parameter", "meeting_date"},
		{`{"title":"x","keep_audio_only":false}`, "invalid_parameter", "keep_audio_only"},
		{`{"title":"x","keep_audio_only":null}`, "invalid_parameter", "keep_audio_only"},
		{`{"title":"x","folder_id":"1"}`, "invalid_parameter", "folder_id"},
		{`{"title":"x","folder_id":1.5}`, "invalid_parameter", "folder_id"},
		{`{"title":"x","folder_id":9223372036854775808}`, "invalid_parameter", "folder_id"},
		{`{"title":"x","folder_id":424242}`, "not_found", "folder"},
		{`{"title":"x","folder_id":0}`, "not_found", "folder"},
		{`{"title":"x","notes":{}}`, "invalid_parameter", "notes"},
		{`{"title":"x","summary":["x"]}`, "invalid_parameter", "summary"},
		{`{"title":"x","notes":"` + strings.Repeat("x", 1<<20+1) + `"}`, "invalid_parameter", "1048576"},
		{`{"title":"` + strings.Repeat("x", 201) + `"}`, "invalid_parameter", "200"},
		{`{"participants":"` + strings.Repeat("x", 501) + `"}`, "invalid_parameter", "500"},
		{`{"title":"a\u0000b"}`, "invalid_parameter", "title"},
	} {
		status := map[string]int{"not_found": 404}[refused.code]
		if status == 0 {
			status = 400
		}
		told := s.expect(s.send("PATCH", path, refused.body), status, refused.code)
		if !strings.Contains(told["error"].(string), refused.names) {
			t.Errorf("%.60s is told as %q", refused.body, told["error"])
		}
	}
	s.expect(s.send("PATCH", path, `{"title":"x"}`, "Content-Type", "text/plain"), 415, "unsupported_media_type")
	s.expect(s.send("PATCH", path, `{"notes":"`+strings.Repeat("x", 2<<20)+`"}`), 413, "payload_too_large")
	if title := s.expect(s.get(path), 200, "")["title"]; title != "T" {
		t.Errorf("refused changes made the title %v", title)
	}
}

func TestNotesAndSummary(t *testing.T) {
	t.Parallel()
	s := open(t)
	path := fmt.Sprintf("/api/v1/recordings/%d", s.recording("a.wav"))
	for _, name := range []string{"notes", "summary"} {
		at := path + "/" + name
		form := s.expect(s.get(at), 200, "")
		keys(t, name, form, name+" has_"+name)
		if form[name] != nil || form["has_"+name] != false {
			t.Errorf("without any the %s are %v", name, form)
		}
		text := strings.Repeat("ü", 1<<19) // at the bound
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		answer := s.expect(s.send("PUT", at, fmt.Sprintf(`{%q:%s}`, name, quoted)), 200, "")
		keys(t, name, answer, "success "+name)
		if form = s.expect(s.get(at), 200, ""); answer[name] != text || form[name] != text || form["has_"+name] != true {
			t.Errorf("the %s are not what was put", name)
		}
		for _, body := range []string{`{}`, `{"other":1}`, `{%q:1}`, `{%q:["x"]}`, `{%q:"a\u0000b"}`, `{%q:"` + strings.Repeat("x", 1<<20+1) + `"}`} {
			s.expect(s.send("PUT", at, strings.Replace(body, "%q", `"`+name+`"`, 1)), 400, "invalid_parameter")
		}
		if answer = s.expect(s.send("PUT", at, fmt.Sprintf(`{%q:null}`, name)), 200, ""); answer[name] != nil {
			t.Errorf("null put %v", answer)
		}
		blind := s.expect(s.send("PUT", at, fmt.Sprintf(`{%q:"secret"}`, name), "Authorization", "Bearer "+s.mint(s.user, "write")), 200, "")
		if blind[name] != nil {
			t.Errorf("a token that may not read is shown %v", blind)
		}
		s.expect(s.get(at, "Authorization", "Bearer "+s.mint(s.user, "write")), 403, "insufficient_scope")
	}
}

// What another account owns is 404 on every route that changes, and stays as it is.
func TestOthersRecordingsCannotBeChanged(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav", "title", "T")
	s.complete(id, "segments", "")
	stranger := "Bearer " + s.mint(s.account("stranger"), "full")
	before := string(s.get(fmt.Sprintf("/api/v1/recordings/%d", id)).body)
	for _, change := range [][3]string{
		{"PATCH", "", `{"title":"x"}`},
		{"PUT", "/notes", `{"notes":"x"}`},
		{"PUT", "/summary", `{"summary":"x"}`},
		{"POST", "/delete-audio", ``},
		{"GET", "/notes", ``},
		{"GET", "/summary", ``},
	} {
		for _, target := range []string{fmt.Sprint(id), "424242", "0", "x", "9223372036854775808"} {
			r := s.send(change[0], "/api/v1/recordings/"+target+change[1], change[2], "Authorization", stranger)
			s.expect(r, 404, "not_found")
		}
	}
	for _, change := range [][3]string{{"PATCH", "", `,"updates":{"is_highlighted":true}`}, {"DELETE", "", ""}, {"POST", "/transcribe", ""}} {
		body := s.expect(s.send(change[0], "/api/v1/recordings/batch"+change[1], fmt.Sprintf(`{"recording_ids":[%d,424242]%s}`, id, change[2]), "Authorization", stranger), 200, "")
		mine, unknown := body["results"].([]any)[0].(map[string]any), body["results"].([]any)[1].(map[string]any)
		if mine["success"] != false || mine["error"] != unknown["error"] || body["failed"] != 2.0 {
			t.Errorf("the batch answered %v", body)
		}
	}
	if after := string(s.get(fmt.Sprintf("/api/v1/recordings/%d", id)).body); after != before {
		t.Errorf("a stranger made of\n%s\n%s", before, after)
	}
}

func TestDeleteAudioForm(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	path := fmt.Sprintf("/api/v1/recordings/%d", id)
	s.expect(s.do("POST", path+"/delete-audio", nil), 409, "conflict")
	s.complete(id, "segments", "", segment(0, 1, "A", "hello"))
	s.expect(s.do("POST", path+"/delete-audio", nil, "Authorization", "Bearer "+s.mint(s.user, "write")), 403, "insufficient_scope")
	body := s.expect(s.do("POST", path+"/delete-audio", nil), 200, "")
	keys(t, "answer", body, "success audio_deleted_at")
	if at := body["audio_deleted_at"].(string); strings.HasSuffix(at, "Z") || at == "" {
		t.Errorf("audio_deleted_at is %s", at)
	}
	if shown := s.expect(s.get(path), 200, ""); shown["audio_available"] != false || shown["transcription"] != "[A]: hello" {
		t.Errorf("the detail is %v", shown)
	}
	s.expect(s.get(path+"/audio"), 404, "not_found")
	s.expect(s.do("POST", path+"/delete-audio", nil), 409, "conflict")
}
