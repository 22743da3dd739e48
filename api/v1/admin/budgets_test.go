package admin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
)

// Rule (H-006): a correct call echoes what is stored, and a look at it agrees. A call with a member that is not known, or
// a wrong one, names it and changes nothing.
func TestAnOrganizationsBudgetIsSet(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.budgets.Default = new(int64(7_000_000))
	path := at("/organizations/%d/budget", s.first.ID)
	stands := func(stored, inForce any) {
		t.Helper()
		body := s.want(s.ada, "GET", path, "", 200, "")
		if body["monthly_usd"] != stored || body["in_force_usd"] != inForce || body["organization_id"] != float64(s.first.ID) {
			t.Errorf("stored is %v, want %v, and %v in force", body, stored, inForce)
		}
	}
	stands(nil, 7.0)
	body := s.want(s.ada, "PUT", path, `{"monthly_usd": 12.345678}`, 200, "")
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
		body := s.want(s.ada, "PUT", path, wrong, 400, "invalid_parameter")
		if sentence, _ := body["error"].(string); !strings.Contains(sentence, named) || len(sentence) > 300 {
			t.Errorf("%.60s: the error %q does not name %q, or is long", wrong, sentence, named)
		}
		stands(12.345678, 12.345678)
	}
	for figure, stored := range map[string]any{"0": 0.0, "1000000000": 1e9} {
		s.want(s.ada, "PUT", path, `{"monthly_usd": `+figure+`}`, 200, "")
		stands(stored, stored)
	}
	s.want(s.ada, "PUT", path, `{"monthly_usd": null}`, 200, "")
	stands(nil, 7.0)
	s.want(s.ann, "PUT", at("/organizations/%d/budget", s.second.ID), `{"monthly_usd": 3}`, 200, "")
	if stored, err := s.budgets.Stored(t.Context(), budgets.Subject{OrganizationID: s.second.ID}); err != nil || *stored.Micros != 3_000_000 {
		t.Errorf("stored is %+v, %v", stored, err)
	}
}

// Rule: an account's budget has three figures; what is absent stays, null takes one away, and a wrong call changes nothing.
func TestAnAccountsBudgetIsSet(t *testing.T) {
	t.Parallel()
	s := open(t)
	path := at("/users/%d/budget", s.bob.ID)
	s.want(s.ada, "PUT", path, `{"monthly_usd": 5.5, "monthly_tokens": 1000, "monthly_transcription_seconds": 60}`, 200, "")
	body := s.want(s.ada, "PUT", path, `{"monthly_tokens": null}`, 200, "")
	if body["monthly_usd"] != 5.5 || body["monthly_tokens"] != nil || body["monthly_transcription_seconds"] != 60.0 || body["user_id"] != float64(s.bob.ID) {
		t.Errorf("stored is %v", body)
	}
	for _, wrong := range []string{
		`{}`, `{"monthly_usd": -1}`, `{"monthly_tokens": 1.5}`, `{"monthly_tokens": 1000000000001}`, `{"monthly_transcription_seconds": "all"}`,
		`{"monthly_usd": 1, "budget": 2}`,
	} {
		s.want(s.ada, "PUT", path, wrong, 400, "invalid_parameter")
	}
	if again := s.want(s.ada, "GET", path, "", 200, ""); again["monthly_usd"] != 5.5 || again["monthly_tokens"] != nil {
		t.Errorf("wrong calls left %v", again)
	}
}

// Rule: what an organization spent is told by account, the most first, with who spent nothing too.
func TestUsageByAccount(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.spend(s.ada, budgets.Measure{Input: 30})
	s.spend(s.bob, budgets.Measure{Input: 20, Output: 40})
	s.spend(s.bob, budgets.Measure{Audio: 7 * time.Second})
	s.spend(s.mel, budgets.Measure{Input: 500})
	if _, err := s.budgets.Set(t.Context(), budgets.Subject{UserID: s.bob.ID}, budgets.SetTokens(new(int64(900)))); err != nil {
		t.Fatal(err)
	}
	path := at("/organizations/%d/usage", s.first.ID)
	body := s.want(s.ada, "GET", path, "", 200, "")
	if got := column(body, "users", "username"); got != "bob ada ann" {
		t.Errorf("listed are %s", got)
	}
	whole, _ := body["organization"].(map[string]any)
	first, _ := body["users"].([]any)[0].(map[string]any)["usage"].(map[string]any)
	if whole["spent"] != 97e-6 || first["spent"] != 67e-6 || first["tokens"] != 60.0 || first["tokens_budget"] != 900.0 || first["audio_seconds"] != 7.0 || first["budget"] != nil {
		t.Errorf("the sums are %v and %v", whole, first)
	}
	if got := column(s.want(s.ada, "GET", path+"?page=2&per_page=2", "", 200, ""), "users", "username"); got != "ann" {
		t.Errorf("the second page is %s", got)
	}
	if body := s.want(s.ada, "GET", path+"?month=1999-12", "", 200, ""); body["organization"].(map[string]any)["spent"] != 0.0 {
		t.Errorf("a month before all is %v", body)
	}
	for _, wrong := range []string{"month=1999", "page=0", "per_page=1000"} {
		s.want(s.ada, "GET", path+"?"+wrong, "", 400, "invalid_parameter")
	}
}

// spend has the account pay for a call.
func (s *site) spend(user models.User, most budgets.Measure) {
	s.t.Helper()
	operation := budgets.Chatting
	if most.Audio > 0 {
		operation = budgets.Transcribing
	}
	purse := s.budgets.Purses().Of(budgets.Payer{OrganizationID: user.OrganizationID, UserID: user.ID})
	_, hold, err := purse.Hold(s.t.Context(), budgets.Work{Operation: operation, Engine: budgets.Engine{Provider: "there", Model: "plain"}, Most: most})
	if err == nil {
		err = hold.Send(s.t.Context(), most)
	}
	if err == nil {
		err = hold.Settle(s.t.Context(), budgets.Done, &most, most)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	hold.Close()
}
