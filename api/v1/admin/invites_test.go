package admin_test

import (
	"strings"
	"testing"

	"github.com/stenometer/stenometer/models"
)

// Rule: administrators invite to their own organization alone; the token is shown when the invite is made and never again,
// and it is not in the audit log.
func TestInvites(t *testing.T) {
	t.Parallel()
	s := open(t)
	made := s.want(s.ada, "POST", "/invites", `{"email":" Grace@Example.org"}`, 201, "")
	token, _ := made["link"].(string)
	if !strings.HasPrefix(token, "inv_") || made["email"] != "grace@example.org" || made["role"] != "editor" || made["accepted_at"] != nil {
		t.Errorf("made is %v", made)
	}
	s.want(s.eve, "POST", "/invites", `{"email":"heidi@example.org","role":"admin","expires_in_days":30}`, 201, "")
	s.want(s.ada, "POST", "/invites", `{"email":"bob@example.org"}`, 409, "conflict")
	// That mel is another organization's does not show.
	s.want(s.ada, "POST", "/invites", `{"email":"mel@example.org"}`, 201, "")
	for _, wrong := range []string{
		`{"email":"nobody"}`, `{"role":"editor"}`, `{"email":"x@example.org","role":"owner"}`, `{"email":"x@example.org","expires_in_days":0}`,
		`{"email":"x@example.org","expires_in_days":31}`, `{"email":"x@example.org","organization_id":2}`,
	} {
		s.want(s.ada, "POST", "/invites", wrong, 400, "invalid_parameter")
	}
	list := s.want(s.ada, "GET", "/invites", "", 200, "")
	if got := column(list, "invites", "email"); got != "mel@example.org grace@example.org" || strings.Contains(column(list, "invites", "link"), "inv_") {
		t.Errorf("listed are %v", list)
	}
	if got := column(s.want(s.ada, "GET", "/invites?per_page=1&page=2", "", 200, ""), "invites", "email"); got != "grace@example.org" {
		t.Errorf("the second page is %q", got)
	}
	path := at("/invites/%.0f", made["id"])
	s.want(s.eve, "DELETE", path, "", 404, "not_found")
	s.want(s.ada, "DELETE", path, "", 200, "")
	s.want(s.ada, "DELETE", path, "", 404, "not_found")
	var entries []models.AuditEntry
	if err := s.db.Read.Where("action = 'invite.create'").Order("id").Find(&entries).Error; err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 || entries[0].Outcome != at("201 invite %.0f", made["id"]) {
		t.Errorf("audited is %+v", entries)
	}
	for _, entry := range entries {
		if strings.Contains(at("%+v", entry), "inv_") || strings.Contains(at("%+v", entry), "grace") {
			t.Errorf("an entry shows too much: %+v", entry)
		}
	}
}
