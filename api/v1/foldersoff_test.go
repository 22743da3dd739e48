package v1_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/settings"
)

// Rule: while folders are switched off the list is empty, and none is made, changed or deleted, before anything else of a
// request is looked at; each is still shown, and is there again when they are switched on.
func TestFoldersAreSwitchedOff(t *testing.T) {
	t.Parallel()
	s := open(t)
	on, off := *s.standing.Load(), *s.standing.Load()
	off.EnableFolders = false
	jsonBody := []string{"Content-Type", "application/json"}
	made := s.do(http.MethodPost, "/api/v1/folders", strings.NewReader(`{"name":"Work"}`), jsonBody...)
	if made.StatusCode != http.StatusCreated {
		t.Fatalf("make a folder: %d %s", made.StatusCode, made.body)
	}
	one := fmt.Sprintf("/api/v1/folders/%v", made.json(t)["id"])
	s.standing.Store(&off)
	for _, row := range [][2]string{{http.MethodPost, "/api/v1/folders"}, {http.MethodPatch, one}, {http.MethodPut, one}, {http.MethodDelete, one}} {
		refused := s.do(row[0], row[1], strings.NewReader(`{"name":5}`), jsonBody...)
		if refused.StatusCode != http.StatusForbidden || refused.json(t)["code"] != "feature_disabled" {
			t.Errorf("%s %s: %d %s", row[0], row[1], refused.StatusCode, refused.body)
		}
	}
	if list := s.do(http.MethodGet, "/api/v1/folders", nil); strings.TrimSpace(string(list.body)) != "[]" {
		t.Errorf("the list is %s", list.body)
	}
	if shown := s.do(http.MethodGet, one, nil); shown.StatusCode != http.StatusOK {
		t.Errorf("the folder itself: %d", shown.StatusCode)
	}
	s.standing.Store(&on)
	if list := s.do(http.MethodGet, "/api/v1/folders", nil); !strings.Contains(string(list.body), "Work") {
		t.Errorf("switched on again the list is %s", list.body)
	}
}

// Rule: GET /transcription lists the models that the administrator curated, and the default is the administrator's.
func TestTheListOfModels(t *testing.T) {
	t.Parallel()
	s := open(t)
	if got := s.do(http.MethodGet, "/api/v1/transcription", nil).json(t); fmt.Sprint(got["models"]) != "[]" {
		t.Errorf("where nobody listed any it is %v", got)
	}
	s.standing.Store(&settings.Values{EnableFolders: true, MaxFileSizeMB: 9, DefaultModel: "large-v3", ModelsVisible: []string{"small", "large-v3"}})
	got := s.do(http.MethodGet, "/api/v1/transcription", nil).json(t)
	if fmt.Sprint(got["models"]) != "[map[label:small value:small] map[label:large-v3 value:large-v3]]" || got["default_model"] != "large-v3" {
		t.Errorf("it is %v", got)
	}
}
