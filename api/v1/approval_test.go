package v1_test

import (
	"fmt"
	"net/http"
	"testing"
)

// Rule: approving takes the verb besides the scope; the detail and the summary show who approved it and when, and a
// summary that is approved is not summarized again until the approval is withdrawn.
func TestApprovingOverHTTP(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.conversation()
	manager := s.as(s.user, "manager", "write read", false)
	s.expect(s.send("POST", at(id, "summary/approve"), "", manager...), http.StatusConflict, "conflict")
	s.expect(s.send("PUT", at(id, "summary"), `{"summary":"They agreed."}`), http.StatusOK, "")
	for _, method := range []string{"POST", "DELETE"} {
		refused := s.expect(s.send(method, at(id, "summary/approve"), ""), http.StatusForbidden, "insufficient_permission")
		if refused["required_permission"] != "approve" {
			t.Errorf("an editor is refused by %v", refused)
		}
		s.expect(s.send(method, at(id, "summary/approve"), "", s.as(s.user, "manager", "read process", false)...), http.StatusForbidden, "insufficient_scope")
		s.expect(s.send(method, at(999, "summary/approve"), "", manager...), http.StatusNotFound, "not_found")
	}
	for _, body := range []map[string]any{s.expect(s.get(at(id, "summary")), 200, ""), s.expect(s.get(fmt.Sprintf("/api/v1/recordings/%d", id)), 200, "")} {
		if _, shown := body["approved_at"]; shown || body["approved_by"] != nil {
			t.Errorf("nobody approved it, and it is shown %v", body)
		}
	}
	before := s.get(at(id, "summary")).Header.Get("ETag")
	approved := s.expect(s.send("POST", at(id, "summary/approve"), "", append([]string{"If-Match", before}, manager...)...), http.StatusOK, "")
	keys(t, "approval", approved, "success approved_at approved_by")
	for _, body := range []map[string]any{s.expect(s.get(at(id, "summary")), 200, ""), s.expect(s.get(fmt.Sprintf("/api/v1/recordings/%d", id)), 200, "")} {
		if body["approved_at"] == nil || body["approved_at"] != approved["approved_at"] || body["approved_by"] != float64(s.user.ID) {
			t.Errorf("the approval %v is shown %v", approved, body)
		}
	}
	s.expect(s.send("DELETE", at(id, "summary/approve"), "", append([]string{"If-Match", before}, manager...)...), http.StatusPreconditionFailed, "precondition_failed")
	s.expect(s.send("POST", at(id, "summarize"), ""), http.StatusConflict, "conflict")
	withdrawn := s.expect(s.send("DELETE", at(id, "summary/approve"), "", manager...), http.StatusOK, "")
	if withdrawn["success"] != true || withdrawn["approved_at"] != nil || withdrawn["approved_by"] != nil {
		t.Errorf("withdrawn: %v", withdrawn)
	}
	s.expect(s.send("POST", at(id, "summarize"), ""), http.StatusOK, "")
}
