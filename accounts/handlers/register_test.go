package handlers_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/problems"
)

const annsWish = `{"email":"Ann@example.com","username":"ann","password":"correct horse"}`

// Registering answers with the account and signs it in; role and organization are not asked for.
func TestRegistering(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{registration: accounts.First})
	got := s.post("/api/auth/register", annsWish).expect(http.StatusCreated)
	if want := map[string]any{"id": 1.0, "username": "ann", "email": "ann@example.com", "role": "admin"}; fmt.Sprint(got.body) != fmt.Sprint(want) {
		t.Errorf("registered is %v", got.body)
	}
	cookie := got.cookie()
	s.post("/api/auth/logout", "", header("Cookie", cookie.Name+"="+cookie.Value)).expect(http.StatusOK)

	closed := s.post("/api/auth/register", `{"email":"b@example.com","username":"b","password":"correct horse"}`).
		expectProblem(problems.RegistrationClosed)
	if closed.header.Get("Set-Cookie") != "" {
		t.Error("a refused registration sets a cookie")
	}
}

// Nobody registers with a role of its choice.
func TestRolesAreNotAskedFor(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{})
	s.register("ann")
	got := s.post("/api/auth/register",
		`{"email":"b@example.com","username":"b","password":"correct horse","role":"admin","instance_admin":true}`).
		expect(http.StatusCreated)
	if got.body["role"] != "editor" {
		t.Errorf("the role is %v", got.body["role"])
	}
}

// A wrong wish is 400, a taken name 409 with the field, and each attempt counts.
func TestRefusedRegistrations(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{register: perMinute(3)})
	s.post("/api/auth/register", annsWish).expect(http.StatusCreated)
	taken := s.post("/api/auth/register", annsWish).expectProblem(problems.Conflict)
	if taken.body["field"] != "email" {
		t.Errorf("the conflict says %v", taken.body)
	}
	s.post("/api/auth/register", `{"email":"b","username":"b","password":"correct horse"}`).
		expectProblem(problems.InvalidParameter)
	s.post("/api/auth/register", annsWish).expectProblem(problems.AddressRateLimited)
}
