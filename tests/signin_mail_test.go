package tests

import (
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/mailtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

var linkInMail = regexp.MustCompile(`https?://notes\.(?:example\.org|test)(/[a-z-]+)#([A-Za-z0-9_-]+)`)

// mailed waits for the n-th letter and is its addressee and the path and token of its link.
func mailed(t *testing.T, post *mailtest.Post, n int) (to, path, token string) {
	t.Helper()
	servertest.Eventually(t, 15*time.Second, fmt.Sprintf("letter %d is handed over", n), func() bool { return len(post.Letters()) >= n })
	letter := post.Letters()[n-1]
	_, body, _ := strings.Cut(letter.Text, "\r\n\r\n")
	read, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	found := linkInMail.FindStringSubmatch(string(read))
	if found == nil {
		t.Fatalf("there is no link in %s", read)
	}
	return letter.To[0], found[1], found[2]
}

// Rule: who forgot a password is mailed a link that sets a new one once; an address without an account is mailed nothing
// and answered alike; a mail that is refused for now is tried again; an account is sent no more than three links an hour;
// an invite is mailed; and no token or password is in the log.
func TestLinksReachPeopleByMail(t *testing.T) {
	t.Parallel()
	post := mailtest.Start(t, nil)
	environment := servertest.Fresh(t).With(servertest.Environment{
		"SMTP_URL": "smtp://" + post.Address + "?starttls=off", "MAIL_FROM": "Notes <notes@example.org>", "PUBLIC_URL": "https://notes.example.org",
		"REGISTRATION": "invite", "JOB_RETRY_SECONDS": "0.1", "LOGIN_RATE_LIMIT": "100 per minute",
	})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	client := process.Client("")
	forget := func(address string) {
		t.Helper()
		if answer := client.Send("POST", "/api/auth/password/forgot", map[string]string{"email": address}); answer.Status != http.StatusAccepted {
			t.Fatalf("%s: %v", address, answer)
		}
	}
	post.Break(true)
	forget("nobody@example.org")
	forget("ada@example.org")
	servertest.Eventually(t, 15*time.Second, "a mail is refused", func() bool { return strings.Contains(process.Logs(), "try again later") })
	post.Break(false)
	to, path, token := mailed(t, post, 1)
	if to != "ada@example.org" || path != "/reset-password" {
		t.Errorf("mailed to %s: %s", to, path)
	}
	reset := map[string]string{"token": token, "password": "a better sentence"}
	if answer := client.Send("POST", "/api/auth/password/reset", reset); answer.Status != http.StatusOK {
		t.Fatalf("resetting: %v", answer)
	}
	if answer := client.Send("POST", "/api/auth/password/reset", reset); answer.Code() != "invalid_link" {
		t.Errorf("a second time: %v", answer)
	}
	if answer := client.SignIn("ada@example.org", "a better sentence"); answer.Status != http.StatusOK {
		t.Fatalf("signing in: %v", answer)
	}
	for range 4 {
		forget("ada@example.org")
	}
	answer := client.Send("POST", "/api/v1/admin/invites", map[string]string{"email": "grace@example.org", "role": "viewer"})
	shown, _ := answer.JSON(t)["link"].(string)
	if answer.Status != http.StatusCreated || !linkInMail.MatchString(shown) {
		t.Fatalf("inviting: %v", answer)
	}
	// Two more resets and the invite, in whatever order they were worked.
	invited := ""
	for n := 2; n <= 4; n++ {
		if to, path, token := mailed(t, post, n); to == "grace@example.org" && path == "/invite" {
			invited = token
		}
	}
	if !strings.HasSuffix(shown, "#"+invited) || len(post.Letters()) != 4 {
		t.Fatalf("%d letters; the invite's is %q, shown was %q", len(post.Letters()), invited, shown)
	}
	browser := process.Client("")
	accepted := browser.Send("POST", "/api/auth/invites/accept", map[string]string{"token": invited, "username": "grace", "password": "a third sentence"})
	if account := accepted.JSON(t); accepted.Status != http.StatusCreated || account["email"] != "grace@example.org" || account["role"] != "viewer" {
		t.Errorf("accepting: %v", accepted)
	}
	log := process.Logs()
	for _, secret := range []string{token, invited, "better sentence", "third sentence"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log shows %q", secret)
		}
	}
}

// Rule: on a machine without mail the operator makes links or sets a password, and without an address of the server it is
// given tokens alone; a reset that is asked for is answered as ever, and the log says that none is sent.
func TestTheOperatorResetsAndInvites(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t)
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	client := process.Client("")
	cookies := client.SignIn("ada@example.org", servertest.Password)
	if cookies.Status != http.StatusOK {
		t.Fatal(cookies)
	}
	forgot := process.Client("").Send("POST", "/api/auth/password/forgot", map[string]string{"email": "ada@example.org"})
	if forgot.Status != http.StatusAccepted || !strings.Contains(process.Logs(), "needs SMTP_URL and PUBLIC_URL") {
		t.Errorf("without mail: %v", forgot)
	}
	token := strings.TrimSpace(servertest.MustCommand(t, environment, "", "user", "reset", "--email", "ada@example.org"))
	if answer := process.Client("").Send("POST", "/api/auth/password/reset", map[string]string{"token": token, "password": "a better sentence"}); answer.Status != http.StatusOK {
		t.Errorf("by the command's token: %v", answer)
	}
	if answer := client.Get("/api/auth/sessions"); answer.Status != http.StatusUnauthorized {
		t.Errorf("the session from before: %v", answer)
	}
	servertest.MustCommand(t, environment, "a third sentence\n", "user", "reset", "--email", "ada@example.org", "--password-stdin")
	if answer := client.SignIn("ada@example.org", "a third sentence"); answer.Status != http.StatusOK {
		t.Errorf("with the command's password: %v", answer)
	}
	invite := strings.TrimSpace(servertest.MustCommand(t, environment, "", "invite", "create", "--email", "grace@example.org", "--role", "admin"))
	accepted := process.Client("").Send("POST", "/api/auth/invites/accept", map[string]string{"token": invite, "username": "grace", "password": "a fourth sentence"})
	if accepted.Status != http.StatusCreated || accepted.JSON(t)["role"] != "admin" {
		t.Errorf("by the command's invite: %v", accepted)
	}
	for _, wrong := range [][]string{
		{"user", "reset"},
		{"user", "reset", "--email", "nobody@example.org"},
		{"invite", "create"},
		{"invite", "create", "--email", "x@example.org", "--role", "owner"},
		{"invite", "create", "--email", "x@example.org", "--expires-in-days", "31"},
		{"invite", "create", "--email", "x@example.org", "--org", "nowhere"},
	} {
		if result := servertest.Command(t, environment, "", wrong...); result.Code == 0 {
			t.Errorf("%v: %+v", wrong, result)
		}
	}
}
