package v1_test

import (
	"fmt"
	"strings"
	"testing"
)

const speakerKeys = "id name use_count last_used confidence_score has_voice_profile email aliases updated_at"

func TestSpeakerForms(t *testing.T) {
	t.Parallel()
	s := open(t)
	const path = "/api/v1/speakers"
	created := s.expect(s.send("POST", path, `{"name":" Ada ","email":"Ada@Example.org","aliases":["Countess","countess",""]}`), 201, "")
	keys(t, "created speaker", created, speakerKeys+" created_at")
	if created["name"] != "Ada" || created["email"] != "ada@example.org" || fmt.Sprint(created["aliases"]) != "[Countess]" || created["has_voice_profile"] != false {
		t.Errorf("created was %v", created)
	}
	if at := created["updated_at"].(string); len(at) != len("2026-03-05T06:13:46.123456Z") {
		t.Errorf("updated_at is %s", at)
	}
	for _, member := range []string{"created_at", "last_used"} {
		if at := created[member].(string); strings.HasSuffix(at, "Z") {
			t.Errorf("%s is %s", member, at)
		}
	}
	plain := s.expect(s.send("POST", path, `{"name":"Grace","email":null,"aliases":null}`), 201, "")
	if fmt.Sprint(plain["email"], plain["aliases"], plain["use_count"]) != "<nil> [] 0" {
		t.Errorf("created was %v", plain)
	}
	for query, want := range map[string]int{"": 2, "?email=ADA%40example.org": 1, "?email=nobody%40example.org": 0} {
		list := s.expect(s.get(path+query), 200, "")["speakers"].([]any)
		if len(list) != want {
			t.Errorf("%q lists %v", query, list)
		}
		for _, one := range list {
			keys(t, "listed speaker", one.(map[string]any), speakerKeys)
		}
	}
	one := path + fmt.Sprint("/", created["id"])
	changed := s.expect(s.send("PUT", one, `{"email":null,"aliases":null}`), 200, "")
	speaker := changed["speaker"].(map[string]any)
	keys(t, "changed speaker", speaker, speakerKeys)
	if changed["success"] != true || fmt.Sprintf("%v %v %v", speaker["name"], speaker["email"], speaker["aliases"]) != "Ada <nil> []" {
		t.Errorf("changed was %v", changed)
	}
	blind := s.expect(s.send("PUT", one, `{"email":"a@b.org"}`, "Authorization", "Bearer "+s.mint(s.user, "write")), 200, "")
	if text := fmt.Sprint(blind); strings.Contains(text, "Ada") || strings.Contains(text, "a@b.org") {
		t.Errorf("a token that may not read is told %s", text)
	}
	if r := s.send("DELETE", one, ""); r.StatusCode != 200 || r.json(t)["success"] != true {
		t.Errorf("deleting answered %d %s", r.StatusCode, r.body)
	}
	s.expect(s.send("DELETE", one, ""), 404, "not_found")
}

func TestSpeakerRefusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	const path = "/api/v1/speakers"
	one := path + fmt.Sprint("/", s.expect(s.send("POST", path, `{"name":"Ada"}`), 201, "")["id"])
	s.expect(s.send("POST", path, `{"name":"Grace","email":null,"aliases":null}`), 201, "")
	many := `["a"` + strings.Repeat(`,"a"`, 100) + `]`
	for _, body := range []string{
		`{}`, `{"name":null}`, `{"name":"  "}`, `{"name":7}`, `{"name":"Ada"}`, `{"name":"x","email":"x"}`, `{"name":"x","email":7}`,
		`{"name":"x","aliases":"x"}`, `{"name":"x","aliases":[7]}`, `{"name":"x","aliases":` + many + `}`,
	} {
		s.expect(s.send("POST", path, body), 400, "invalid_parameter")
	}
	for _, body := range []string{
		`{}`, `{"other":1}`, `{"name":null}`, `{"name":""}`, `{"name":[]}`, `{"email":"a@b"}`, `{"email":7}`, `{"aliases":"x"}`, `{"aliases":` + many + `}`,
	} {
		s.expect(s.send("PUT", one, body), 400, "invalid_parameter")
	}
	s.expect(s.send("PUT", one, `null`), 400, "bad_request")
	s.expect(s.send("PUT", one, `{"name":"Grace"}`), 409, "conflict")
	stranger := "Bearer " + s.mint(s.account("stranger"), "full")
	s.expect(s.send("PUT", one, `{"name":"Eve"}`, "Authorization", stranger), 404, "not_found")
	s.expect(s.send("DELETE", one, "", "Authorization", stranger), 404, "not_found")
	s.expect(s.send("DELETE", one, "", "Authorization", "Bearer "+s.mint(s.user, "write")), 403, "insufficient_scope")
}
