package tests

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule (H-006): a budget that is set over the API is stored, shown and in force from the next call on; a call with a
// member that nobody knows names it and changes nothing.
func TestABudgetThatIsSetIsInForce(t *testing.T) {
	t.Parallel()
	speech, model := asrtest.New(t), llmtest.New(t)
	environment := tenCents(t, quiet(t), model).With(servertest.Environment{"ASR_BASE_URL": speech.ASRBaseURL()})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org", "--role", "admin")
	client := process.Client(strings.TrimSpace(servertest.MustCommand(t, environment, "", "token", "create", "--user", "ada@example.org", "--name", "money", "--admin")))
	speech.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Plain("a talk about bees and honey") })
	id := recordingID(t, client.Upload("tone.wav", tone(t), nil).JSON(t))
	client.AwaitStatus(id, time.Minute, "COMPLETED")
	organization, _ := client.Get("/api/v1/users/me").JSON(t)["organization_id"].(float64)
	path := at("/api/v1/admin/organizations/%d/budget", int64(organization))
	budget := func(stored any) object {
		return object{"organization_id": organization, "monthly_usd": stored, "in_force_usd": stored, "currency": "USD"}
	}
	keeps(t, client, []row{
		{rule: "none is stored", path: path, want: budget(nil)},
		{rule: "the answer echoes what is stored", method: "PUT", path: path, body: object{"monthly_usd": 0.05}, want: budget(0.05)},
		{rule: "an older name", method: "PUT", path: path, body: object{"monthly_usd": 10, "monthly_token_budget": 5}, status: 400, code: "invalid_parameter", want: some{
			"code": "invalid_parameter", "error": kind{"names the member", func(v any) bool { return strings.Contains(v.(string), "monthly_token_budget") }},
		}},
		{rule: "a misspelled one", method: "PUT", path: path, body: object{"monthly_use": 10}, status: 400, code: "invalid_parameter", want: some{
			"code": "invalid_parameter", "error": kind{"names the member", func(v any) bool { return strings.Contains(v.(string), "monthly_use") }},
		}},
		{rule: "nothing has changed", path: path, want: budget(0.05)},
	})
	if answer := ask(client, id); answer.Status != http.StatusPaymentRequired || len(model.Calls()) != 0 {
		t.Errorf("ten cents of five: %v after %d calls", answer, len(model.Calls()))
	}
	keeps(t, client, []row{{rule: "raised", method: "PUT", path: path, body: object{"monthly_usd": 0.1}, want: budget(0.1)}})
	if answer := ask(client, id); answer.Status != http.StatusOK {
		t.Errorf("ten cents of ten: %v", answer)
	}
}
