package tests

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/tests/servertest"
)

const (
	shareShape  = shape("id:int share_summary:bool share_notes:bool created_at:Z6 expires_at:Z6?")
	shareMade   = shape("share_url:text existing:bool flags_differ:bool share:object")
	shareListed = shareShape + " share_url:text"
)

// shareContract is the contract's rows of public links (newer 15). That they need HTTPS, and can be switched off, is
// shown by TestPublicLink and its kin.
func shareContract(t *testing.T, r *rig) {
	t.Helper()
	r.holds(t, r.ada, shareRules())
	r.holds(t, r.ada, shareBodyRules())
	r.holds(t, r.eve, []rule{
		{says: "who is not the owner finds nothing to share", method: "POST", path: "/api/v1/recordings/{talk}/share", body: `{}`, status: 404, code: "not_found"},
		{says: "nor any links", method: "GET", path: "/api/v1/recordings/{talk}/shares", status: 404, code: "not_found"},
		{says: "nor one to revoke", method: "DELETE", path: "/api/v1/shares/{share}", status: 404, code: "not_found"},
	})
	r.holds(t, r.scoped(t, "read", "write"), []rule{
		{says: "listing links takes share, although it reads", method: "GET", path: "/api/v1/recordings/{talk}/shares", status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}},
	})
	servertest.CreateUser(t, r.environment, "vic@example.org", "--role", "viewer")
	r.holds(t, servertest.CreateToken(t, r.environment, "vic@example.org"), []rule{
		{says: "who may not publish is told so before anything of the recording", method: "POST", path: "/api/v1/recordings/{talk}/share", body: `{"force_new":1}`, status: 403, code: "insufficient_permission", shapes: map[string]shape{"": refusedRole}},
	})
	t.Run("an expired link", func(t *testing.T) { expiredShare(t, r) })
	r.holds(t, r.ada, []rule{
		{says: "an expired link is given again too", method: "POST", path: "/api/v1/recordings/{talk}/share", body: `{}`, status: 200, values: map[string]any{"share.id": "{newer}"}},
		{says: "DELETE is 204", method: "DELETE", path: "/api/v1/shares/{share}", status: 204},
		{says: "DELETE of one that is gone", method: "DELETE", path: "/api/v1/shares/{share}", status: 404, code: "not_found"},
	})
}

func shareRules() []rule {
	const path = "/api/v1/recordings/{talk}/share"
	return []rule{
		{says: "no links yet", method: "GET", path: path + "s", status: 200, shapes: map[string]shape{"": "shares:list"}, values: map[string]any{"shares.len": 0}},
		{
			says: "a new one is 201; the summary is shown and the notes are not, for ever", method: "POST", path: path, body: `{}`, status: 201, keep: "share:share.id",
			shapes: map[string]shape{"": shareMade, "share": shareShape},
			values: map[string]any{"existing": false, "flags_differ": false, "share.share_summary": true, "share.share_notes": false, "share.expires_at": nil},
		},
		{says: "no body is an empty one", method: "POST", path: path, status: 200, values: map[string]any{"existing": true, "share.id": "{share}"}},
		{
			says: "the newest is given again with 200, as it is, and tells that it differs", method: "POST", path: path, body: `{"share_notes":true,"expires_in_days":3}`, status: 200,
			shapes: map[string]shape{"": shareMade, "share": shareShape},
			values: map[string]any{"existing": true, "flags_differ": true, "share.id": "{share}", "share.share_notes": false, "share.expires_at": nil},
		},
		{says: "update_existing makes it as asked", method: "POST", path: path, body: `{"share_notes":true,"share_summary":false,"update_existing":true}`, status: 200, values: map[string]any{"flags_differ": false, "share.share_notes": true, "share.share_summary": false}},
		{
			says: "force_new makes another, which ends", method: "POST", path: path, body: `{"force_new":true,"expires_in_days":3650}`, status: 201, keep: "newer:share.id",
			shapes: map[string]shape{"share": "id:int share_summary:bool share_notes:bool created_at:Z6 expires_at:Z6"}, values: map[string]any{"existing": false},
		},
		{
			says: "listed, the newest first, with where they lead", method: "GET", path: path + "s", status: 200, shapes: map[string]shape{"shares[]": shareListed},
			values: map[string]any{"shares.len": 2, "shares[0].id": "{newer}", "shares[1].id": "{share}"},
		},
		{says: "an unknown recording", method: "POST", path: "/api/v1/recordings/999999/share", body: `{"force_new":1}`, status: 404, code: "not_found"},
		{says: "an unknown recording's links", method: "GET", path: "/api/v1/recordings/999999/shares", status: 404, code: "not_found"},
		{says: "an unknown link", method: "DELETE", path: "/api/v1/shares/999999", status: 404, code: "not_found"},
	}
}

func shareBodyRules() []rule {
	var rules []rule
	for _, field := range []string{"share_summary", "share_notes", "force_new", "update_existing"} {
		for _, value := range []string{`"true"`, `1`, `null`} {
			rules = append(rules, rule{says: field + " that is " + value, method: "POST", path: "/api/v1/recordings/{talk}/share", body: `{"` + field + `":` + value + `}`, status: 400, code: "invalid_parameter"})
		}
	}
	for _, value := range []string{`0`, `-1`, `3651`, `1.5`, `"3"`, `true`} {
		rules = append(rules, rule{says: "expires_in_days that is " + value, method: "POST", path: "/api/v1/recordings/{talk}/share", body: `{"expires_in_days":` + value + `}`, status: 400, code: "invalid_parameter"})
	}
	return append(rules,
		rule{says: "expires_in_days that is null has no end", method: "POST", path: "/api/v1/recordings/{talk}/share", body: `{"expires_in_days":null}`, status: 200},
		rule{says: "a body that is no JSON (ours: 400)", method: "POST", path: "/api/v1/recordings/{talk}/share", body: `{`, status: 400, code: "bad_request"})
}

// expiredShare shows that a link is 22 characters at the public address, works, and is 404 once its end has come.
func expiredShare(t *testing.T, r *rig) {
	t.Helper()
	shares, _ := r.client(t, r.ada).Get(r.fill("/api/v1/recordings/{talk}/shares")).JSON(t)["shares"].([]any)
	newest, _ := shares[0].(map[string]any)
	address, _ := newest["share_url"].(string)
	link, ok := strings.CutPrefix(address, "https://notes.example.org/share/")
	if !ok || len(link) != 22 {
		t.Fatalf("share_url is %s, want 16 bytes of base64 at the public address", address)
	}
	anybody := r.client(t, "")
	if page := anybody.Get("/share/" + link); page.Status != http.StatusOK {
		t.Errorf("before its end: %v", page)
	}
	id, err := strconv.ParseInt(r.ids["newer"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	db := modelstest.Open(t, r.environment["DATABASE_URL"], false)
	err = db.Transaction(t.Context(), func(tx *gorm.DB) error {
		return tx.Model(&models.PublicShare{}).Where("id = ?", id).Update("expires_at", time.Now().Add(-time.Minute)).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/share/" + link, "/share/" + link + "/audio"} {
		if page := anybody.Get(path); page.Status != http.StatusNotFound {
			t.Errorf("%s after its end: %v, want 404", path, page)
		}
	}
}
