package handlers_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tokens"
)

// Any valid token may look at itself: times with a zone, last used now, and where it stood.
func TestCurrent(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{queryToken: true})
	userID, browser := s.signIn("ann")
	name := "phone"
	scoped, token := s.mint(tokens.Wish{UserID: userID, Name: &name, Scopes: []string{"upload"}, ExpiresInDays: 1})
	s.clock.Advance(90*time.Minute + 250*time.Millisecond)
	s.ask("GET", "/api/v1/tokens/current", scoped, "").expect(http.StatusOK).expectFields(map[string]any{
		"id": token.ID, "name": "phone", "scopes": []string{"upload"}, "created_at": "2026-03-05T06:13:46.000000Z",
		"expires_at": "2026-03-06T06:13:46.000000Z", "last_used_at": "2026-03-05T07:43:46.250000Z", "via": "header",
		"rate_limits": nil,
	})
	full, _ := s.mint(tokens.Wish{UserID: userID})
	asked := s.ask("GET", "/api/v1/tokens/current?token="+full, "", "").expect(http.StatusOK)
	if asked.body["via"] != "query" || asked.body["expires_at"] != nil {
		t.Errorf("by query: %v", asked.body)
	}
	s.ask("GET", "/api/v1/tokens/current", browser, "").expectProblem(problems.NotFound)
	s.ask("GET", "/api/v1/tokens/current", "", "").expectProblem(problems.AuthenticationRequired)
}

// Any token may revoke itself, whatever its scopes; a session is not a token.
func TestATokenRevokesItself(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{})
	userID, browser := s.signIn("ann")
	scoped, _ := s.mint(tokens.Wish{UserID: userID, Scopes: []string{"read"}})
	other, _ := s.mint(tokens.Wish{UserID: userID})
	s.ask("DELETE", "/api/v1/tokens/current", browser, "").expectProblem(problems.NotFound)
	s.ask("DELETE", "/api/v1/tokens/current", scoped, "").expect(http.StatusOK)
	s.ask("GET", "/api/v1/tokens/current", scoped, "").expectProblem(problems.InvalidToken)
	s.ask("GET", "/api/v1/tokens/current", other, "").expect(http.StatusOK)
}
