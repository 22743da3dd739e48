package v1_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const tagKeys = "id name color custom_prompt default_language default_min_speakers default_max_speakers protect_from_deletion"

const groupKeys = " is_group_tag group_id group_name auto_share_on_apply share_with_group_lead"

// Each route answers a tag with the keys that the contract has for it.
func TestTagForms(t *testing.T) {
	t.Parallel()
	s := open(t)
	made := s.expect(s.send(http.MethodPost, "/api/v1/tags", `{"name":" Standup ","group_id":null,"default_min_speakers":2}`), http.StatusCreated, "")
	keys(t, "tag that was created", made, tagKeys+groupKeys)
	if made["name"] != "Standup" || made["color"] != "#3B82F6" || made["default_min_speakers"] != 2.0 || made["is_group_tag"] != false {
		t.Errorf("created %v", made)
	}
	path := fmt.Sprintf("/api/v1/tags/%v", made["id"])
	changed := s.expect(s.send(http.MethodPut, path, `{"color":"#000000"}`), http.StatusOK, "")
	keys(t, "answer to a change", changed, "success tag")
	keys(t, "tag that was changed", changed["tag"].(map[string]any), tagKeys)
	list := s.expect(s.get("/api/v1/tags?name=%20STANDUP"), http.StatusOK, "")["tags"].([]any)
	if len(list) != 1 {
		t.Fatalf("the list is %v", list)
	}
	keys(t, "tag in the list", list[0].(map[string]any), tagKeys+groupKeys+" title_prompt can_edit")
	if list := s.expect(s.get("/api/v1/tags?name=other"), http.StatusOK, "")["tags"].([]any); len(list) != 0 {
		t.Errorf("of another name there are %v", list)
	}
	if gone := s.expect(s.do(http.MethodDelete, path, nil), http.StatusOK, ""); gone["success"] != true || gone["message"] == "" {
		t.Errorf("the deletion answers %v", gone)
	}
	s.expect(s.do(http.MethodDelete, path, nil), http.StatusNotFound, "not_found")
	s.expect(s.send(http.MethodPut, path, `{"color":"#000000"}`), http.StatusNotFound, "not_found")
}

// What a body says wrongly is a 400 that names it; a name that is taken is 400 where one is made, 409 where one is
// changed.
func TestTagBodies(t *testing.T) {
	t.Parallel()
	s := open(t)
	first := s.expect(s.send(http.MethodPost, "/api/v1/tags", `{"name":"a"}`), http.StatusCreated, "")
	s.expect(s.send(http.MethodPost, "/api/v1/tags", `{"name":"b"}`), http.StatusCreated, "")
	s.expect(s.send(http.MethodPost, "/api/v1/tags", `{"name":"a"}`), http.StatusBadRequest, "invalid_parameter")
	path := fmt.Sprintf("/api/v1/tags/%v", first["id"])
	s.expect(s.send(http.MethodPut, path, `{"name":"b"}`), http.StatusConflict, "conflict")
	for body, field := range map[string]string{
		`{}`:                                 "name",
		`{"name":null}`:                      "name",
		`{"name":" "}`:                       "name",
		`{"name":7}`:                         "name",
		`{"name":"c","color":"red"}`:         "color",
		`{"name":"c","color":"zzzzzzz"}`:     "color",
		`{"name":"c","group_id":"3"}`:        "group_id",
		`{"name":"c","group_id":true}`:       "group_id",
		`{"name":"c","custom_prompt":["x"]}`: "custom_prompt",

		`{"name":"c","default_language":"12345678901"}`:      "default_language",
		`{"name":"c","default_min_speakers":0}`:              "default_min_speakers",
		`{"name":"c","default_max_speakers":1.5}`:            "default_max_speakers",
		`{"name":"c","protect_from_deletion":"no"}`:          "protect_from_deletion",
		`{"name":"` + strings.Repeat("x", 51) + `"}`:         "name",
		`{"name":"c\u0000"}`:                                 "name",
		`{"name":"c","default_language":"e\u0000"}`:          "default_language",
		`{"name":"c","color":null,"default_min_speakers":9}`: "",
	} {
		r := s.send(http.MethodPost, "/api/v1/tags", body)
		if field == "" {
			s.expect(r, http.StatusCreated, "")
		} else if told := s.expect(r, http.StatusBadRequest, "invalid_parameter"); !strings.Contains(told["error"].(string), field) {
			t.Errorf("%s is answered %q", body, told["error"])
		}
	}
	for _, body := range []string{`{}`, `{"unknown":1}`, `{"name":null}`, `{"name":""}`} {
		s.expect(s.send(http.MethodPut, path, body), http.StatusBadRequest, "invalid_parameter")
	}
	s.expect(s.send(http.MethodPut, path, `null`), http.StatusBadRequest, "bad_request")
}

// The tags of a recording are added, replaced and taken off in the contract's forms.
func TestTaggingForms(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	tag := func(name string) int64 {
		return int64(s.expect(s.send(http.MethodPost, "/api/v1/tags", `{"name":"`+name+`"}`), http.StatusCreated, "")["id"].(float64))
	}
	a, b := tag("a"), tag("b")
	path := fmt.Sprintf("/api/v1/recordings/%d/tags", id)
	added := s.expect(s.send(http.MethodPost, path, fmt.Sprintf(`{"tag_ids":[%d,%d]}`, b, b)), http.StatusOK, "")
	if got, _ := json.Marshal(added); string(got) != fmt.Sprintf(`{"added_tags":[{"id":%d,"name":"b"}],"errors":null,"success":true}`, b) {
		t.Errorf("the answer is %s", got)
	}
	partly := s.expect(s.send(http.MethodPost, path, fmt.Sprintf(`{"tag_ids":[],"tag_id":%d}`, 77)), http.StatusOK, "")
	if told := partly["errors"].([]any); len(told) != 1 || len(partly["added_tags"].([]any)) != 0 {
		t.Errorf("the answer is %v", partly)
	}
	for _, body := range []string{`{}`, `{"tag_ids":[]}`, `{"tag_ids":5}`, `{"tag_ids":["a"]}`, `{"tag_ids":[true]}`} {
		s.expect(s.send(http.MethodPost, path, body), http.StatusBadRequest, "invalid_parameter")
	}
	for _, body := range []string{`{}`, `{"tag_ids":null}`, `{"tag_ids":[true]}`, `{"tag_ids":[1.5]}`, `{"tag_ids":"1"}`} {
		s.expect(s.send(http.MethodPut, path, body), http.StatusBadRequest, "invalid_parameter")
	}
	refused := s.expect(s.send(http.MethodPut, path, fmt.Sprintf(`{"tag_ids":[%d,77,78]}`, a)), http.StatusBadRequest, "invalid_parameter")
	if got := refused["tag_ids"].([]any); !slices.Equal(got, []any{77.0, 78.0}) {
		t.Errorf("the refusal lists %v", got)
	}
	replaced := s.expect(s.send(http.MethodPut, path, fmt.Sprintf(`{"tag_ids":[%d]}`, a)), http.StatusOK, "")
	want := fmt.Sprintf(`{"added":[%d],"removed":[%d],"tags":[{"color":"#3B82F6","id":%d,"name":"a"}]}`, a, b, a)
	if got, _ := json.Marshal(replaced); string(got) != want {
		t.Errorf("the answer is %s, want %s", got, want)
	}
	s.expect(s.send(http.MethodPut, path, `{"tag_ids":[]}`, "If-Match", `W/"r1-0-0"`), http.StatusPreconditionFailed, "precondition_failed")
	blind := s.send(http.MethodPut, path, fmt.Sprintf(`{"tag_ids":[%d]}`, b), "Authorization", "Bearer "+s.mint(s.user, "write"))
	if tags := s.expect(blind, http.StatusOK, "")["tags"].([]any); tags[0].(map[string]any)["name"] != nil {
		t.Errorf("a token that may not read was told %v", tags)
	}
	off := fmt.Sprintf("%s/%d", path, b)
	s.expect(s.do(http.MethodDelete, off, nil), http.StatusOK, "")
	s.expect(s.do(http.MethodDelete, off, nil), http.StatusNotFound, "not_found")
	cleared := s.expect(s.send(http.MethodPut, path, `{"tag_ids":[]}`), http.StatusOK, "")
	if got, _ := json.Marshal(cleared); string(got) != `{"added":[],"removed":[],"tags":[]}` {
		t.Errorf("clearing what is clear answers %s", got)
	}
}

// Another account's recordings and tags are 404, as those that do not exist are.
func TestTaggingIsTheOwners(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	tag := s.expect(s.send(http.MethodPost, "/api/v1/tags", `{"name":"a"}`), http.StatusCreated, "")["id"]
	path := fmt.Sprintf("/api/v1/recordings/%d/tags", id)
	s.expect(s.send(http.MethodPost, path, fmt.Sprintf(`{"tag_id":%v}`, tag)), http.StatusOK, "")
	s.token = s.mint(s.account("other"), "full")
	s.expect(s.send(http.MethodPost, path, fmt.Sprintf(`{"tag_id":%v}`, tag)), http.StatusNotFound, "not_found")
	s.expect(s.send(http.MethodPut, path, `{"tag_ids":[]}`), http.StatusNotFound, "not_found")
	s.expect(s.do(http.MethodDelete, fmt.Sprintf("%s/%v", path, tag), nil), http.StatusNotFound, "not_found")
	s.expect(s.send(http.MethodPut, fmt.Sprintf("/api/v1/tags/%v", tag), `{"name":"mine"}`), http.StatusNotFound, "not_found")
	own := s.recording("b.wav")
	told := s.expect(s.send(http.MethodPost, fmt.Sprintf("/api/v1/recordings/%d/tags", own), fmt.Sprintf(`{"tag_ids":[%v]}`, tag)), http.StatusOK, "")
	if len(told["errors"].([]any)) != 1 || len(told["added_tags"].([]any)) != 0 {
		t.Errorf("another's tag is answered %v", told)
	}
}
