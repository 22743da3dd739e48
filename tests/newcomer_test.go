package tests

import (
	"strings"
	"testing"

	"github.com/stenometer/stenometer/tests/mailtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: whoever is invited gets in by a browser alone, in a real one: makes the account by the link, signs out and in, and
// sets a new password by a mailed link. The token of a link leaves the address at once and stands in no log; what people
// call themselves is shown as text; and no script runs but ours.
func TestANewcomersWayInABrowser(t *testing.T) {
	t.Parallel()
	post := mailtest.Start(t, nil)
	environment := servertest.Fresh(t).With(servertest.Environment{
		"SMTP_URL": "smtp://" + post.Address + "?starttls=off", "MAIL_FROM": "notes@example.org", "PUBLIC_URL": "http://" + publicHost, "REGISTRATION": "invite",
	})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	_, invite, _ := strings.Cut(strings.TrimSpace(servertest.MustCommand(t, environment, "", "invite", "create", "--email", "grace@example.org", "--role", "editor")), "#")
	b := openTab(t, process)

	b.open("/")
	b.at("/sign-in", "Forgot your password?")
	b.open("/invite#" + invite)
	b.at("/invite", "Make the account")
	b.fill("invite", map[string]string{"username": "<i>grace</i>", "password": "a first sentence"})
	b.at("/", "You are signed in as <i>grace</i> (grace@example.org)")
	b.runsNothingElse()
	b.value(`document.getElementById("leave").click()`)
	b.at("/sign-in", "Sign in")
	if answer := b.value(`fetch("/api/v1/users/me").then((answer) => answer.status)`); answer != 401.0 {
		t.Errorf("after signing out the session is answered %v", answer)
	}
	b.fill("sign-in", map[string]string{"email": "grace@example.org", "password": "another sentence"})
	b.at("/sign-in", "wrong")
	b.fill("sign-in", map[string]string{"email": "grace@example.org", "password": "a first sentence"})
	b.at("/", "with the role editor")

	b.open("/reset-password")
	b.fill("forgot", map[string]string{"email": "grace@example.org"})
	b.at("/reset-password", "a link is on its way")
	_, path, token := mailed(t, post, 1)
	b.open(path + "#" + token)
	b.fill("reset", map[string]string{"password": "a second sentence"})
	b.at("/sign-in?notice=password_set", "The password is set.")
	b.fill("sign-in", map[string]string{"email": "grace@example.org", "password": "a second sentence"})
	b.at("/", "You are signed in as")
	b.open(path + "#" + token)
	b.fill("reset", map[string]string{"password": "a third sentence"})
	b.at("/reset-password", "link")
	b.await("a link that was used is refused", `!document.getElementById("told").hidden`)
	if logs := process.Logs(); strings.Contains(logs, token) || strings.Contains(logs, invite) || strings.Contains(logs, "sentence") {
		t.Error("a token or a password is in the log")
	}
}

// runsNothingElse tries what an injected script would do.
func (b *tab) runsNothingElse() {
	b.t.Helper()
	tried := b.value(`(() => {
		const script = document.createElement("script");
		try { script.textContent = "window.ran = true"; } catch { script.append("window.ran = true"); }
		document.body.append(script);
		return [window.ran === undefined, getComputedStyle(document.body).maxWidth, document.querySelector("i") === null].join();
	})()`)
	if tried != "true,416px,true" {
		b.t.Errorf("a script of somebody else's runs, the style does not apply, or a name is read as HTML: %v", tried)
	}
}
