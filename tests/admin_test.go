package tests

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/server"
	"github.com/stenometer/stenometer/tests/servertest"
)

// heard is within which every process knows of a change, with room for a slow machine.
const heard = 5 * time.Second

// Rule: what an administrator does over HTTP and what the operator does by commands is one story, holds in the running
// server within a second, and is in the one audit log, which has no secret in it.
func TestAdministrationByHTTPAndByCommand(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t)
	running := inProcess(t, environment, time.Now)
	with := func(token string) *servertest.Client {
		client := servertest.ClientOf(t, running.URL)
		client.Header.Set("Authorization", "Bearer "+token)
		return client
	}
	run := func(words string, more ...string) string {
		t.Helper()
		code, printed, errors := commandHere(t, environment, append(strings.Fields(words), more...)...)
		if code != 0 {
			t.Fatalf("%s: ended with %d: %s", words, code, errors)
		}
		return printed
	}
	account := func(name string, more ...string) string {
		return strings.TrimSpace(run("user create --username "+name+" --email "+name+"@example.org", more...))
	}
	account("ada", "--role", "admin")
	north := strings.TrimSpace(run("org create --slug north --time-zone Asia/Tokyo --name", "North and all"))
	account("eve", "--role", "admin", "--org", "north")
	bob := account("bob", "--org", "north")
	marked := func(email string) string {
		return strings.TrimSpace(run("token create --admin --name admin --user", email))
	}
	secret := marked("eve@example.org")
	instance, eve := with(marked("ada@example.org")), with(secret)
	of := with(strings.TrimSpace(run("token create --name n8n --user bob@example.org")))
	users := "/api/v1/admin/users/"

	if got := found(eve.Get("/api/v1/admin/organizations/"+north).JSON(t), "name")[0]; got != "North and all" {
		t.Errorf("the organization is called %v", got)
	}
	if answer := eve.Send(http.MethodPatch, users+bob, map[string]any{"disabled": true}); answer.Status != http.StatusOK {
		t.Fatalf("disabling is answered %d: %s", answer.Status, answer.Body)
	}
	servertest.Eventually(t, heard, "a disabled account's token opens nothing", func() bool { return of.Get("/api/v1/tags").Status == http.StatusUnauthorized })
	run("user enable --email bob@example.org")
	servertest.Eventually(t, heard, "an enabled account's token opens what it did", func() bool { return of.Get("/api/v1/tags").Status == http.StatusOK })
	run("user role --role viewer --email eve@example.org")
	servertest.Eventually(t, heard, "a viewer administers nothing", func() bool { return eve.Get("/api/v1/admin/users").Status == http.StatusForbidden })
	run("user sign-out --email bob@example.org")

	listed := run("token list --user bob@example.org")
	id := strings.Fields(strings.Split(strings.TrimSpace(listed), "\n")[1])[0]
	run("token revoke --user bob@example.org --token", id)
	servertest.Eventually(t, heard, "a revoked token opens nothing", func() bool { return of.Get("/api/v1/tags").Status == http.StatusUnauthorized })
	run("user delete --email bob@example.org")
	servertest.Eventually(t, heard, "an erased account is gone", func() bool { return instance.Get(users+bob).Status == http.StatusNotFound })
	if list := run("user list --org north"); !strings.Contains(list, "eve@example.org") || strings.Contains(list, "bob@example.org") {
		t.Errorf("the accounts are\n%s", list)
	}
	if list := run("org list"); !strings.Contains(list, "Asia/Tokyo") {
		t.Errorf("the organizations are\n%s", list)
	}

	run("limits set --org north", "organization_ai=50 per minute")
	run("limits set --user eve@example.org", "account_read=50 per minute")
	run("budget set --org north --usd 9")
	run("budget set --user eve@example.org --tokens 900")
	link := strings.TrimSpace(run("invite create --org north --email new@example.org"))
	reset := strings.TrimSpace(run("user reset --email eve@example.org"))

	log := run("audit --limit 200")
	for _, line := range []string{
		"command organization.create - done organization " + north, "user.alter user " + bob + " 200", "user.disabled user " + bob + " done",
		"command user.enabled user " + bob, "command user.role.viewer", "command user.sessions.ended user " + bob,
		"command user.token.revoke user " + bob + " token " + id + " done", "command user.erasing user " + bob,
		"command user.create - done user " + bob, "command user.token.create user " + bob + " done token " + id,
		"command organization.limits.set organization " + north + " done", "command user.limits.set user",
		"command organization.budget.set organization " + north + " done", "command user.budget.set user",
		"command invite.create organization " + north + " done invite", "command user.reset user",
	} {
		if !strings.Contains(strings.Join(strings.Fields(log), " "), line) {
			t.Errorf("the log has no %q:\n%s", line, log)
		}
	}
	for _, secret := range []string{secret, secret[:12], link, reset} {
		if strings.Contains(log, secret) {
			t.Errorf("%s is in the log", secret)
		}
	}
	if one := run("audit --user eve@example.org --org north --action user.alter"); len(strings.Split(strings.TrimSpace(one), "\n")) != 2 {
		t.Errorf("narrowed, the log is\n%s", one)
	}
}

// Rule: the last administrator of the instance stays, whatever the operator types; a wrong call ends with 2 and says why.
func TestCommandsThatAreRefused(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t)
	if code, _, errors := commandHere(t, environment, "user", "create", "--email", "ada@example.org", "--username", "ada"); code != 0 {
		t.Fatal(errors)
	}
	for _, row := range []struct {
		code             int
		arguments, names string
	}{
		{1, "user disable --email ada@example.org", "last administrator"},
		{1, "user delete --email ada@example.org", "last administrator"},
		{1, "user role --role viewer --email ada@example.org", "last administrator"},
		{1, "user role --instance-admin false --email ada@example.org", "last administrator"},
		{1, "user role --role owner --email ada@example.org", "admin, editor, viewer"},
		{1, "user enable --email nobody@example.org", "no such account"},
		{1, "org create --slug North --name N", "slug must be"},
		{1, "org create --slug default --name N", "already"},
		{1, "org create --slug n --name N --time-zone Mars", "time_zone must be"},
		{1, "token revoke --user ada@example.org --token 99", "no such token"},
		{1, "audit --user nobody@example.org", "no such account"},
		{2, "user disable", "--email"},
		{2, "user role --email ada@example.org", "--role or --instance-admin"},
		{2, "user role --email ada@example.org --instance-admin maybe", "true or false"},
		{2, "org create --slug n", "--name"},
		{2, "token list", "--user"},
		{2, "token revoke --user ada@example.org", "--token"},
		{2, "audit --limit 201", "--limit"},
		{2, "audit --from yesterday", "--from"},
	} {
		code, _, errors := commandHere(t, environment, strings.Fields(row.arguments)...)
		if code != row.code || !strings.Contains(strings.ToLower(errors), row.names) {
			t.Errorf("%s: ended with %d: %s", row.arguments, code, errors)
		}
	}
}

// Rule: who asks for help is shown the commands and has done nothing wrong; who calls none that exists has.
func TestHelpIsShown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		code      int
		arguments []string
	}{
		{0, []string{"help"}},
		{0, []string{"--help"}},
		{0, []string{"-h"}},
		{2, nil},
		{2, []string{"start"}},
		{2, []string{"help", "serve"}},
	} {
		code, printed, errors := commandHere(t, nil, row.arguments...)
		shown, silent := printed, errors
		if row.code != 0 {
			shown, silent = errors, printed
		}
		if code != row.code || !strings.Contains(shown, "server user create --email") || silent != "" {
			t.Errorf("%q ended with %d and printed %q and %q", row.arguments, code, printed, errors)
		}
	}
}

// commandHere runs a command as the binary does. Starting the binary for each of them would take most of the test's time.
func commandHere(t *testing.T, environment servertest.Environment, arguments ...string) (code int, printed, errors string) {
	t.Helper()
	var output, complaints strings.Builder
	settings := make([]string, 0, len(environment))
	for name, value := range environment {
		settings = append(settings, name+"="+value)
	}
	code = server.Main(t.Context(), server.Invocation{
		Arguments: arguments, Environment: settings, Input: strings.NewReader("correct horse battery"), Output: &output, Errors: &complaints,
	})
	return code, output.String(), complaints.String()
}
