package v1_test

import (
	"fmt"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
)

// spend makes one call for an account, of so many tokens or seconds, each of which costs a micro-dollar.
func (s *site) spend(user models.User, tokenID int64, most budgets.Measure) {
	s.t.Helper()
	operation := budgets.Chatting
	if most.Audio > 0 {
		operation = budgets.Transcribing
	}
	purse := s.budgets.Purses().Of(budgets.Payer{OrganizationID: user.OrganizationID, UserID: user.ID, TokenID: tokenID})
	_, hold, err := purse.Hold(s.t.Context(), budgets.Work{
		Operation: operation, Engine: budgets.Engine{Provider: "there", Model: "plain"}, Most: most,
	})
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

func (s *site) setBudget(subject budgets.Subject, changes ...budgets.Change) {
	s.t.Helper()
	if _, err := s.budgets.Set(s.t.Context(), subject, changes...); err != nil {
		s.t.Fatal(err)
	}
}

// colleague is another account of the owner's organization.
func (s *site) colleague() models.User {
	user := models.User{
		OrganizationID: s.user.OrganizationID, Email: "colleague@example.org", Username: "colleague", PasswordHash: "-", Role: "editor", CreatedAt: time.Now(),
	}
	s.write(func(tx *gorm.DB) error { return tx.Create(&user).Error })
	return user
}

// as is the header of a token of the account with a role, marked for administration or not.
func (s *site) as(user models.User, role, scopes string, marked bool) []string {
	return []string{"Authorization", "Bearer " + s.finder.Mint(auth.Token{
		ID: time.Now().UnixNano(), UserID: user.ID, OrganizationID: user.OrganizationID, Role: role, Scopes: auth.ParseScopes(scopes), Administration: marked,
	})}
}

// Rule: who spent what is told to its account, and of the whole organization to who may see it; nobody sees another's.
func TestUsageIsToldToWhoMaySeeIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	token := models.APIToken{UserID: s.user.ID, Name: "n8n", TokenHash: fmt.Sprintf("%064d", 1), Scopes: "full"}
	s.write(func(tx *gorm.DB) error { return tx.Create(&token).Error })
	colleague, stranger := s.colleague(), s.account("stranger")
	s.setBudget(budgets.Subject{OrganizationID: s.user.OrganizationID}, budgets.SetMicros(new(int64(100))))
	s.spend(s.user, token.ID, budgets.Measure{Input: 30, Output: 5})
	s.spend(s.user, 0, budgets.Measure{Audio: 7 * time.Second})
	s.spend(colleague, 0, budgets.Measure{Input: 20})

	own := s.expect(s.get("/api/v1/usage"), 200, "")
	keys(t, "usage", own, "month time_zone currency resets_at scope group_by account organization holds entries pagination")
	account := own["account"].(map[string]any)
	keys(t, "account", account, "spent held budget left alerts tokens audio_seconds")
	if account["spent"] != 42e-6 || account["budget"] != nil || account["left"] != nil || account["tokens"].(map[string]any)["spent"] != 35.0 || account["audio_seconds"].(map[string]any)["spent"] != 7.0 {
		t.Errorf("the account stands at %v", account)
	}
	if own["organization"] != nil || own["scope"] != "own" || own["currency"] != "USD" || own["time_zone"] != "UTC" || own["holds"] != 0.0 {
		t.Errorf("an editor sees %v", own)
	}
	entries := own["entries"].([]any)
	if len(entries) != 2 || own["pagination"].(map[string]any)["total"] != 2.0 {
		t.Fatalf("there are %d entries: %v", len(entries), entries)
	}
	chat := entries[0].(map[string]any)
	keys(t, "entry", chat, "day operation model provider token_id token_name calls input_tokens output_tokens audio_seconds charged estimated_calls unknown_calls")
	if chat["operation"] != "chat" || chat["token_name"] != "n8n" || chat["charged"] != 35e-6 || chat["calls"] != 1.0 || chat["estimated_calls"] != 0.0 {
		t.Errorf("the first entry is %v", chat)
	}

	s.expect(s.get("/api/v1/usage?scope=organization"), 403, "insufficient_permission")
	for _, role := range []string{"admin", "owner"} {
		whole := s.expect(s.get("/api/v1/usage?scope=organization&group_by=operation", s.as(s.user, role, "read", false)...), 200, "")
		organization := whole["organization"].(map[string]any)
		if organization["spent"] != 62e-6 || organization["left"] != 38e-6 || fmt.Sprint(organization["alerts"]) != "[50]" || whole["scope"] != "organization" {
			t.Errorf("the organization stands at %v", organization)
		}
		first := whole["entries"].([]any)[0].(map[string]any)
		if first["charged"] != 55e-6 || first["calls"] != 2.0 || first["day"] != nil || first["model"] != nil || first["token_id"] != nil {
			t.Errorf("by operation the first entry is %v", first)
		}
	}
	theirs := s.expect(s.get("/api/v1/usage?scope=organization", s.as(stranger, "admin", "full", true)...), 200, "")
	if theirs["organization"].(map[string]any)["spent"] != 0.0 || len(theirs["entries"].([]any)) != 0 {
		t.Errorf("another organization sees %v", theirs)
	}
	s.expect(s.get("/api/v1/usage", s.as(s.user, "admin", "write process account", true)...), 403, "insufficient_scope")
}

// Rule: what is asked for is bounded: months, words and pages.
func TestUsageParameters(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.spend(s.user, 0, budgets.Measure{Input: 3})
	s.spend(s.user, 0, budgets.Measure{Audio: time.Second})
	for query, want := range map[string]int{
		"": 2, "group_by=": 2, "group_by=,": 2, "group_by=day": 1, "group_by=model,%20token": 1, "group_by=operation,operation,": 2, "per_page=1": 1, "per_page=1&page=3": 0,
		"page=99999999999999999999&per_page=1000": 0, "month=1999-12": 0, "scope=own": 2, "group_by=day,operation,model,token": 2,
	} {
		body := s.expect(s.get("/api/v1/usage?"+query), 200, "")
		if got := len(body["entries"].([]any)); got != want {
			t.Errorf("?%s shows %d entries, want %d", query, got, want)
		}
	}
	for _, query := range []string{"month=2026", "month=2026-13", "month=now", "scope=all", "scope=user", "group_by=user", "group_by=day|token", "group_by=%00"} {
		s.expect(s.get("/api/v1/usage?"+query), 400, "invalid_parameter")
	}
}

// Rule: the dashboard's figures are those of the account's month, against its own budgets.
func TestStatsTellWhatWasUsed(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.spend(s.user, 0, budgets.Measure{Input: 100, Output: 25})
	s.spend(s.user, 0, budgets.Measure{Audio: 160 * time.Second})
	s.spend(s.colleague(), 0, budgets.Measure{Input: 50, Audio: 0})
	s.setBudget(budgets.Subject{UserID: s.user.ID}, budgets.SetTokens(new(int64(1000))), budgets.SetSeconds(new(int64(100))))
	body := s.expect(s.get("/api/v1/stats"), 200, "")
	for part, want := range map[string]string{
		"tokens":        "map[budget:1000 percentage:12.5 used_this_month:125]",
		"transcription": "map[budget_minutes:1 budget_seconds:100 estimated_cost:0.0002 percentage:160 used_this_month_minutes:2 used_this_month_seconds:160]",
	} {
		if got := fmt.Sprint(body[part]); got != want {
			t.Errorf("%s is %s, want %s", part, got, want)
		}
	}
	s.setBudget(budgets.Subject{UserID: s.user.ID}, budgets.SetTokens(new(int64(0))), budgets.SetSeconds(nil))
	body = s.expect(s.get("/api/v1/stats"), 200, "")
	if tokens, heard := body["tokens"].(map[string]any), body["transcription"].(map[string]any); tokens["percentage"] != 100.0 || heard["percentage"] != nil || heard["budget_minutes"] != nil {
		t.Errorf("without budgets the figures are %v and %v", tokens, heard)
	}
}
