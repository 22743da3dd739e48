package tests

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
)

// switchedLine is an address at which somebody answers only once it leads there.
type switchedLine struct {
	address string
	leads   atomic.Pointer[string]
}

func newSwitchedLine(t *testing.T) *switchedLine {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	line := &switchedLine{address: "http://" + listener.Addr().String()}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			caller, err := listener.Accept()
			if err != nil {
				return
			}
			go line.connect(caller)
		}
	}()
	return line
}

func (l *switchedLine) connect(caller net.Conn) {
	defer caller.Close()
	to := l.leads.Load()
	if to == nil {
		return
	}
	called, err := net.Dial("tcp", *to)
	if err != nil {
		return
	}
	defer called.Close()
	go func() {
		_, _ = io.Copy(called, caller)
		_ = called.Close()
	}()
	_, _ = io.Copy(caller, called)
}

// Rule: a server starts while its issuer is down, and lets people in by password; who comes for the issuer is told, a
// browser on the page of the sign-in; and once the issuer is there, people sign in by it without a restart.
func TestAnIssuerThatIsDownAtTheStart(t *testing.T) {
	t.Parallel()
	line := newSwitchedLine(t)
	environment := servertest.Fresh(t).With(servertest.Environment{
		"OIDC_ISSUER": line.address, "OIDC_CLIENT_ID": "notes", "OIDC_CLIENT_SECRET": "asecretoftheclient", "PUBLIC_URL": "http://" + publicHost,
		"OIDC_SCOPES": "openid email profile groups", "LOGIN_RATE_LIMIT": "1000 per minute",
	})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "boss@example.org")
	if answer := process.Client("").SignIn("boss@example.org", servertest.Password); answer.Status != http.StatusOK {
		t.Errorf("by password: %v", answer)
	}
	refused := process.Client("").Get("/api/auth/oidc/start")
	if refused.Status != http.StatusServiceUnavailable || refused.Code() != "oidc_unavailable" || refused.Header.Get("Retry-After") == "" {
		t.Errorf("by an issuer that is down: %v, want 503 oidc_unavailable", refused)
	}
	browser := process.Client("")
	browser.Header.Set("Accept", "text/html,*/*;q=0.8")
	told := browser.Get("/api/auth/oidc/start?next=/account")
	if told.Status != http.StatusFound || told.Header.Get("Location") != "/sign-in?error=oidc_unavailable" {
		t.Fatalf("a browser: %v %v", told, told.Header)
	}
	if page := browser.Get(told.Header.Get("Location")); page.Status != http.StatusOK || !strings.Contains(string(page.Body), "cannot be reached") {
		t.Errorf("the page: %v", page)
	}
	if lost := browser.Get("/api/auth/oidc/callback?code=x&state=y"); lost.Header.Get("Location") != "/sign-in?error=oidc_refused" {
		t.Errorf("a browser that began elsewhere: %v %v", lost, lost.Header)
	}
	if logs := process.Logs(); !strings.Contains(logs, "request failed") || !strings.Contains(logs, "oidc_unavailable") {
		t.Error("the log does not tell the operator")
	}

	there := strings.TrimPrefix(startIssuer(t, line.address), "http://")
	line.leads.Store(&there)
	ada := newWindow(t, process)
	servertest.Eventually(t, 15*time.Second, "the issuer is asked again", func() bool {
		return ada.get("/api/auth/oidc/start").status == http.StatusFound
	})
	if _, came := ada.arrive("ada", "/"); came.status != http.StatusFound || came.next.RequestURI() != "/" {
		t.Errorf("back came %+v", came)
	}
	ada.expectMe("editor")
}
