package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

func change(current, wanted string) string {
	return fmt.Sprintf(`{"current":%q,"new":%q}`, current, wanted)
}

// audited are the actions of the audit log, in their order.
func (s *server) audited() (actions []string) {
	s.t.Helper()
	if err := s.db.Read.Model(&models.AuditEntry{}).Order("id").Pluck("action", &actions).Error; err != nil {
		s.t.Fatal(err)
	}
	return actions
}

// Rule: who knows the password changes it; every other browser is signed out, this one gets another session, and all of it
// is in the audit log without a password.
func TestChangingThePassword(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{failures: perMinute(2)})
	ann := s.register("ann")
	phone, desk := s.signIn("ann", password), s.signIn("ann", password)
	s.post("/api/auth/password", change(password, "short"), desk).expectProblem(problems.InvalidParameter)
	s.post("/api/auth/password", change(password, better), desk, header("Sec-Fetch-Site", "cross-site")).expectProblem(problems.CrossOrigin)
	s.post("/api/auth/password", change(password, better)).expectProblem(problems.AuthenticationRequired)
	cookie := s.post("/api/auth/password", change(password, better), desk).expect(http.StatusOK).cookie()
	for _, old := range []func(*http.Request){phone, desk} {
		s.ask("GET", "/api/auth/sessions", "", old).expectProblem(problems.InvalidToken)
	}
	now := header("Cookie", cookie.Name+"="+cookie.Value)
	s.ask("GET", "/api/auth/sessions", "", now).expect(http.StatusOK)
	s.login("ann", password).expectProblem(problems.InvalidCredentials)
	s.post("/api/auth/password", change("wrong horse", "another sentence"), now).expectProblem(problems.InvalidCredentials)
	// The guesses of a stolen session count with those of the sign-in.
	s.post("/api/auth/password", change(better, "another sentence"), now).expectProblem(problems.AddressRateLimited)
	want := "sign_in sign_in password.change sign_in.failed password.change.failed"
	if got := strings.Join(s.audited(), " "); got != want {
		t.Errorf("audited is %s", got)
	}
	var entries []models.AuditEntry
	if err := s.db.Read.Find(&entries).Error; err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.ActorID != ann.ID || entry.Address == "" || entry.OrganizationID != ann.OrganizationID || entry.Object != fmt.Sprintf("user %d", ann.ID) {
			t.Errorf("an entry is %+v", entry)
		}
		if strings.HasSuffix(entry.Action, ".failed") != (entry.Outcome == "401 invalid_credentials") {
			t.Errorf("the outcome of %s is %q", entry.Action, entry.Outcome)
		}
		if written := fmt.Sprintf("%+v", entry); strings.Contains(written, "horse") || strings.Contains(written, "sentence") {
			t.Errorf("a password is in %s", written)
		}
	}
}

// Rule: a password of as many bytes as one may have opens wherever it is typed.
func TestTheLongestPasswordOpens(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{})
	longest := strings.Repeat("a sentence. ", 86)[:1024]
	s.post("/api/auth/register", fmt.Sprintf(`{"email":"ann@example.org","username":"ann","password":%q}`, longest)).expect(http.StatusCreated)
	browser := s.signIn("ann", longest)
	s.post("/api/auth/password", change(longest, longest+"."), browser).expectProblem(problems.InvalidParameter)
	s.post("/api/auth/password", change(longest, longest[1:]+"."), browser).expect(http.StatusOK)
	s.signIn("ann", longest[1:]+".")
}

// Rule: sessions are listed to their owner alone, and each can be ended.
func TestSessionsOverHTTP(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{})
	s.register("ann")
	s.register("bob")
	phone := s.signIn("ann", password, header("User-Agent", "Phone"), from("192.0.2.7"))
	desk, bob := s.signIn("ann", password, header("User-Agent", "Desk")), s.signIn("bob", password)
	list := s.ask("GET", "/api/auth/sessions?per_page=1", "", desk).expect(http.StatusOK)
	if sessions := list.body["sessions"].([]any); list.body["pagination"].(map[string]any)["total"] != 2.0 || len(sessions) != 1 || sessions[0].(map[string]any)["current"] != true {
		t.Errorf("the first page is %v", list.body)
	}
	other := s.ask("GET", "/api/auth/sessions?per_page=1&page=2", "", desk).expect(http.StatusOK).body["sessions"].([]any)[0].(map[string]any)
	if other["user_agent"] != "Phone" || other["address"] != "192.0.2.7" || other["current"] != false {
		t.Errorf("the other is %v", other)
	}
	path := fmt.Sprintf("/api/auth/sessions/%.0f", other["id"])
	s.ask("DELETE", path, "", bob).expectProblem(problems.NotFound)
	s.ask("DELETE", path, "", desk).expect(http.StatusOK)
	s.ask("DELETE", path, "", desk).expectProblem(problems.NotFound)
	s.ask("GET", "/api/auth/sessions", "", phone).expectProblem(problems.InvalidToken)
	s.ask("GET", "/api/auth/sessions", "", desk).expect(http.StatusOK)
}

// Rule: whether an address has an account shows neither in the text, the status, the headers nor the limits of who forgot
// a password, and an address is limited however many it asks for (H-078, H-079).
func TestForgettingTellsNothing(t *testing.T) {
	t.Parallel()
	shapes := map[bool]string{}
	for _, known := range []bool{true, false} {
		s := newServer(t, settings{login: perMinute(3)})
		if known {
			s.register("ann")
		}
		for i := range 4 {
			got := s.post("/api/auth/password/forgot", `{"email":"ann@example.com"}`, from("192.0.2.1"))
			if i == 3 {
				got.expectProblem(problems.AddressRateLimited)
			} else {
				got.expect(http.StatusAccepted)
			}
			shapes[known] += fmt.Sprint(got.status, got.body["message"], got.body["code"], len(got.header), got.header.Get("RateLimit"), ";")
		}
		s.post("/api/auth/password/forgot", `{"email":"ann"}`, from("192.0.2.2")).expectProblem(problems.InvalidParameter)
		s.post("/api/auth/password/forgot", `{"email":"ann@example.com"}`, from("192.0.2.2"), header("Sec-Fetch-Site", "cross-site")).expectProblem(problems.CrossOrigin)
	}
	if shapes[true] != shapes[false] {
		t.Errorf("known and unknown addresses are told apart:\n%s\n%s", shapes[true], shapes[false])
	}
}

// Rule: a link's token sets a password once, and what is no such token is refused in one way.
func TestResettingOverHTTP(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{login: perMinute(50)})
	ann := s.register("ann")
	token, err := s.accounts.MakeReset(context.Background(), ann.ID)
	if err != nil {
		t.Fatal(err)
	}
	reset := func(token, wanted string) answer {
		t.Helper()
		return s.post("/api/auth/password/reset", fmt.Sprintf(`{"token":%q,"password":%q}`, token, wanted))
	}
	for _, none := range []string{"rst_", token[1:], token + "x"} {
		reset(none, better).expectProblem(problems.InvalidLink)
	}
	reset(token, "short").expectProblem(problems.InvalidParameter)
	if got := reset(token, better).expect(http.StatusOK); got.header.Get("Set-Cookie") != "" {
		t.Error("a link signs in")
	}
	reset(token, "another sentence").expectProblem(problems.InvalidLink)
	s.login("ann", better).expect(http.StatusOK)
	late, err := s.accounts.MakeReset(context.Background(), ann.ID)
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Hour)
	reset(late, "another sentence").expectProblem(problems.InvalidLink)
}

// Rule: who accepts an invite is signed in to an account of its address and role, whatever else the body says.
func TestAcceptingOverHTTP(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{registration: accounts.ByInvite, register: perMinute(4)})
	boss, err := s.accounts.Create(context.Background(), accounts.NewUser{Email: "boss@example.com", Username: "boss", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	by := accounts.By{Instance: true}
	by.ActorID = boss.ID
	_, link, err := s.accounts.Invite(context.Background(), by, accounts.NewInvite{Email: "ada@example.com", Role: "viewer"})
	token, found := strings.CutPrefix(link, "https://notes.example.org/invite#")
	if err != nil || !found {
		t.Fatalf("the link is %s, %v", link, err)
	}
	accept := func(name string) answer {
		t.Helper()
		return s.post("/api/auth/invites/accept", fmt.Sprintf(`{"token":%q,"username":%q,"password":%q,"role":"admin","email":"eve@example.com"}`, token, name, better))
	}
	accept("boss").expectProblem(problems.Conflict)
	got := accept("ada").expect(http.StatusCreated)
	if got.body["email"] != "ada@example.com" || got.body["role"] != "viewer" {
		t.Errorf("made is %v", got.body)
	}
	cookie := got.cookie()
	s.ask("GET", "/api/auth/sessions", "", header("Cookie", cookie.Name+"="+cookie.Value)).expect(http.StatusOK)
	accept("eve").expectProblem(problems.InvalidLink)
	s.post("/api/auth/register", `{"email":"b@example.com","username":"b","password":"correct horse"}`).expectProblem(problems.RegistrationClosed)
	accept("eve").expectProblem(problems.AddressRateLimited)
}
