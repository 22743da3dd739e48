package v1_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const folderKeys = "id name color group_id is_group_folder group_name custom_prompt default_language default_min_speakers " +
	"default_max_speakers default_hotwords default_initial_prompt default_transcription_model protect_from_deletion retention_days " +
	"auto_share_on_apply share_with_group_lead naming_template_id naming_template_name export_template_id export_template_name " +
	"created_at recording_count"

// Each route answers a folder with the keys that the contract has for it; the list is a bare array.
func TestFolderForms(t *testing.T) {
	t.Parallel()
	s := open(t)
	made := s.expect(s.send(http.MethodPost, "/api/v1/folders", `{"name":"Talks","retention_days":-1,"naming_template_id":null}`), http.StatusCreated, "")
	keys(t, "folder that was created", made, folderKeys)
	if made["name"] != "Talks" || made["color"] != "#10B981" || made["retention_days"] != -1.0 || made["protect_from_deletion"] != true ||
		made["auto_share_on_apply"] != true || strings.HasSuffix(made["created_at"].(string), "Z") {
		t.Errorf("created %v", made)
	}
	path := fmt.Sprintf("/api/v1/folders/%v", made["id"])
	for _, method := range []string{http.MethodPatch, http.MethodPut} {
		changed := s.expect(s.send(method, path, `{"color":"#000000","retention_days":0}`), http.StatusOK, "")
		keys(t, "folder that was changed", changed, folderKeys)
		if changed["name"] != "Talks" || changed["retention_days"] != nil || changed["protect_from_deletion"] != false {
			t.Errorf("%s made %v of it", method, changed)
		}
	}
	s.expect(s.send(http.MethodPatch, path, `{}`), http.StatusOK, "")
	keys(t, "folder", s.expect(s.get(path), http.StatusOK, ""), folderKeys+" can_edit")
	var list []map[string]any
	if err := json.Unmarshal(s.get("/api/v1/folders").body, &list); err != nil || len(list) != 1 {
		t.Fatalf("the list is %v, %v", list, err)
	}
	keys(t, "folder in the list", list[0], folderKeys+" can_edit user_role")
	if gone, _ := json.Marshal(s.expect(s.do(http.MethodDelete, path, nil), http.StatusOK, "")); string(gone) != `{"success":true}` {
		t.Errorf("the deletion answers %s", gone)
	}
	s.expect(s.get(path), http.StatusNotFound, "not_found")
	if empty := s.get("/api/v1/folders"); strings.TrimSpace(string(empty.body)) != "[]" {
		t.Errorf("without folders the list is %s", empty.body)
	}
}

// What a body says wrongly is a 400 that names it; another account's folder is 404, as one that does not exist is.
func TestFolderRefusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	made := s.expect(s.send(http.MethodPost, "/api/v1/folders", `{"name":"a"}`), http.StatusCreated, "")
	s.expect(s.send(http.MethodPost, "/api/v1/folders", `{"name":"b"}`), http.StatusCreated, "")
	s.expect(s.send(http.MethodPost, "/api/v1/folders", `{"name":"a"}`), http.StatusBadRequest, "invalid_parameter")
	path := fmt.Sprintf("/api/v1/folders/%v", made["id"])
	s.expect(s.send(http.MethodPatch, path, `{"name":"b"}`), http.StatusConflict, "conflict")
	s.expect(s.send(http.MethodPatch, path, `{"name":""}`), http.StatusBadRequest, "invalid_parameter")
	s.expect(s.send(http.MethodPatch, path, `null`), http.StatusBadRequest, "bad_request")
	s.expect(s.send(http.MethodPost, "/api/v1/folders", `{"name":"c","export_template_id":4}`), http.StatusNotFound, "not_found")
	for body, field := range map[string]string{
		`{}`:                                  "name",
		`{"name":"c","color":"#12"}`:          "color",
		`{"name":"c","group_id":"3"}`:         "group_id",
		`{"name":"c","retention_days":-2}`:    "retention_days",
		`{"name":"c","retention_days":40000}`: "retention_days",
		`{"name":"c","retention_days":"x"}`:   "retention_days",
		`{"name":"c","default_transcription_model":"` + strings.Repeat("x", 121) + `"}`: "default_transcription_model",
		`{"name":"c","default_hotwords":"\u0000"}`:                                      "default_hotwords",
		`{"name":"c","default_min_speakers":3,"default_max_speakers":2}`:                "default_min_speakers",
	} {
		told := s.expect(s.send(http.MethodPost, "/api/v1/folders", body), http.StatusBadRequest, "invalid_parameter")
		if !strings.Contains(told["error"].(string), field) {
			t.Errorf("%s is answered %q", body, told["error"])
		}
	}
	s.token = s.mint(s.account("other"), "full")
	s.expect(s.get(path), http.StatusNotFound, "not_found")
	s.expect(s.send(http.MethodPatch, path, `{"name":"mine"}`), http.StatusNotFound, "not_found")
	s.expect(s.do(http.MethodDelete, path, nil), http.StatusNotFound, "not_found")
}

// The answer to an upload shows its tags and its folder whole.
func TestUploadShowsWhereItIs(t *testing.T) {
	t.Parallel()
	s := open(t)
	tag := s.expect(s.send(http.MethodPost, "/api/v1/tags", `{"name":"a"}`), http.StatusCreated, "")["id"]
	folder := s.expect(s.send(http.MethodPost, "/api/v1/folders", `{"name":"b"}`), http.StatusCreated, "")["id"]
	body := s.expect(s.upload(s.token, "a.wav", sound(1), "tag_id", fmt.Sprint(tag), "folder_id", fmt.Sprint(folder)), http.StatusAccepted, "")
	keys(t, "tag of an upload", body["tags"].([]any)[0].(map[string]any), tagKeys+groupKeys+" created_at")
	shown := body["folder"].(map[string]any)
	keys(t, "folder of an upload", shown, folderKeys)
	if shown["recording_count"] != 1.0 || body["folder_id"] != folder {
		t.Errorf("the folder is %v", shown)
	}
	detail := s.expect(s.get(fmt.Sprintf("/api/v1/recordings/%v", body["id"])), http.StatusOK, "")
	keys(t, "tag of a detail", detail["tags"].([]any)[0].(map[string]any), "id name color")
	keys(t, "folder of a detail", detail["folder"].(map[string]any), "id name")
	strict := s.upload(s.token, "a.wav", sound(1), "strict", "true", "tag_ids[0]", "77", "folder_id", "none")
	refused := s.expect(strict, http.StatusBadRequest, "invalid_parameter")
	if got, _ := json.Marshal(refused["ignored"]); string(got) != `{"folder_id":"none","tag_ids":[77]}` {
		t.Errorf("the refusal tells %s", got)
	}
}
