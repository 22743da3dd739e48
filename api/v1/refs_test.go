package v1_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestReferenceForms(t *testing.T) {
	t.Parallel()
	s := open(t)
	uploaded := s.expect(s.upload(s.token, "a.wav", sound(1), "external_refs", `[{"system":"crm","kind":"call","ref":"7"}]`), 202, "")
	if refs := uploaded["external_refs"].([]any); len(refs) != 1 || refs[0].(map[string]any)["ref"] != "7" {
		t.Errorf("the upload answered %v", refs)
	}
	recording := fmt.Sprint("/api/v1/recordings/", uploaded["id"])
	path := recording + "/external-refs"
	const body = `{"system":"tracker","kind":"issue","ref":"P-1","url":"https://tracker.example.org/P-1","label":"One"}`
	added := s.expect(s.send("POST", path, body), 201, "")
	keys(t, "reference", added, "id system kind ref url label created_at")
	if at := added["created_at"].(string); len(at) != len("2026-03-05T06:13:46.123456Z") {
		t.Errorf("created_at is %s", at)
	}
	again := s.expect(s.send("POST", path, `{"system":"tracker","kind":"issue","ref":"P-1","label":"Other"}`), 200, "")
	if fmt.Sprint(again) != fmt.Sprint(added) {
		t.Errorf("the same reference again is %v, was %v", again, added)
	}
	tag := s.get(recording).Header.Get("ETag")
	all := s.expect(s.send("PUT", path+"?system=tracker", `{"external_refs":[{"kind":"issue","ref":"P-2"},{"system":"tracker","kind":"issue","ref":"P-1"}]}`, "If-Match", tag), 200, "")
	if got := fmt.Sprint(refNames(all)); got != "[7 P-2 P-1]" {
		t.Errorf("replacing gave %s", got)
	}
	s.expect(s.send("PUT", path+"?system=tracker", `{"external_refs":[]}`, "If-Match", tag), 412, "precondition_failed")
	list := s.expect(s.get(path), 200, "")
	if fmt.Sprint(list) != fmt.Sprint(all) {
		t.Errorf("the list is %v", list)
	}
	last := list["external_refs"].([]any)[2].(map[string]any)["id"]
	if r := s.send("DELETE", fmt.Sprint(path, "/", last), ""); r.StatusCode != 204 || len(r.body) != 0 {
		t.Errorf("deleting answered %d %q", r.StatusCode, r.body)
	}
	s.expect(s.send("DELETE", fmt.Sprint(path, "/", last), ""), 404, "not_found")
	detail := s.expect(s.get(recording), 200, "")
	if got := fmt.Sprint(refNames(detail)); got != "[7 P-2]" {
		t.Errorf("the detail has %s", got)
	}
}

func refNames(object map[string]any) (names []any) {
	for _, ref := range object["external_refs"].([]any) {
		names = append(names, ref.(map[string]any)["ref"])
	}
	return names
}

func TestReferenceRefusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	path := fmt.Sprint("/api/v1/recordings/", s.recording("a.wav"), "/external-refs")
	for _, body := range []string{
		`{}`, `{"system":"s","kind":"k"}`, `{"system":"S","kind":"k","ref":"r"}`, `{"system":"s","kind":"k","ref":7}`,
		`{"system":"s","kind":"k","ref":"r","url":"ftp://e.org"}`, `{"system":"s","kind":"k","ref":"r","label":"` + strings.Repeat("x", 201) + `"}`,
	} {
		s.expect(s.send("POST", path, body), 400, "invalid_parameter")
	}
	for query, body := range map[string]string{
		"":             `{"external_refs":[]}`,
		"?system=A":    `{"external_refs":[]}`,
		"?system=a":    `{}`,
		"?system=b":    `{"external_refs":{}}`,
		"?system=c":    `{"external_refs":[{"system":"d","kind":"k","ref":"r"}]}`,
		"?system=e":    `{"external_refs":[null]}`,
		"?system=long": `{"external_refs":[` + strings.TrimSuffix(strings.Repeat(`{"kind":"k","ref":"r"},`, 1001), ",") + `]}`,
	} {
		s.expect(s.send("PUT", path+query, body), 400, "invalid_parameter")
	}
	var many []string
	for i := range 51 {
		many = append(many, fmt.Sprintf(`{"kind":"k","ref":"%d"}`, i))
	}
	s.expect(s.send("PUT", path+"?system=s", `{"external_refs":[`+strings.Join(many, ",")+`]}`), 409, "conflict")
	s.expect(s.send("PUT", path+"?system=s", `{"external_refs":[`+strings.Join(many[:50], ",")+`]}`), 200, "")
	s.expect(s.send("POST", path, `{"system":"s","kind":"k","ref":"one more"}`), 409, "conflict")
	stranger := "Bearer " + s.mint(s.account("stranger"), "full")
	s.expect(s.get(path, "Authorization", stranger), 404, "not_found")
	s.expect(s.send("POST", path, `{"system":"s","kind":"k","ref":"r"}`, "Authorization", stranger), 404, "not_found")
	s.expect(s.upload(s.token, "a.wav", sound(1), "participants", strings.Repeat("x", 501), "external_refs", "nonsense"), 400, "invalid_parameter")
	body := s.expect(s.upload(s.token, "a.wav", sound(1), "external_refs", "nonsense", "strict", "true", "tag_id", "5"), 400, "invalid_parameter")
	if _, told := body["ignored"]; told {
		t.Errorf("strict was judged before the references: %v", body)
	}
}
