package v1_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Rule: while sharing within organizations is switched off, everything about it says so, the same for what is there and
// what is not, and lists of what is shared are empty.
func TestInternalSharingIsSwitchedOff(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, id := range []int64{s.recording("a.wav"), 999999} {
		path := fmt.Sprintf("/api/v1/recordings/%d/internal-shares", id)
		for _, row := range []struct{ method, path, body string }{
			{http.MethodPost, path, `{"user_id":1}`},
			{http.MethodPost, path, `{`},
			{http.MethodGet, path, ""},
			{http.MethodDelete, path, `{"user_id":1}`},
			{http.MethodDelete, path + "/1", ""},
			{http.MethodGet, "/api/v1/users/search?q=x", ""},
		} {
			s.expect(s.do(row.method, row.path, strings.NewReader(row.body), "Content-Type", "application/json"), http.StatusForbidden, "feature_disabled")
		}
	}
	features, _ := s.expect(s.get("/api/v1/capabilities"), http.StatusOK, "")["features"].(map[string]any)
	if features["internal_sharing"] != false {
		t.Errorf("the features are %v", features)
	}
	for scope, want := range map[string]float64{"shared": 0, "all": 1, "own": 1} {
		page, _ := s.expect(s.get("/api/v1/recordings?scope="+scope), http.StatusOK, "")["pagination"].(map[string]any)
		if page["total"] != want {
			t.Errorf("scope %s: %v, want %v", scope, page["total"], want)
		}
	}
}
