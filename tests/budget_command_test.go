package tests

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: `server budget set` stores what it says and shows it, and what the server beside it answers agrees at once.
func TestBudgetsAreSetByTheCommand(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t).With(servertest.Environment{"AI_MONTHLY_BUDGET_USD": "7.5"})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org", "--role", "admin")
	client := process.Client(servertest.CreateToken(t, environment, "ada@example.org"))
	set := func(arguments ...string) string {
		t.Helper()
		printed := servertest.MustCommand(t, environment, "", append([]string{"budget", "set"}, arguments...)...)
		return strings.Join(strings.Fields(printed), " ")
	}
	usage := func(path string) any {
		t.Helper()
		return found(client.Get("/api/v1/usage").JSON(t), path)[0]
	}
	if got := usage("organization.budget"); got != 7.5 {
		t.Errorf("the organization's budget is %v, want the server's", got)
	}
	if printed := set("--org", "default", "--usd", "12.345678"); !strings.HasSuffix(printed, "HELD usd 12.345678 12.345678 0 0") {
		t.Errorf("it prints %q", printed)
	}
	if got := usage("organization.left"); got != 12.345678 {
		t.Errorf("the organization has %v left", got)
	}
	if printed := set("--org", "default", "--usd", "none"); !strings.HasSuffix(printed, "usd none 7.5 0 0") {
		t.Errorf("it prints %q", printed)
	}
	set("--user", "ada@example.org", "--usd", "1", "--tokens", "1000")
	printed := set("--user", "ADA@example.org", "--usd", "none", "--transcription-seconds", "600")
	if !strings.HasSuffix(printed, "usd none none 0 0 tokens 1000 1000 0 0 transcription-seconds 600 600 0 0") {
		t.Errorf("it prints %q", printed)
	}
	if budget, tokens, seconds := usage("account.budget"), usage("account.tokens.budget"), usage("account.audio_seconds.left"); budget != nil || tokens != 1000.0 || seconds != 600.0 {
		t.Errorf("the account's budgets are %v, %v, %v", budget, tokens, seconds)
	}
}

// Rule: what cannot be set is refused by name, with 2 for a wrong call and 1 for what is not there.
func TestBudgetsThatCannotBeSet(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t)
	servertest.CreateUser(t, environment, "ada@example.org")
	for _, row := range []struct {
		code      int
		names     string
		arguments string
	}{
		{2, "--org and --user", "--usd 5"},
		{2, "--org and --user", "--usd 5 --org default --user ada@example.org"},
		{2, "--usd", "--org default"},
		{2, "--usd is empty", "--user ada@example.org --tokens 5 --usd EMPTY"},
		{2, "--tokens", "--org default --tokens 5"},
		{2, "--usd must be US dollars", "--org default --usd -5"},
		{2, "--usd must be US dollars", "--org default --usd 0.0000001"},
		{2, "1000000000000", "--user ada@example.org --tokens 1000000000001"},
		{2, "--transcription-seconds", "--user ada@example.org --transcription-seconds 1.5"},
		{2, "unexpected", "--org default --usd 5 6"},
		{1, "no organization", "--org nobody --usd 5"},
		{1, "no such account", "--user eve@example.org --usd 5"},
	} {
		words := strings.Fields(strings.ReplaceAll(row.arguments, "EMPTY", "\x00"))
		for i := range words {
			words[i] = strings.Trim(words[i], "\x00")
		}
		result := servertest.Command(t, environment, "", append([]string{"budget", "set"}, words...)...)
		if result.Code != row.code || !strings.Contains(result.Errors, row.names) {
			t.Errorf("%s: %d %q, want %d and %q", row.arguments, result.Code, result.Errors, row.code, row.names)
		}
	}
}

// Rule (H-046): administration takes a mark on the token besides the role; the mark is made by the command, for accounts
// that may administer, and lasts through a rotation.
func TestATokenForAdministration(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t)
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org", "--role", "admin")
	servertest.CreateUser(t, environment, "bob@example.org")
	minted := func(user string) servertest.Result {
		return servertest.Command(t, environment, "", "token", "create", "--user", user, "--name", "admin", "--admin")
	}
	if refused := minted("bob@example.org"); refused.Code != 1 || !strings.Contains(refused.Errors, "administers nothing") || refused.Output != "" {
		t.Errorf("an editor's token for administration: %+v", refused)
	}
	marked := process.Client(strings.TrimSpace(minted("ada@example.org").Output))
	unmarked := process.Client(servertest.CreateToken(t, environment, "ada@example.org"))
	session := process.Client("")
	session.SignIn("ada@example.org", servertest.Password)
	own := found(marked.Get("/api/v1/users/me").JSON(t), "organization_id")[0].(float64)
	path := "/api/v1/admin/organizations/" + strconv.Itoa(int(own)) + "/budget"
	set := func(client *servertest.Client, dollars float64) servertest.Answer {
		return client.Send(http.MethodPut, path, map[string]any{"monthly_usd": dollars})
	}
	if answer := set(unmarked, 1); answer.Status != http.StatusForbidden || answer.Code() != "insufficient_permission" {
		t.Errorf("a full token without the mark: %v", answer)
	}
	for i, client := range []*servertest.Client{marked, session} {
		if answer := set(client, float64(i)+2); answer.Status != http.StatusOK || found(answer.JSON(t), "monthly_usd")[0] != float64(i)+2 {
			t.Errorf("who may was answered %v", answer)
		}
	}
	id := found(marked.Get("/api/v1/tokens/current").JSON(t), "id")[0].(float64)
	rotated := session.Send(http.MethodPost, "/api/tokens/"+strconv.Itoa(int(id))+"/rotate", map[string]any{}).JSON(t)
	if answer := set(process.Client(found(rotated, "token")[0].(string)), 9); answer.Status != http.StatusOK {
		t.Errorf("the successor of a marked token: %v", answer)
	}
}
