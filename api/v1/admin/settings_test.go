package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/settings"
)

// setting is how one is shown.
func setting(t testing.TB, answer map[string]any, name string) map[string]any {
	t.Helper()
	list, _ := answer["settings"].([]any)
	for _, shown := range list {
		if one, _ := shown.(map[string]any); one["name"] == name {
			return one
		}
	}
	t.Fatalf("%s is not shown: %v", name, answer)
	return nil
}

// Rule (issue 7): system settings are the instance's: its administrator sees each with default and bounds and changes what
// is named; what is out of bounds or not known is refused by name, and nothing is changed then.
func TestSystemSettings(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.ada, http.MethodGet, "/settings", "", http.StatusForbidden, "insufficient_permission")
	s.want(s.ada, http.MethodPatch, "/settings", `{"enable_folders":false}`, http.StatusForbidden, "insufficient_permission")
	shown := setting(t, s.want(s.ann, http.MethodGet, "/settings", "", http.StatusOK, ""), "max_file_size_mb")
	if fmt.Sprint(shown["value"], shown["default"], shown["minimum"], shown["maximum"], shown["is_default"], shown["updated_at"]) != "500 500 1 500 true <nil>" {
		t.Errorf("before anything is set it is %v", shown)
	}
	for body, named := range map[string]string{
		`{"enable_folders":false,"max_file_size_mb":501}`: "max_file_size_mb", `{"enable_folders":false,"telepathy":true}`: "telepathy",
		`{"enable_folders":false,"transcription_models_visible":[""]}`: "transcription_models_visible[0]", `{}`: "",
	} {
		answer := s.want(s.ann, http.MethodPatch, "/settings", body, http.StatusBadRequest, "invalid_parameter")
		if said := fmt.Sprint(answer["error"]); !strings.Contains(said, named) {
			t.Errorf("%s is refused so: %s", body, said)
		}
	}
	if !s.settings.Values().EnableFolders {
		t.Error("a change that was refused was kept by half")
	}
	answer := s.want(s.ann, http.MethodPatch, "/settings", `{"enable_folders":false,"transcription_models_visible":["a"," b"]}`, http.StatusOK, "")
	if shown := setting(t, answer, "transcription_models_visible"); fmt.Sprint(shown["value"], shown["is_default"], shown["updated_by"]) != fmt.Sprint("[a b] false ", s.ann.ID) {
		t.Errorf("it is shown as %v", shown)
	}
	s.want(s.ann, http.MethodPatch, "/settings", `{"enable_folders":null}`, http.StatusOK, "")
	if values := s.settings.Values(); !values.EnableFolders || len(values.ModelsVisible) != 2 {
		t.Errorf("it is %+v", values)
	}
}

// Every setting of the table can be set by its name.
func TestEverySettingCanBeSet(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, row := range settings.Table(settings.Options{MaxUploadMB: 500, MaxTranscriptChars: 1000}) {
		value, err := json.Marshal(row.Default)
		if err != nil {
			t.Fatal(err)
		}
		answer := s.want(s.ann, http.MethodPatch, "/settings", fmt.Sprintf(`{%q:%s}`, row.Name, value), http.StatusOK, "")
		if shown := setting(t, answer, row.Name); shown["is_default"] != false || fmt.Sprint(shown["value"]) != fmt.Sprint(row.Default) {
			t.Errorf("%s is shown as %v", row.Name, shown)
		}
	}
}
