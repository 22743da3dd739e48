package v1_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/auth"
)

// byHTTPS is what a proxy of ours writes.
var byHTTPS = []string{"X-Forwarded-Proto", "https", "Content-Type", "application/json"}

func (s *site) shareOf(id int64, body string, header ...string) reply {
	s.t.Helper()
	return s.do(http.MethodPost, fmt.Sprintf("/api/v1/recordings/%d/share", id), strings.NewReader(body), append(append([]string{}, byHTTPS...), header...)...)
}

// The forms of the contract: 201 for a new link, 200 for one that is given again, the list newest first, 204.
func TestSharesHaveTheContractsForm(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	made := s.expect(s.shareOf(id, `{"share_notes":true,"expires_in_days":3650,"unknown":1}`), http.StatusCreated, "")
	keys(t, "publication", made, "share_url existing flags_differ share")
	share, _ := made["share"].(map[string]any)
	keys(t, "share", share, "id share_summary share_notes created_at expires_at")
	address, _ := made["share_url"].(string)
	if link, ok := strings.CutPrefix(address, "http://notes.example.org/share/"); !ok || len(link) != 22 {
		t.Errorf("share_url is %q", address)
	}
	if made["existing"] != false || made["flags_differ"] != false || share["share_summary"] != true || share["share_notes"] != true ||
		!strings.HasSuffix(share["expires_at"].(string), "Z") || len(share["created_at"].(string)) != len("2026-03-05T06:13:46.000000Z") {
		t.Errorf("made %v", made)
	}
	for _, body := range []string{"", "{}", `{"expires_in_days":null}`} {
		again := s.expect(s.shareOf(id, body), http.StatusOK, "")
		if again["existing"] != true || again["flags_differ"] != true || again["share_url"] != address {
			t.Errorf("after %q: %v", body, again)
		}
	}
	fresh := s.expect(s.shareOf(id, `{"force_new":true}`), http.StatusCreated, "")
	list := s.expect(s.get(fmt.Sprintf("/api/v1/recordings/%d/shares", id)), http.StatusOK, "")["shares"].([]any)
	if len(list) != 2 || list[0].(map[string]any)["share_url"] != fresh["share_url"] {
		t.Errorf("the list is %v", list)
	}
	keys(t, "listed share", list[0].(map[string]any), "id share_summary share_notes created_at expires_at share_url")
	path := fmt.Sprintf("/api/v1/shares/%.0f", share["id"])
	if r := s.do(http.MethodDelete, path, nil); r.StatusCode != http.StatusNoContent || len(r.body) != 0 {
		t.Errorf("revoked: %d %q", r.StatusCode, r.body)
	}
	s.expect(s.do(http.MethodDelete, path, nil), http.StatusNotFound, "not_found")
}

// Flags are JSON booleans, the life is 1 to 3650 days; the error names the field, and nothing is made.
func TestSharesRefuseWhatIsNoFlag(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	for _, body := range []string{
		`{"share_summary":"true"}`, `{"share_summary":1}`, `{"share_summary":null}`, `{"share_notes":"x"}`, `{"share_notes":null}`,
		`{"force_new":0}`, `{"force_new":null}`, `{"update_existing":[]}`, `{"update_existing":null}`,
		`{"expires_in_days":0}`, `{"expires_in_days":3651}`, `{"expires_in_days":-1}`, `{"expires_in_days":1.5}`, `{"expires_in_days":true}`, `{"expires_in_days":"7"}`,
	} {
		field, _, _ := strings.Cut(strings.TrimPrefix(body, `{"`), `"`)
		refusal := s.expect(s.shareOf(id, body), http.StatusBadRequest, "invalid_parameter")
		if text, _ := refusal["error"].(string); !strings.Contains(text, field) {
			t.Errorf("%s: the error %q does not name the field", body, text)
		}
	}
	if list := s.expect(s.get(fmt.Sprintf("/api/v1/recordings/%d/shares", id)), http.StatusOK, "")["shares"].([]any); len(list) != 0 {
		t.Errorf("links were made: %v", list)
	}
}

// The contract's order of refusals: the role before HTTPS, HTTPS before the recording, the recording before the body.
// List and revocation need no HTTPS. Another's recording and link do not exist.
func TestSharesAreRefusedInOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	viewer := s.finder.Mint(auth.Token{ID: 9, UserID: s.user.ID, OrganizationID: s.user.OrganizationID, Role: "viewer", Scopes: auth.FullScopes()})
	const bad = `{"force_new":"x"}`
	plain := []string{"X-Forwarded-Proto", "http"}
	s.expect(s.shareOf(id, bad, append(plain, "Authorization", "Bearer "+viewer)...), http.StatusForbidden, "insufficient_permission")
	s.expect(s.shareOf(999, bad, plain...), http.StatusForbidden, "https_required")
	s.expect(s.shareOf(999, bad), http.StatusNotFound, "not_found")
	stranger := "Bearer " + s.mint(s.account("stranger"), "full")
	s.expect(s.shareOf(id, bad, "Authorization", stranger), http.StatusNotFound, "not_found")
	made := s.expect(s.shareOf(id, ""), http.StatusCreated, "")
	path := fmt.Sprintf("/api/v1/shares/%.0f", made["share"].(map[string]any)["id"])
	s.expect(s.do(http.MethodDelete, path, nil, "Authorization", stranger), http.StatusNotFound, "not_found")
	s.expect(s.get(fmt.Sprintf("/api/v1/recordings/%d/shares", id), "Authorization", stranger), http.StatusNotFound, "not_found")
	if r := s.do(http.MethodDelete, path, nil, "Authorization", "Bearer "+viewer); r.StatusCode != http.StatusNoContent {
		t.Errorf("whoever lost the verb cannot take its link back: %d", r.StatusCode)
	}
	for token, can := range map[string]bool{viewer: false, s.token: true} {
		features := s.expect(s.get("/api/v1/capabilities", "Authorization", "Bearer "+token), http.StatusOK, "")["features"].(map[string]any)
		me := s.expect(s.get("/api/v1/users/me", "Authorization", "Bearer "+token), http.StatusOK, "")
		if features["share_links"] != true || features["public_sharing"] != true || features["can_share_publicly"] != can || me["can_share_publicly"] != can {
			t.Errorf("features are %v, the account %v, want can_share_publicly %v", features, me["can_share_publicly"], can)
		}
	}
}
