package admin_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/models"
)

// Rule: an organization's administrators see its accounts alone, the instance's all; what is asked is narrowed and paged.
func TestAccountsAreListed(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, row := range []struct{ path, ann, ada, eve string }{
		{"/users", "ann ada bob eve mel", "ann ada bob", "eve mel"},
		{"/users?q=EVE", "eve", "", "eve"},
		{"/users?role=admin", "ann ada eve", "ann ada", "eve"},
		{"/users?disabled=true", "", "", ""},
		{"/users?disabled=false&per_page=2", "ann ada", "ann ada", "eve mel"},
		{"/users?page=2&per_page=2", "bob eve", "bob", ""},
		{at("/users?organization_id=%d", s.second.ID), "eve mel", "", "eve mel"},
	} {
		for who, want := range map[string]string{s.as(s.ann): row.ann, s.as(s.ada): row.ada, s.as(s.eve): row.eve} {
			if got := column(s.wantBy(who, "GET", row.path, "", 200, ""), "users", "username"); got != want {
				t.Errorf("%s lists %q, want %q", row.path, got, want)
			}
		}
	}
	body := s.want(s.ann, "GET", "/users?page=2&per_page=2", "", 200, "")
	if pages, _ := body["pagination"].(map[string]any); pages["total"] != 5.0 || pages["total_pages"] != 3.0 || pages["has_next"] != true {
		t.Errorf("the pages are %v", pages)
	}
	for query, field := range map[string]string{
		"page=0": "page", "page=x": "page", "per_page=101": "per_page", "per_page=99999999999999999999": "per_page", "role=root": "role",
		"disabled=maybe": "disabled", "organization_id=-1": "organization_id", "q=" + strings.Repeat("x", 101): "q",
	} {
		body := s.want(s.ann, "GET", "/users?"+query, "", 400, "invalid_parameter")
		if sentence, _ := body["error"].(string); !strings.HasPrefix(sentence, field+" must be") {
			t.Errorf("%.40s: the error is %q", query, sentence)
		}
	}
}

// Rule: what an administrator makes is in the own organization, with a role within the own; the log names it.
func TestAccountsAreMade(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := s.want(s.ada, "POST", "/users", `{"email":"New@Example.org","username":"new"}`, 201, "")
	if body["email"] != "new@example.org" || body["role"] != "editor" || body["organization_id"] != float64(s.first.ID) || body["instance_admin"] != false {
		t.Errorf("made is %v", body)
	}
	list, err := s.audit.List(t.Context(), audit.Query{Action: "user.create", Limit: 1})
	if want := "201 " + audit.Object("user", int64(body["id"].(float64))); err != nil || len(list) != 1 || list[0].Outcome != want || list[0].ActorID != s.ada.ID {
		t.Errorf("in the log is %+v, %v", list, err)
	}
	s.want(s.ada, "POST", "/users", at(`{"email":"a@example.org","username":"a","organization_id":%d}`, s.second.ID), 404, "not_found")
	body = s.want(s.ann, "POST", "/users", at(`{"email":"a@example.org","username":"a","role":"admin","organization_id":%d}`, s.second.ID), 201, "")
	if body["organization_id"] != float64(s.second.ID) || body["role"] != "admin" {
		t.Errorf("made is %v", body)
	}
	for wrong, named := range map[string]string{
		`{"username":"b"}`:                                                                        "email",
		`{"email":"b@example.org"}`:                                                               "username",
		`{"email":"b","username":"b"}`:                                                            "email",
		`{"email":"b@example.org","username":"b","role":"owner"}`:                                 "role",
		`{"email":"b@example.org","username":"b","password":""}`:                                  "password",
		`{"email":"b@example.org","username":"b","password":"short"}`:                             "password",
		`{"email":"b@example.org","username":"b","instance_admin":true}`:                          "instance_admin",
		`{"email":"b@example.org","username":"` + strings.Repeat("x", 81) + `"}`:                  "username",
		`{"email":"b@example.org","username":"b","password":"` + strings.Repeat("x", 1025) + `"}`: "password",
	} {
		body := s.want(s.ann, "POST", "/users", wrong, 400, "invalid_parameter")
		if sentence, _ := body["error"].(string); !strings.Contains(sentence, named) {
			t.Errorf("%.80s: the error %q does not name %s", wrong, sentence, named)
		}
	}
	s.want(s.ada, "POST", "/users", `{"email":"mel@example.org","username":"c"}`, 409, "conflict")
}

// Rule: another organization's accounts do not exist, on any row, and a refused call changes nothing; the instance's
// administrator reaches them all.
func TestAnotherOrganizationsAccountsDoNotExist(t *testing.T) {
	t.Parallel()
	s := open(t)
	minted := s.token(s.mel, false)
	list := s.want(s.ann, "GET", at("/users/%d/tokens", s.mel.ID), "", 200, "")
	token := list["tokens"].([]any)[0].(map[string]any)["id"].(float64)
	rows := []struct{ method, path, body string }{
		{"GET", "", ""},
		{"PATCH", "", `{"role":"editor"}`},
		{"POST", "/sign-out", ""},
		{"GET", "/tokens", ""},
		{"DELETE", at("/tokens/%.0f", token), ""},
		{"GET", "/limits", ""},
		{"PUT", "/limits", `{"limits":{"user_ai":"1 per minute"}}`},
		{"GET", "/budget", ""},
		{"PUT", "/budget", `{"monthly_usd":1}`},
		{"DELETE", "", ""},
	}
	for _, row := range rows {
		for _, id := range []any{s.mel.ID, 99_999, 0, "mel"} {
			s.want(s.ada, row.method, at("/users/%v", id)+row.path, row.body, 404, "not_found")
		}
	}
	if body := s.want(s.eve, "GET", at("/users/%d", s.mel.ID), "", 200, ""); body["role"] != "viewer" || body["disabled_at"] != nil {
		t.Errorf("it became %v", body)
	}
	s.wantBy(minted, "GET", "/users", "", 403, "insufficient_permission") // the token still is one
	for _, row := range rows {
		status := 200
		if row.method == "DELETE" && row.path == "" {
			status = 202
		}
		s.want(s.ann, row.method, at("/users/%d", s.mel.ID)+row.path, row.body, status, "")
	}
	s.wantBy(minted, "GET", "/users", "", 401, "invalid_token")
	s.want(s.eve, "GET", at("/users/%d", s.mel.ID), "", 404, "not_found")
}

// Rule: who administers the instance is changed by its like alone, on every row: an organization's administrator cannot
// lock them out by their tokens, limits or budget.
func TestTheInstancesAdministratorIsOutOfReach(t *testing.T) {
	t.Parallel()
	s := open(t)
	minted := s.token(s.ann, true)
	list := s.want(s.ada, "GET", at("/users/%d/tokens", s.ann.ID), "", 200, "")
	token := list["tokens"].([]any)[0].(map[string]any)["id"].(float64)
	for _, row := range []struct{ method, path, body string }{
		{"PATCH", "", `{"role":"editor"}`},
		{"PATCH", "", `{"disabled":true}`},
		{"POST", "/sign-out", ""},
		{"DELETE", at("/tokens/%.0f", token), ""},
		{"PUT", "/limits", `{"limits":{"account_write":"1 per hour"}}`},
		{"PUT", "/budget", `{"monthly_usd":0}`},
		{"DELETE", "", ""},
	} {
		s.want(s.ada, row.method, at("/users/%d", s.ann.ID)+row.path, row.body, 403, "insufficient_permission")
	}
	s.wantBy(minted, "GET", "/users", "", 200, "")
	if body := s.want(s.ann, "GET", at("/users/%d/budget", s.ann.ID), "", 200, ""); body["monthly_usd"] != nil {
		t.Errorf("the budget became %v", body)
	}
	s.want(s.ann, "PUT", at("/users/%d/budget", s.ann.ID), `{"monthly_usd":9}`, 200, "")
}

// Rule: a change says what it changes, all or nothing; who may not is refused with a code, and the last administrators stay.
func TestAnAccountIsChanged(t *testing.T) {
	t.Parallel()
	s := open(t)
	bob := at("/users/%d", s.bob.ID)
	if body := s.want(s.ada, "PATCH", bob, `{"role":"viewer","disabled":true}`, 200, ""); body["role"] != "viewer" || body["disabled_at"] == nil {
		t.Errorf("it became %v", body)
	}
	if body := s.want(s.ada, "PATCH", bob, `{"disabled":false,"role":"admin"}`, 200, ""); body["disabled_at"] != nil {
		t.Errorf("it became %v", body)
	}
	for _, row := range []struct{ body, code string }{
		{`{}`, "invalid_parameter"},
		{`{"role":"superuser"}`, "invalid_parameter"},
		{`{"role":"admin "}`, "invalid_parameter"},
		{`{"role":""}`, "invalid_parameter"},
		{`{"disabled":true,"rank":"high"}`, "invalid_parameter"},
		{`{"disabled":"yes"}`, "invalid_parameter"},
	} {
		s.want(s.ada, "PATCH", bob, row.body, 400, row.code)
	}
	s.want(s.ada, "PATCH", bob, `{"disabled":true,"instance_admin":true}`, 403, "insufficient_permission")
	s.want(s.ada, "PATCH", at("/users/%d", s.ann.ID), `{"disabled":true}`, 403, "insufficient_permission")
	s.want(s.ann, "PATCH", at("/users/%d", s.ann.ID), `{"disabled":true}`, 409, "conflict")
	s.want(s.ann, "DELETE", at("/users/%d", s.ann.ID), "", 409, "conflict")
	s.want(s.eve, "PATCH", at("/users/%d", s.eve.ID), `{"role":"editor"}`, 409, "conflict")
	if body := s.want(s.ada, "GET", bob, "", 200, ""); body["disabled_at"] != nil || body["role"] != "admin" || body["instance_admin"] != false {
		t.Errorf("refused changes left %v", body)
	}
	s.want(s.ann, "PATCH", bob, `{"instance_admin":true}`, 200, "")
	s.want(s.bob, "PATCH", at("/users/%d", s.ann.ID), `{"instance_admin":false}`, 200, "")
	s.want(s.ann, "GET", "/organizations", "", 403, "insufficient_permission")
}

// Rule: a disabled or demoted account's tokens stop at once where it was done, and so do its sessions; signing out ends
// sessions and leaves tokens.
func TestWhatADisabledAccountHeldStops(t *testing.T) {
	t.Parallel()
	s := open(t)
	held := s.as(s.eve)
	s.want(s.ann, "PATCH", at("/users/%d", s.mel.ID), `{"role":"admin"}`, 200, "")
	session := func() bool {
		user, err := s.accounts.Find(t.Context(), s.eve.ID)
		if err != nil {
			t.Fatal(err)
		}
		cookie, _, err := s.accounts.OpenSession(t.Context(), "", user, accounts.Browser{})
		if err != nil {
			t.Fatal(err)
		}
		s.want(s.ann, "POST", at("/users/%d/sign-out", s.eve.ID), "", 200, "")
		_, open, err := s.accounts.FindSession(t.Context(), cookie)
		if err != nil {
			t.Fatal(err)
		}
		return open
	}
	if session() {
		t.Error("a session outlives the end of all of them")
	}
	s.wantBy(held, "GET", "/users", "", 200, "")
	s.want(s.ann, "PATCH", at("/users/%d", s.eve.ID), `{"role":"viewer"}`, 200, "")
	s.wantBy(held, "GET", "/users", "", 403, "insufficient_permission")
	s.want(s.ann, "PATCH", at("/users/%d", s.eve.ID), `{"role":"admin","disabled":true}`, 200, "")
	s.wantBy(held, "GET", "/users", "", 401, "invalid_token")
}

// Rule (H-046): a row of administration takes a role with its verb, which the refusal names, and of a token the mark and
// the scope; full is neither.
func TestWhoAdministers(t *testing.T) {
	t.Parallel()
	s := open(t)
	marked := s.as(s.ada)
	for about, token := range map[string]string{"an unmarked one": s.token(s.ada, false), "an editor's": s.token(s.bob, false)} {
		for path, verb := range map[string]string{"/users": "administer_members", at("/organizations/%d/budget", s.first.ID): "manage_team_billing"} {
			if body := s.wantBy(token, "GET", path, "", 403, "insufficient_permission"); body["required_permission"] != verb {
				t.Errorf("%s is refused with %v", about, body)
			}
		}
	}
	s.wantBy(s.token(s.ada, true, "read", "write", "delete", "process"), "GET", "/users", "", 403, "insufficient_scope")
	for _, role := range []string{"manager", "contributor", "approver", "viewer"} {
		s.becomes(s.ada, role)
		s.wantBy(marked, "GET", "/users", "", 403, "insufficient_permission")
	}
	s.becomes(s.ada, "owner")
	s.wantBy(marked, "GET", "/users", "", 200, "")
}

// becomes writes a role by hand, and has the process hear of it.
func (s *site) becomes(user models.User, role string) {
	s.t.Helper()
	s.write(func(tx *gorm.DB) error {
		return tx.Model(&models.User{}).Where("id = ?", user.ID).UpdateColumn("role", role).Error
	})
	if err := s.tokens.Read(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}
