package handlers_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// One signs in by address or name and gets the account and a cookie that scripts and other sites can't use.
func TestSigningInAndOut(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{})
	ann := s.register("ann")
	for _, body := range []string{
		`{"email":"ANN@example.com","password":"correct horse"}`,
		`{"username":"ann","password":"correct horse"}`,
		`{"email":"","username":"ann@example.com","password":"correct horse","remember":true}`,
	} {
		got := s.post("/api/auth/login", body).expect(http.StatusOK)
		if want := map[string]any{"id": float64(ann.ID), "username": "ann", "email": "ann@example.com", "role": "admin"}; fmt.Sprint(got.body) != fmt.Sprint(want) {
			t.Errorf("%s: %v", body, got.body)
		}
		cookie := got.cookie()
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" ||
			cookie.Secure || cookie.MaxAge != 336*3600 {
			t.Errorf("the cookie is %+v", cookie)
		}
		if got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("Cache-Control is %q", got.header.Get("Cache-Control"))
		}
		signedIn := header("Cookie", cookie.Name+"="+cookie.Value)
		out := s.post("/api/auth/logout", "", signedIn).expect(http.StatusOK)
		if out.cookie().MaxAge >= 0 || out.cookie().Value != "" {
			t.Errorf("signing out leaves the cookie %+v", out.cookie())
		}
		s.post("/api/auth/logout", "", signedIn).expect(http.StatusUnauthorized)
	}
	s.post("/api/auth/logout", "").expectProblem(problems.AuthenticationRequired)
}

// Signing in again ends the session that the browser had.
func TestSigningInEndsTheSessionBefore(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{})
	s.register("ann")
	before := s.login("ann", password).expect(http.StatusOK).cookie()
	old := header("Cookie", before.Name+"="+before.Value)
	after := s.login("ann", password, old).expect(http.StatusOK).cookie()
	if after.Value == before.Value {
		t.Error("the session was not rotated")
	}
	s.post("/api/auth/logout", "", old).expectProblem(problems.InvalidToken)
	s.post("/api/auth/logout", "", header("Cookie", after.Name+"="+after.Value)).expect(http.StatusOK)
}

// The cookie is Secure behind TLS, and where the public URL is https.
func TestSecureCookies(t *testing.T) {
	t.Parallel()
	https := header("X-Forwarded-Proto", "https")
	s := newServer(t, settings{})
	s.register("ann")
	if !s.login("ann", password, from("10.0.0.1"), https).expect(http.StatusOK).cookie().Secure {
		t.Error("behind a proxy that speaks TLS the cookie is not Secure")
	}
	if s.login("ann", password, from("192.0.2.1"), https).expect(http.StatusOK).cookie().Secure {
		t.Error("a stranger's header was believed")
	}
	public := newServer(t, settings{secureCookies: true})
	public.register("ann")
	if !public.login("ann", password).expect(http.StatusOK).cookie().Secure {
		t.Error("with a public URL of https the cookie is not Secure")
	}
}

// Another site can't sign a browser in, out or up.
func TestOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{})
	s.register("ann")
	cookie := s.login("ann", password).expect(http.StatusOK).cookie()
	for _, elsewhere := range []func(*http.Request){
		header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Site", "same-site"), header("Origin", "https://evil.example"),
	} {
		s.login("ann", password, elsewhere).expectProblem(problems.CrossOrigin)
		s.post("/api/auth/register", `{"email":"b@example.com","username":"b","password":"correct horse"}`, elsewhere).
			expectProblem(problems.CrossOrigin)
		s.post("/api/auth/logout", "", elsewhere, header("Cookie", cookie.Name+"="+cookie.Value)).
			expectProblem(problems.CrossOrigin)
	}
	s.login("ann", password, header("Sec-Fetch-Site", "same-origin")).expect(http.StatusOK)
}

// What is no sign-in is said to be none, and isn't counted as a wrong password.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{failures: perMinute(1)})
	s.register("ann")
	for _, body := range []string{
		`{}`, `{"email":"ann"}`, `{"password":"correct horse"}`, `{"email":7,"password":"x"}`, `{"email":"ann","password":null}`,
	} {
		s.post("/api/auth/login", body).expectProblem(problems.InvalidParameter)
	}
	s.post("/api/auth/login", `email=ann&password=x`, header("Content-Type", "application/x-www-form-urlencoded")).
		expectProblem(problems.UnsupportedMediaType)
	s.login("ann", password).expect(http.StatusOK)
}

// A failed sign-in is 401 and shows its budget counting down; used up, even the right password is refused from that
// address, and the owner gets in from another one.
func TestGuessingIsStoppedAndTheOwnerGetsIn(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{failures: perMinute(5), login: perMinute(1000)})
	s.register("ann")
	for left := 4; left >= 0; left-- {
		name := []string{"ann", "ann@example.com"}[left%2]
		got := s.login(name, "wrong horse", from("192.0.2.1")).expectProblem(problems.InvalidCredentials)
		if remaining := got.header.Get("X-RateLimit-Remaining"); remaining != strconv.Itoa(left) {
			t.Errorf("the answer says %s are left, want %d", remaining, left)
		}
		if got.header.Get("RateLimit") == "" || got.header.Get("Set-Cookie") != "" {
			t.Errorf("a failed sign-in has the headers %v", got.header)
		}
	}
	for range 95 {
		s.login("ann", "wrong horse", from("192.0.2.1")).expectProblem(problems.AddressRateLimited)
	}
	refused := s.login("ann", password, from("192.0.2.1")).expectProblem(problems.AddressRateLimited)
	if limit := refused.body["limit"].(map[string]any); limit["name"] != "login_failures" || limit["limit"] != 5.0 {
		t.Errorf("the refusal names %v", limit)
	}
	s.login("ann", password, from("192.0.2.2")).expect(http.StatusOK)
	s.register("bob")
	s.login("bob", password, from("192.0.2.1")).expect(http.StatusOK)

	wait, err := strconv.Atoi(refused.header.Get("Retry-After"))
	if err != nil || wait < 1 {
		t.Fatalf("Retry-After is %q", refused.header.Get("Retry-After"))
	}
	s.clock.Advance(time.Duration(wait) * time.Second)
	s.login("ann", password, from("192.0.2.1")).expect(http.StatusOK)
}

// Failures spread over many prefixes leave the owner's own address alone.
func TestFailuresFromEverywhereDoNotLockTheOwnerOut(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{failures: perMinute(5), login: perMinute(10)})
	s.register("ann")
	for prefix := range 20 {
		s.login("ann", "wrong horse", from(fmt.Sprintf("2001:db8:%x::1", prefix))).expectProblem(problems.InvalidCredentials)
	}
	s.login("ann", password, from("2001:db8:ffff::1")).expect(http.StatusOK)
}

// An address is limited whether it tries many accounts once or one often, whether or not they exist; known and
// unknown accounts are told apart by nothing in the answers.
func TestAnAddressIsLimitedOverAllAccounts(t *testing.T) {
	t.Parallel()
	shapes := make(map[string]string)
	for _, known := range []bool{true, false} {
		for about, name := range map[string]func(int) string{
			"many": func(i int) string { return fmt.Sprintf("user%d", i%10) },
			"one":  func(int) string { return "user7" },
		} {
			s := newServer(t, settings{failures: perMinute(5), login: perMinute(10)})
			if known {
				for i := range 10 {
					s.register(fmt.Sprintf("user%d", i))
				}
			}
			shape := ""
			for i := range 15 {
				got := s.login(name(i), "wrong horse", from("192.0.2.1"))
				shape += fmt.Sprint(got.status, got.body["code"], got.body["error"], got.header.Get("X-RateLimit-Remaining"), ";")
				if i >= 10 {
					got.expectProblem(problems.AddressRateLimited)
				}
			}
			if other, ok := shapes[about]; ok && other != shape {
				t.Errorf("%s: known and unknown accounts are told apart:\n%s\n%s", about, other, shape)
			}
			shapes[about] = shape
		}
	}
}

// Failed sign-ins are among the 401s that an address is allowed.
func TestFailuresCountAsUnauthorized(t *testing.T) {
	t.Parallel()
	s := newServer(t, settings{unauthorized: perMinute(2)})
	s.register("ann")
	for range 2 {
		s.login("ann", "wrong horse").expectProblem(problems.InvalidCredentials)
	}
	got := s.login("ann", "wrong horse").expectProblem(problems.AddressRateLimited)
	if limit := got.body["limit"].(map[string]any); limit["name"] != "auth_failures" {
		t.Errorf("the refusal names %v", limit)
	}
	s.login("ann", password).expect(http.StatusOK)
}
