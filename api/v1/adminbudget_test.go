package v1_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
)

func budgetPath(organization int64) string {
	return fmt.Sprintf("/api/v1/admin/organizations/%d/budget", organization)
}

// put sends JSON.
func (s *site) put(path, body string, header ...string) reply {
	s.t.Helper()
	return s.do(http.MethodPut, path, strings.NewReader(body), append([]string{"Content-Type", "application/json"}, header...)...)
}

// Rule (H-006): a correct call echoes what is stored, and a look at it agrees. A call with a member that is not known, or
// a wrong one, names it and changes nothing.
func TestAnOrganizationsBudgetIsSet(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.budgets.Default = new(int64(7_000_000))
	path, admin := budgetPath(s.user.OrganizationID), s.as(s.user, "admin", "account", true)
	stands := func(stored, inForce any) {
		t.Helper()
		body := s.expect(s.get(path, admin...), 200, "")
		keys(t, "budget", body, "organization_id monthly_usd in_force_usd currency")
		if body["monthly_usd"] != stored || body["in_force_usd"] != inForce || body["organization_id"] != float64(s.user.OrganizationID) {
			t.Errorf("stored is %v, want %v, and %v in force", body, stored, inForce)
		}
	}
	stands(nil, 7.0)
	body := s.expect(s.put(path, `{"monthly_usd": 12.345678}`, admin...), 200, "")
	if body["monthly_usd"] != 12.345678 || body["currency"] != "USD" {
		t.Errorf("the answer is %v", body)
	}
	stands(12.345678, 12.345678)
	for wrong, named := range map[string]string{
		`{"monthly_usd": 1, "max_budget": 5}`:                       "max_budget",
		`{"monthly_use": 1}`:                                        "monthly_use",
		`{"monthly_usd": 1, "` + strings.Repeat("x", 500) + `": 1}`: strings.Repeat("x", 90),
		`{}`:                          "monthly_usd",
		`{"monthly_usd": -0.01}`:      "at least 0",
		`{"monthly_usd": 1000000001}`: "at most 1000000000",
		`{"monthly_usd": 1e999}`:      "monthly_usd",
		`{"monthly_usd": "5"}`:        "monthly_usd",
		`{"monthly_usd": [5]}`:        "monthly_usd",
		`{"monthly_usd": true}`:       "monthly_usd",
	} {
		body := s.expect(s.put(path, wrong, admin...), 400, "invalid_parameter")
		if sentence, _ := body["error"].(string); !strings.Contains(sentence, named) || len(sentence) > 300 {
			t.Errorf("%.60s: the error %q does not name %q, or is long", wrong, sentence, named)
		}
		stands(12.345678, 12.345678)
	}
	s.expect(s.put(path, `{"monthly_usd": 0}`, admin...), 200, "")
	stands(0.0, 0.0)
	s.expect(s.put(path, `{"monthly_usd": null}`, admin...), 200, "")
	stands(nil, 7.0)
	s.expect(s.put(path, `{"monthly_usd": 1000000000}`, admin...), 200, "")
	stands(1e9, 1e9)
}

// Rule: another organization's budget does not exist, but for the administrator of the server; only who has the verb, and
// a token that was made for it, sees or sets one (H-046).
func TestWhoMaySetABudget(t *testing.T) {
	t.Parallel()
	s := open(t)
	stranger := s.account("stranger")
	own, other := budgetPath(s.user.OrganizationID), budgetPath(stranger.OrganizationID)
	admin := s.as(s.user, "admin", "account", true)
	for _, path := range []string{other, budgetPath(999), budgetPath(0), "/api/v1/admin/organizations/mine/budget"} {
		s.expect(s.get(path, admin...), 404, "not_found")
		s.expect(s.put(path, `{"monthly_usd": 1, "unknown": 2}`, admin...), 404, "not_found")
	}
	s.write(func(tx *gorm.DB) error {
		return tx.Model(&models.User{}).Where("id = ?", s.user.ID).UpdateColumn("instance_admin", true).Error
	})
	s.expect(s.put(other, `{"monthly_usd": 3}`, admin...), 200, "")
	s.expect(s.put(budgetPath(999), `{"monthly_usd": 3}`, admin...), 404, "not_found")
	if stored, err := s.budgets.Stored(t.Context(), budgets.Subject{OrganizationID: stranger.OrganizationID}); err != nil || *stored.Micros != 3_000_000 {
		t.Errorf("stored is %+v, %v", stored, err)
	}
	for name, header := range map[string][]string{
		"a viewer's marked token":   s.as(s.user, "viewer", "account", true),
		"a manager's marked token":  s.as(s.user, "manager", "full", true),
		"a token of no known role":  s.as(s.user, "superuser", "full", true),
		"a token without any role":  s.as(s.user, "", "full", true),
		"an admin's unmarked token": s.as(s.user, "admin", "full", false),
		"a viewer's session":        {"Authorization", "", "Cookie", auth.SessionCookie + "=" + s.finder.SignIn(auth.Session{UserID: s.user.ID, OrganizationID: s.user.OrganizationID, Role: "viewer"})},
	} {
		body := s.expect(s.put(own, `{"monthly_usd": 1}`, header...), 403, "insufficient_permission")
		if body["required_permission"] != "manage_team_billing" {
			t.Errorf("%s: the refusal is %v", name, body)
		}
		s.expect(s.get(own, header...), 403, "insufficient_permission")
	}
	s.expect(s.put(own, `{"monthly_usd": 1}`, s.as(s.user, "admin", "read write process", true)...), 403, "insufficient_scope")
	if stored, err := s.budgets.Stored(t.Context(), budgets.Subject{OrganizationID: s.user.OrganizationID}); err != nil || stored.Micros != nil {
		t.Errorf("a refused call stored %+v, %v", stored, err)
	}
}
