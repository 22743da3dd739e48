package admin_test

import (
	"strings"
	"testing"

	"github.com/stenometer/stenometer/auth"
)

// Rule: the log shows an organization's administrators what was done to it, whoever did it, and the instance's everything;
// no token's text is in it.
func TestTheAuditLogIsRead(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.ann, "PATCH", at("/users/%d", s.mel.ID), `{"role":"editor"}`, 200, "")
	s.want(s.ada, "PATCH", at("/users/%d", s.bob.ID), `{"disabled":true}`, 200, "")
	s.want(s.ada, "PATCH", at("/users/%d", s.eve.ID), `{"disabled":true}`, 404, "not_found")
	s.want(s.ada, "PUT", at("/organizations/%d/budget", s.first.ID), `{"monthly_usd":1}`, 200, "")
	for _, row := range []struct{ query, ann, ada, eve string }{
		{"action=organization", "organization.budget.set", "organization.budget.set", ""},
		{"action=user", "user.alter user.disabled user.alter user.role.editor user.alter", "user.alter user.disabled user.alter", "user.role.editor user.alter"},
		{at("action=user&user=%d", s.ada.ID), "user.alter user.disabled user.alter", "user.alter user.disabled user.alter", ""},
		{"action=user&limit=1", "user.alter", "user.alter", "user.role.editor"},
		{"action=user&from=2100-01-01", "", "", ""},
		{"action=user&until=1999-01-01T00:00:00Z", "", "", ""},
	} {
		for who, want := range map[string]string{s.as(s.ann): row.ann, s.as(s.ada): row.ada, s.as(s.eve): row.eve} {
			body := s.wantBy(who, "GET", "/audit?"+row.query, "", 200, "")
			if got := column(body, "entries", "action"); got != want {
				t.Errorf("?%s shows %q, want %q", row.query, got, want)
			}
			if text := column(body, "entries", "object") + column(body, "entries", "outcome"); strings.Contains(text, auth.TokenPrefix) {
				t.Errorf("?%s shows a token: %s", row.query, text)
			}
		}
	}
	page := s.want(s.ann, "GET", "/audit?action=user&limit=3", "", 200, "")
	next := s.want(s.ann, "GET", at("/audit?action=user&limit=3&cursor=%v", page["next"]), "", 200, "")
	if got := column(next, "entries", "action"); got != "user.role.editor user.alter" || next["next"] != nil {
		t.Errorf("the next page is %q, and the one after it at %v", got, next["next"])
	}
	entry := page["entries"].([]any)[0].(map[string]any)
	if entry["user_id"] != float64(s.ada.ID) || entry["outcome"] != "404 not_found" || entry["address"] != "127.0.0.1" || entry["token_id"] == nil || entry["request_id"] == "" {
		t.Errorf("the entry is %v", entry)
	}
	for _, wrong := range []string{"user=0", "cursor=x", "limit=201", "action=USER", "from=yesterday", "until=32"} {
		s.want(s.ann, "GET", "/audit?"+wrong, "", 400, "invalid_parameter")
	}
}

// Rule: administrators see what an account's tokens open and when they were used, never what they are, and end them.
func TestAnAccountsTokens(t *testing.T) {
	t.Parallel()
	s := open(t)
	plain := s.token(s.mel, false, "read", "upload")
	path := at("/users/%d/tokens", s.mel.ID)
	list := s.want(s.eve, "GET", path, "", 200, "")["tokens"].([]any)
	token, _ := list[0].(map[string]any)
	if len(list) != 1 || token["name"] != "t" || token["token"] != nil || token["expires_at"] != nil {
		t.Errorf("listed is %v", list)
	}
	s.wantBy(plain, "GET", "/users", "", 403, "insufficient_scope")
	s.want(s.eve, "DELETE", at("%s/%v", path, token["id"]), "", 200, "")
	s.wantBy(plain, "GET", "/users", "", 401, "invalid_token")
	s.want(s.eve, "DELETE", at("%s/%v", path, token["id"]), "", 404, "not_found")
	s.want(s.eve, "DELETE", at("/users/%d/tokens/%v", s.eve.ID, token["id"]), "", 404, "not_found")
}
