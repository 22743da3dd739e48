package web_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/auth"
)

const sessionOfSomebody = auth.SessionCookie + "=whatever"

// Rule: the pages on which passwords are typed run this server's script and nothing else, are kept by nobody, framed by
// nobody, and send no form by themselves, which would write what is typed into an address.
func TestThePagesOfAccountsRunOurScriptAlone(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, path := range []string{"/", "/sign-in", "/reset-password", "/invite"} {
		answer, page := s.get(path, "Cookie", sessionOfSomebody)
		if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Fatalf("%s: %d %s", path, answer.StatusCode, page)
		}
		rules := answer.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "form-action 'none'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(rules, want) {
				t.Errorf("%s: the rules lack %s: %s", path, want, rules)
			}
		}
		if strings.Contains(rules, "unsafe") || regexp.MustCompile(`<script>|<script [^>]*>[^<]|\son[a-z]+=|javascript:`).MatchString(page) {
			t.Errorf("%s: a script stands in the page, or may:\n%s", path, page)
		}
		for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		for _, form := range regexp.MustCompile(`<form[^>]*>`).FindAllString(page, -1) {
			if !strings.Contains(form, `method="post"`) || !strings.Contains(form, " hidden") || strings.Contains(form, "action=") {
				t.Errorf("%s: without the script this form shows, or sends: %s", path, form)
			}
		}
		if !strings.Contains(page, "<noscript>") || strings.Contains(page, "http://") || strings.Contains(page, `="/`) {
			t.Errorf("%s does not say that it needs JavaScript, or leaves the path that a proxy shows it below:\n%s", path, page)
		}
	}
}

// Rule: an address can make a page say what the page knows, and nothing else.
func TestAPageSaysWhatItKnows(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, bare := s.get("/sign-in")
	if _, page := s.get("/sign-in?error=oidc_refused"); !strings.Contains(page, "The sign-in was refused.") {
		t.Errorf("a refusal is not told:\n%s", page)
	}
	if _, page := s.get("/sign-in?notice=password_set"); !strings.Contains(page, "The password is set.") {
		t.Errorf("a notice is not told:\n%s", page)
	}
	for _, query := range []string{"error=<script>alert(1)</script>", "error=call+555", "notice=oidc_refused", "next=//evil.example", "error=not_found"} {
		if _, page := s.get("/sign-in?" + query); page != bare {
			t.Errorf("%s changes the page:\n%s", query, page)
		}
	}
	if !strings.Contains(bare, "Sign in with login.example.org") || strings.Contains(bare, "staff") {
		t.Errorf("the other way in is not named by its host:\n%s", bare)
	}
}

// Rule: who has no session is sent to the sign-in, and to nowhere else whatever was asked.
func TestTheBeginningIsForWhoIsSignedIn(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, path := range []string{"/", "/?next=https://evil.example"} {
		answer, body := s.get(path)
		if answer.StatusCode != http.StatusFound || answer.Header.Get("Location") != "sign-in" || answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", path, answer.StatusCode, answer.Header, body)
		}
	}
}

// Rule: the script is asked for again only where it changed, and writes no text as HTML.
func TestTheScript(t *testing.T) {
	t.Parallel()
	s := open(t)
	answer, script := s.get("/assets/account.js")
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Fatalf("%d %v", answer.StatusCode, answer.Header)
	}
	if again, body := s.get("/assets/account.js", "If-None-Match", answer.Header.Get("ETag")); again.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("again: %d %q", again.StatusCode, body)
	}
	if part, body := s.get("/assets/account.js", "Range", "bytes=0-3"); part.StatusCode != http.StatusOK || body != script {
		t.Errorf("a part: %d", part.StatusCode)
	}
	written, err := os.ReadFile(filepath.Join("assets", "account.js"))
	if err != nil || string(written) != script {
		t.Errorf("sent is another script: %v", err)
	}
	if regexp.MustCompile(`innerHTML|insertAdjacentHTML|document\.write|eval\(|localStorage|sessionStorage`).MatchString(script) {
		t.Error("the script writes HTML, or keeps what it is told")
	}
}
