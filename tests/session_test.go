package tests

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stenometer/stenometer/tests/modelsql"
	"github.com/stenometer/stenometer/tests/servertest"
)

func signIn(process *servertest.Process, email, password, forwarded string) servertest.Answer {
	client := process.Client("")
	if forwarded != "" {
		client.Header.Set("X-Forwarded-For", forwarded)
	}
	return client.SignIn(email, password)
}

// Rule: a failed login's 401 carries its budget, counting down; then 429 (5 failures a minute of one account from
// one address).
func TestAFailedLoginShowsItsBudgetCountingDown(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t)
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	for left := 4; left >= 0; left-- {
		answer := signIn(process, "ada@example.org", "wrong password", "")
		if answer.Status != http.StatusUnauthorized || answer.Code() != "invalid_credentials" {
			t.Fatalf("got %v, want 401 invalid_credentials", answer)
		}
		if got := answer.Header.Get("X-RateLimit-Remaining"); got != strconv.Itoa(left) {
			t.Errorf("X-RateLimit-Remaining is %q, want %d", got, left)
		}
	}
	for _, password := range []string{"wrong password", servertest.Password} {
		answer := signIn(process, "ada@example.org", password, "")
		if answer.Status != http.StatusTooManyRequests || answer.Code() != "address_rate_limit_exceeded" || answer.Header.Get("Retry-After") == "" {
			t.Errorf("the sixth: %v, want 429 address_rate_limit_exceeded", answer)
		}
	}
}

// Rule: wrong passwords from one address do not lock the owner out at another, and one address is limited over all
// accounts (H-034, H-078, H-079).
func TestFailuresCountAgainstTheAddressNotTheOwner(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t).With(servertest.Environment{"TRUSTED_PROXY_COUNT": "1"})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	for range 12 {
		signIn(process, "ada@example.org", "wrong password", "198.51.100.1")
	}
	if answer := signIn(process, "ada@example.org", "wrong password", "198.51.100.1"); answer.Status != http.StatusTooManyRequests {
		t.Errorf("the attacker's thirteenth attempt: %v, want 429", answer)
	}
	if answer := signIn(process, "ada@example.org", servertest.Password, "203.0.113.9"); answer.Status != http.StatusOK {
		t.Errorf("the owner from elsewhere: %v, want 200", answer)
	}
	for i := range 10 {
		signIn(process, fmt.Sprintf("nobody%d@example.org", i), "wrong password", "198.51.100.2, 198.51.100.3")
	}
	if answer := signIn(process, "nobody@example.org", "wrong password", "198.51.100.99, 198.51.100.3"); answer.Status != http.StatusTooManyRequests {
		t.Errorf("the eleventh account tried from one address: %v, want 429", answer)
	}
	if answer := signIn(process, "ada@example.org", servertest.Password, "198.51.100.2"); answer.Status != http.StatusOK {
		t.Errorf("an address that the attacker wrote to the left of its own: %v, want it unaffected", answer)
	}
}

// Rule: a forwarding header is believed from a trusted proxy alone: from any other peer that peer counts (H-034).
func TestAForwardingHeaderOfAnotherPeerIsNotBelieved(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t).With(servertest.Environment{"TRUSTED_PROXY_COUNT": "1", "TRUSTED_PROXY_NETWORKS": "127.0.0.1/32"})
	process := servertest.Start(t, environment)
	from := func(peer, forwarded string) servertest.Answer {
		client := process.Client("")
		client.Header.Set("X-Forwarded-For", forwarded)
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(peer)}}
		client.HTTP.Transport = &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
		return client.Get("/api/v1/recordings")
	}
	for i := range 30 {
		if answer := from("127.0.0.2", fmt.Sprintf("198.51.100.%d", i)); answer.Status != http.StatusUnauthorized {
			t.Fatalf("request %d: %v", i+1, answer)
		}
	}
	if answer := from("127.0.0.2", "198.51.100.200"); answer.Status != http.StatusTooManyRequests {
		t.Errorf("the stranger's thirty-first, whatever it writes: %v, want 429", answer)
	}
	if answer := from("127.0.0.1", "198.51.100.200"); answer.Status != http.StatusUnauthorized {
		t.Errorf("the address that it wrote, by the proxy: %v, want 401", answer)
	}
}

// Rule: IPv6 is counted by /64, mapped IPv4 as IPv4 (H-035).
func TestOneHouseholdIsOneAddress(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t).With(servertest.Environment{"TRUSTED_PROXY_COUNT": "1"})
	process := servertest.Start(t, environment)
	for i := range 10 {
		signIn(process, fmt.Sprintf("nobody%d@example.org", i), "wrong password", fmt.Sprintf("2001:db8:1:2::%x", i+1))
	}
	if answer := signIn(process, "x@example.org", "wrong password", "[2001:db8:1:2::ffff]:4711"); answer.Status != http.StatusTooManyRequests {
		t.Errorf("the eleventh from one /64: %v, want 429", answer)
	}
	if answer := signIn(process, "x@example.org", "wrong password", "2001:db8:1:3::1"); answer.Status != http.StatusUnauthorized {
		t.Errorf("from another /64: %v, want 401", answer)
	}
	for i := range 10 {
		signIn(process, fmt.Sprintf("nobody%d@example.org", i), "wrong password", "::ffff:192.0.2.7")
	}
	if answer := signIn(process, "x@example.org", "wrong password", "192.0.2.7"); answer.Status != http.StatusTooManyRequests {
		t.Errorf("the same address as plain IPv4: %v, want 429", answer)
	}
}

// Rule: without trusted proxies a forwarding header is not believed; the refusal names the address's limit, and a
// valid token from the same address still works (H-036).
func TestForwardingHeadersAreNotBelievedWithoutAProxy(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t)
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	counted := map[int]int{}
	for i := range 40 {
		client := process.Client("")
		for _, name := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded"} {
			client.Header.Set(name, fmt.Sprintf("198.51.100.%d", i))
		}
		answer := client.Get("/api/v1/recordings")
		counted[answer.Status]++
		if answer.Status == http.StatusTooManyRequests && answer.Code() != "address_rate_limit_exceeded" {
			t.Errorf("got %v, want address_rate_limit_exceeded", answer)
		}
	}
	if counted[401] != 30 || counted[429] != 10 {
		t.Errorf("got %v, want 30 answers 401 and 10 answers 429", counted)
	}
	token := servertest.CreateToken(t, environment, "ada@example.org")
	if answer := process.Client(token).Get("/api/v1/recordings"); answer.Status != http.StatusOK {
		t.Errorf("a valid token from that address: %v, want 200", answer)
	}
	if warnings := strings.Count(process.Logs(), "forwarding header"); warnings != 1 {
		t.Errorf("the log has %d warnings of forwarding headers within a minute, want 1", warnings)
	}
}

// Rule: the session cookie is for the browser alone, and it is another one after each sign-in.
func TestTheSessionCookie(t *testing.T) {
	t.Parallel()
	environment := quiet(t)
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	client := process.Client("")
	first := client.SignIn("ada@example.org", servertest.Password)
	cookie := client.Cookies[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Secure {
		t.Errorf("over plain HTTP the cookie is %q, want HttpOnly, SameSite=Lax, Path=/, not Secure", first.Header.Get("Set-Cookie"))
	}
	again := process.Client("")
	again.Cookies = client.Cookies
	again.SignIn("ada@example.org", servertest.Password)
	if again.Cookies[0].Value == cookie.Value {
		t.Error("a second sign-in kept the session's token")
	}
	if answer := client.Get("/api/v1/recordings"); answer.Status != http.StatusUnauthorized {
		t.Errorf("the cookie from before the second sign-in: %v, want 401", answer)
	}
	if answer := again.Call(http.MethodPost, "/api/auth/logout", nil, nil); answer.Status != http.StatusOK && answer.Status != http.StatusNoContent {
		t.Fatalf("sign-out: %v", answer)
	}
	if answer := again.Get("/api/v1/recordings"); answer.Status != http.StatusUnauthorized {
		t.Errorf("after signing out: %v, want 401", answer)
	}
	if modelsql.Contains(t, environment, "sessions", cookie.Value) || modelsql.Contains(t, environment, "sessions", again.Cookies[0].Value) {
		t.Error("the cookie's value stands in the sessions table")
	}
}

// Rule: behind TLS the cookie is Secure.
func TestTheSessionCookieBehindTLS(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(servertest.Environment{"TRUSTED_PROXY_COUNT": "1"})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	client := process.Client("")
	client.Header.Set("X-Forwarded-For", "198.51.100.4")
	client.Header.Set("X-Forwarded-Proto", "https")
	client.SignIn("ada@example.org", servertest.Password)
	if len(client.Cookies) != 1 || !client.Cookies[0].Secure {
		t.Errorf("got %v, want a Secure cookie", client.Cookies)
	}
}

// Rule: an unsafe request that a cookie authenticates needs same-origin proof, API v1 included; a token in the query
// changes nothing of it (H-077).
func TestAnotherSiteCannotUseTheSession(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(servertest.Environment{"API_ALLOW_QUERY_TOKEN": "true"})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	token := servertest.CreateToken(t, environment, "ada@example.org")
	client := process.Client("")
	client.SignIn("ada@example.org", servertest.Password)
	for _, row := range []struct {
		name, path string
		header     http.Header
		status     int
		code       string
	}{
		{"same origin", "/api/tokens", http.Header{"Sec-Fetch-Site": {"same-origin"}}, 201, ""},
		{"another site", "/api/tokens", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403, "cross_origin"},
		{"a sister site", "/api/tokens", http.Header{"Sec-Fetch-Site": {"same-site"}}, 403, "cross_origin"},
		{"an old browser", "/api/tokens", http.Header{"Origin": {"https://evil.example"}}, 403, "cross_origin"},
		{"API v1", "/api/v1/recordings/1/transcribe", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403, "cross_origin"},
		{"any query token", "/api/tokens?token=anything", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403, "cross_origin"},
		{"a valid query token", "/api/tokens?token=" + token, http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403, "cross_origin"},
		{"a token in a header", "/api/v1/recordings/1/transcribe", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Authorization": {"Bearer " + token}}, 404, "not_found"},
	} {
		row.header.Set("Content-Type", "application/json")
		answer := client.Call(http.MethodPost, row.path, bytes.NewReader([]byte(`{"name":"x"}`)), row.header)
		if answer.Status != row.status || answer.Code() != row.code {
			t.Errorf("%s: %v, want %d %s", row.name, answer, row.status, row.code)
		}
	}
	login := process.Client("")
	login.Header.Set("Sec-Fetch-Site", "cross-site")
	if answer := login.SignIn("ada@example.org", servertest.Password); answer.Status != http.StatusForbidden {
		t.Errorf("another site signs its visitor in: %v, want 403", answer)
	}
}

// Rule: the first account is the administrator of a first organization, and there is one first: of two that race to
// register, one gets in. Afterwards registration is closed.
func TestTheFirstRegistration(t *testing.T) {
	t.Parallel()
	process := servertest.Start(t, quiet(t).With(servertest.Environment{"REGISTER_RATE_LIMIT": "0"}))
	statuses := make([]int, 8)
	var wait sync.WaitGroup
	for i := range statuses {
		wait.Go(func() {
			answer := process.Client("").Send(http.MethodPost, "/api/auth/register", map[string]any{
				"email": fmt.Sprintf("a%d@example.org", i), "username": fmt.Sprintf("a%d", i), "password": servertest.Password,
			})
			statuses[i] = answer.Status
		})
	}
	wait.Wait()
	counted := map[int]int{}
	for _, status := range statuses {
		counted[status]++
	}
	if counted[201] != 1 || counted[403] != 7 {
		t.Errorf("eight racing first registrations: %v, want one 201 and seven 403", counted)
	}
}

// Rule: the limits of sessions hold for requests with a cookie and without any credential, of pages and of the API alike and
// together, at each of their windows; a request with a token is not counted by them, nor refused.
func TestSessionsAndStrangersAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t).With(servertest.Environment{"TRUSTED_PROXY_COUNT": "1", "SESSION_RATE_LIMIT": "11 per hour;10 per day"})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	from := func(client *servertest.Client, address string) *servertest.Client {
		client.Header.Set("X-Forwarded-For", address)
		return client
	}
	const here = "198.51.100.1"
	token := from(process.Client(servertest.CreateToken(t, environment, "ada@example.org")), here)
	cookie, stranger := from(process.Client(""), here), from(process.Client(""), here)
	cookie.SignIn("ada@example.org", servertest.Password) // the first of ten
	asks := map[string]func() servertest.Answer{
		"a cookie's API":    func() servertest.Answer { return cookie.Get("/api/v1/recordings") },
		"a cookie's page":   func() servertest.Answer { return cookie.Get("/") },
		"a stranger's page": func() servertest.Answer { return stranger.Get("/sign-in") },
		"a stranger's API":  func() servertest.Answer { return stranger.Get("/api/v1/openapi.json") },
	}
	tokens := func() {
		t.Helper()
		for _, path := range []string{"/api/v1/recordings", "/api/v1/recordings", "/api/v1/users/me", "/sign-in"} {
			answer := token.Get(path)
			if answer.Status != http.StatusOK || strings.Contains(answer.Header.Get("RateLimit-Policy"), "session_address") {
				t.Errorf("a token's %s: %v %v, want 200 and no limit of sessions", path, answer.Status, answer.Header["Ratelimit-Policy"])
			}
		}
	}
	for range 2 {
		for name, ask := range asks {
			policy := ask().Header.Get("RateLimit-Policy")
			if !strings.Contains(policy, "q=11;w=3600") || !strings.Contains(policy, "q=10;w=86400") {
				t.Errorf("%s is counted by %s", name, policy)
			}
		}
		tokens()
	}
	if last := stranger.Get("/invite"); last.Status != http.StatusOK || last.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("the tenth: %v", last)
	}
	for name, ask := range asks {
		answer := ask()
		wait, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		if answer.Status != http.StatusTooManyRequests || answer.Code() != "address_rate_limit_exceeded" || wait <= 3600 {
			t.Errorf("the eleventh, %s: %v, want 429 until the day is over", name, answer)
		}
	}
	tokens()
	if elsewhere := from(process.Client(""), "198.51.100.2").Get("/sign-in"); elsewhere.Status != http.StatusOK {
		t.Errorf("from another address: %v", elsewhere)
	}
}
