package v1_test

import (
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
)

// The form of the stats, and quirk 2: no word makes them those of all accounts.
func TestStatsForm(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.complete(s.recording("a.wav"), "plain", "x")
	s.recording("b.wav")
	for _, query := range []string{"", "?scope=user", "?scope=ALL", "?scope=global", "?scope="} {
		body := s.expect(s.get("/api/v1/stats"+query), 200, "")
		keys(t, "stats", body, "recordings storage queue tokens transcription activity")
		for part, want := range map[string]string{
			"recordings": "total completed processing pending failed", "storage": "used_bytes used_human", "queue": "jobs_queued jobs_processing",
			"tokens":        "used_this_month budget percentage",
			"transcription": "used_this_month_seconds used_this_month_minutes budget_seconds budget_minutes percentage estimated_cost",
			"activity":      "recordings_today last_transcription",
		} {
			keys(t, part, body[part].(map[string]any), want)
		}
		counted, activity := body["recordings"].(map[string]any), body["activity"].(map[string]any)
		if counted["total"] != 2.0 || counted["completed"] != 1.0 || counted["pending"] != 1.0 || activity["recordings_today"] != 1.0 {
			t.Errorf("%s: the figures are %v", query, body)
		}
		if activity["last_transcription"] != "2026-03-05T06:13:46.123456" || body["storage"].(map[string]any)["used_human"] != "15.7 KB" {
			t.Errorf("%s: the figures are %v", query, body)
		}
	}
	s.expect(s.get("/api/v1/stats?scope=all"), 403, "insufficient_permission")
	other := s.expect(s.get("/api/v1/stats", "Authorization", "Bearer "+s.mint(s.account("other"), "read")), 200, "")
	if other["recordings"].(map[string]any)["total"] != 0.0 || other["storage"].(map[string]any)["used_human"] != "0.0 B" {
		t.Errorf("another account has %v", other)
	}
}

// Rule: an administrator of the instance sees the figures of all accounts, with how many those are.
func TestStatsOfAllForm(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.recording("a.wav")
	s.spend(s.account("other"), 0, budgets.Measure{Audio: 90 * time.Second})
	plain := s.finder.Mint(auth.Token{
		ID: 5, UserID: s.user.ID, OrganizationID: s.user.OrganizationID, Role: auth.RoleAdmin, Scopes: auth.ParseScopes("read"), Administration: true, Instance: true,
	})
	body := s.expect(s.get("/api/v1/stats?scope=all", "Authorization", "Bearer "+plain), 200, "")
	keys(t, "stats", body, "recordings storage queue tokens transcription activity users")
	if users := body["users"].(map[string]any); users["total"] != 2.0 || users["active"] != 1.0 {
		t.Errorf("the accounts are %v", users)
	}
	heard := body["transcription"].(map[string]any)
	if heard["used_this_month_seconds"] != 90.0 || heard["used_this_month_minutes"] != 1.0 || heard["budget_seconds"] != nil || heard["estimated_cost"] != 0.0001 {
		t.Errorf("the audio is %v", heard)
	}
	s.expect(s.get("/api/v1/stats?scope=all", s.as(s.user, "admin", "full", true)...), 403, "insufficient_permission")
}

// What was never chosen counts as yes.
func TestAutoSummarizationOfTheAccount(t *testing.T) {
	t.Parallel()
	s := open(t)
	yes, no := true, false
	for _, chosen := range []*bool{nil, &no, &yes} {
		s.write(func(tx *gorm.DB) error {
			return tx.Model(&models.User{}).Where("id = ?", s.user.ID).UpdateColumn("auto_summarization", chosen).Error
		})
		body := s.expect(s.get("/api/v1/users/me"), 200, "")
		if got := body["preferences"].(map[string]any)["auto_summarization"]; got != (chosen == nil || *chosen) {
			t.Errorf("chosen %v is shown as %v", chosen, got)
		}
	}
}

// Lists by what belongs to a recording, over HTTP: bounds and the lenient sides.
func TestListBelongingParameters(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.recording("a.wav")
	for query, want := range map[string]int{
		"tag_id=0": 1, "tag_id=99999999999999999999": 0, "tag_id=-1": 0, "folder_id=NONE": 1, "folder_id=0": 0, "folder_id=x": 1,
		"folder_id=99999999999999999999": 0, "owner_id=x": 1, "external_system=&external_ref=": 1, "external_kind=": 1,
		"external_system=a&external_ref=b&external_kind=c": 0, "owner_id=99999999999999999999": 0,
	} {
		body := s.expect(s.get("/api/v1/recordings?"+query), 200, "")
		if got := len(body["recordings"].([]any)); got != want {
			t.Errorf("?%s shows %d, want %d", query, got, want)
		}
	}
	for _, query := range []string{
		"external_kind=a", "external_system=a&external_ref=%00", "external_system=" + strings.Repeat("a", 41) + "&external_ref=b",
		"external_system=a&external_ref=" + strings.Repeat("a", 501), "external_system=%ff&external_ref=b", "scope=shared&external_ref=b",
	} {
		s.expect(s.get("/api/v1/recordings?"+query), 400, "invalid_parameter")
	}
}
