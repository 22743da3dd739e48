package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/modelsql"
	"github.com/stenometer/stenometer/tests/servertest"
	"github.com/stenometer/stenometer/tests/testservices"
)

// remaining is what an answer's headers tell of one limit: "account_process" of `"account_process";r=18;t=60`.
func remaining(t *testing.T, answer servertest.Answer, limit string) string {
	t.Helper()
	for _, member := range strings.Split(answer.Header.Get("RateLimit"), ", ") {
		if rest, found := strings.CutPrefix(member, `"`+limit+`";r=`); found {
			left, _, _ := strings.Cut(rest, ";")
			return left
		}
	}
	t.Fatalf("no %s in RateLimit: %s", limit, answer.Header.Get("RateLimit"))
	return ""
}

// Rule: every limit of the stack is charged, or none is, and a figure that an administrator changes holds within a
// second in every process (H-022): eight refusals by the organization leave the token's and the account's count alone.
func TestAnOrganizationsFigureIsRaisedWhileItRefuses(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t).With(servertest.Environment{
		"RATELIMIT_STORAGE_URI": testservices.OwnRedis(t), "API_TOKEN_RATE_LIMIT_PROCESS": "100/minute", "API_USER_RATE_LIMIT_PROCESS": "100/minute",
		"RATE_LIMIT_AI_PER_ORG_PER_MINUTE": "2", "RATE_LIMIT_AI_PER_USER_PER_MINUTE": "0", "RATE_LIMIT_AI_PER_IP_PER_MINUTE": "0",
	})
	processes := start(t, environment, 2)
	clients := account(t, environment, processes, 1)
	// No recording has this id: what counts is that the guard lets the request through to find that out.
	ask := func(i int) servertest.Answer {
		return clients[i%len(clients)].Send(http.MethodPost, "/api/v1/recordings/999/transcribe", map[string]any{})
	}
	outcomes := map[string]int{}
	for i := range 10 {
		answer := ask(i)
		outcomes[fmt.Sprintf("%d %s", answer.Status, answer.Code())]++
	}
	expectCounts(t, outcomes, map[string]int{"404 not_found": 2, "429 organization_rate_limit_exceeded": 8})
	refusal := ask(0)
	if token, account := remaining(t, refusal, "token_process"), remaining(t, refusal, "account_process"); token != "98" || account != "98" {
		t.Errorf("token and account have %s and %s left of 100 after two requests that passed", token, account)
	}

	servertest.MustCommand(t, environment, "", "limits", "set", "--org", "default", "organization_ai=100 per minute")
	changed := time.Now()
	for i := range processes {
		for ask(i).Status == http.StatusTooManyRequests {
			if time.Since(changed) > time.Second {
				t.Fatalf("process %d still refuses %v after the change", i, time.Since(changed))
			}
			<-time.After(20 * time.Millisecond)
		}
	}
}

// Rule: figures of an account and of a token are their own: others keep the configured ones, `server limits` says
// where each comes from, GET /api/v1/limits shows those in force.
func TestFiguresOfOneAccountAndOneToken(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t).With(servertest.Environment{"API_STATUS_RATE_LIMIT": "9/minute"})
	process := servertest.Start(t, environment)
	tokenOf := func(email string) *servertest.Client {
		servertest.CreateUser(t, environment, email)
		return process.Client(servertest.CreateToken(t, environment, email))
	}
	ada, bob := tokenOf("ada@example.org"), tokenOf("bob@example.org")
	servertest.MustCommand(t, environment, "", "limits", "set", "--user", "ada@example.org", "account_read=7 per minute;50 per day", "account_write=0")
	printed := servertest.MustCommand(t, environment, "", "limits", "set", "--token", "1", "token_read=5/minute")
	for _, line := range []string{
		"token_read token 5 per minute 473ms limits set --token",
		"account_read account 7 per minute;50 per day 473ms;11m20.315s limits set --user",
		"account_write account 0 - limits set --user",
		"token_write token 30 per minute 473ms default of API_TOKEN_RATE_LIMIT_WRITE",
		"status account 9 per minute 473ms API_STATUS_RATE_LIMIT",
		"login_failures address 5 per minute 473ms fixed",
	} {
		if !strings.Contains(strings.Join(strings.Fields(printed), " "), line) {
			t.Errorf("`server limits set` does not print %q:\n%s", line, printed)
		}
	}
	shown := func(client *servertest.Client) string {
		var names []string
		for _, row := range client.Get("/api/v1/limits").JSON(t)["limits"].([]any) {
			limit := row.(map[string]any)
			if name := limit["name"].(string); strings.HasSuffix(name, "_write") || strings.Contains(name, "_read") {
				names = append(names, fmt.Sprintf("%s %v", name, limit["limit"]))
			}
		}
		return strings.Join(names, ", ")
	}
	want := "account_read_60 7, account_read_86400 50, token_read 5, token_write 30"
	servertest.Eventually(t, time.Second, "ada's own figures", func() bool { return shown(ada) == want })
	if got := shown(bob); got != "account_read 240, account_write 60, token_read 120, token_write 30" {
		t.Errorf("bob has %s", got)
	}

	servertest.MustCommand(t, environment, "", "limits", "set", "--user", "ada@example.org", "account_read=default", "account_write=default")
	servertest.Eventually(t, time.Second, "the configured figures", func() bool {
		return shown(ada) == "account_read 240, account_write 60, token_read 5, token_write 30"
	})
}

// Rule: what cannot be set is refused by name, with 2 for a wrong call and 1 for what is not there, and changes nothing.
func TestFiguresThatCannotBeSet(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t)
	servertest.CreateUser(t, environment, "ada@example.org")
	before := servertest.MustCommand(t, environment, "", "limits", "--user", "ada@example.org")
	for _, row := range []struct {
		arguments []string
		code      int
		told      string
	}{
		{[]string{"--user", "ada@example.org"}, 2, "LIMIT=FIGURE"},
		{[]string{"account_read=1/minute"}, 2, "one of --org, --user and --token"},
		{[]string{"--user", "ada@example.org", "--org", "default", "account_read=1/minute"}, 2, "one of --org, --user and --token"},
		{[]string{"--user", "ada@example.org", "account_rad=1/minute"}, 2, `there is no limit "account_rad"`},
		{[]string{"--user", "ada@example.org", "account_read=lots"}, 2, "account_read: must be a limit such as"},
		{[]string{"--user", "ada@example.org", "account_read"}, 2, "account_read"},
		{[]string{"--user", "ada@example.org", "account_read=1/minute", "account_read=2/minute"}, 2, "set twice"},
		{[]string{"--user", "ada@example.org", "account_write=1/minute", "token_read=1/minute"}, 1, "token_read counts by token"},
		{[]string{"--user", "ada@example.org", "account_write=1/minute", "session_address=1/minute"}, 1, "no single one has figures of its own"},
		{[]string{"--user", "", "account_read=1/minute"}, 2, "--user names nobody"},
		{[]string{"--token", "0", "token_read=1/minute"}, 2, "--token names nobody"},
		{[]string{"--user", "nobody@example.org", "account_read=1/minute"}, 1, "no such account"},
		{[]string{"--org", "nowhere", "organization_ai=1/minute"}, 1, `no organization "nowhere"`},
		{[]string{"--token", "99", "token_read=1/minute"}, 1, "no such token"},
	} {
		result := servertest.Command(t, environment, "", append([]string{"limits", "set"}, row.arguments...)...)
		if result.Code != row.code || !strings.Contains(result.Errors, row.told) {
			t.Errorf("%v ended with %d: %s; want %d and %q", row.arguments, result.Code, result.Errors, row.code, row.told)
		}
	}
	if after := servertest.MustCommand(t, environment, "", "limits", "--user", "ada@example.org"); after != before {
		t.Errorf("refused calls changed figures:\n%s", after)
	}
	if result := servertest.Command(t, environment, "", "limits", "--user", ""); result.Code != 2 {
		t.Errorf("an empty --user shows everybody's limits: %d, %s", result.Code, result.Output)
	}
}

// Rule: a figure that cannot be read does not keep an administrator from setting it anew.
func TestAFigureThatCannotBeReadIsSetAnew(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t)
	servertest.CreateUser(t, environment, "ada@example.org")
	servertest.MustCommand(t, environment, "", "limits", "set", "--user", "ada@example.org", "account_read=7 per minute")
	modelsql.Exec(t, environment, "UPDATE limit_figures SET figures = 'lots'")
	if result := servertest.Command(t, environment, "", "limits", "--user", "ada@example.org"); result.Code != 1 || !strings.Contains(result.Errors, "account_read") {
		t.Errorf("with a figure that cannot be read `limits` ended with %d: %s", result.Code, result.Errors)
	}
	printed := servertest.MustCommand(t, environment, "", "limits", "set", "--user", "ada@example.org", "account_read=8 per minute")
	if !strings.Contains(strings.Join(strings.Fields(printed), " "), "account_read account 8 per minute") {
		t.Errorf("set anew:\n%s", printed)
	}
}
