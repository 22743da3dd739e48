package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// spender is a row of the route table that can make the server pay, and requests that would.
type spender struct {
	later bool
	scope string // without which it is not entered
	send  func(c *servertest.Client, recording int64) servertest.Answer
	// oversized is one that is beyond a bound.
	oversized func(c *servertest.Client, recording int64) servertest.Answer
}

// nowhere is the id of no recording: a request about it is counted by every limit and spends nothing.
const nowhere = 999_999_999

// spenders are the rows; TestNothingRefusedReachesAProvider holds them against the route table.
func spenders(t *testing.T) map[string]spender {
	about := func(method, tail string, body any) func(*servertest.Client, int64) servertest.Answer {
		return func(c *servertest.Client, id int64) servertest.Answer {
			return c.Send(method, fmt.Sprintf("/api/v1/recordings/%d%s", id, tail), body)
		}
	}
	long, large := strings.Repeat("long ", 400), strings.Repeat("x", 3<<20)
	ids := make([]int64, 1001)
	for i := range ids {
		ids[i] = int64(i + 1)
	}
	batch := func(ids ...int64) any { return map[string]any{"recording_ids": ids} }
	upload := func(content []byte) func(*servertest.Client, int64) servertest.Answer {
		return func(c *servertest.Client, id int64) servertest.Answer {
			if id == nowhere {
				return c.Upload("empty.wav", nil, nil)
			}
			return c.Upload("tone.wav", content, nil)
		}
	}
	const recording = "/api/v1/recordings/:recording"
	inquire := func(question string) func(*servertest.Client, int64) servertest.Answer {
		return func(c *servertest.Client, id int64) servertest.Answer {
			return c.Send("POST", "/api/v1/inquire", map[string]any{"question": question, "filters": map[string]any{"recording_ids": []int64{id}}})
		}
	}
	completes := func(question string) func(*servertest.Client, int64) servertest.Answer {
		return func(c *servertest.Client, id int64) servertest.Answer {
			asked := asks(map[string]any{"messages": []any{map[string]any{"role": "user", "content": question}}})
			if id == nowhere {
				asked["model"] = "nobody's"
			}
			return c.Send("POST", completionsPath, asked)
		}
	}
	heard := func(content []byte) func(*servertest.Client, int64) servertest.Answer {
		return func(c *servertest.Client, id int64) servertest.Answer {
			if id == nowhere {
				return hears(t, c, nil)
			}
			return hears(t, c, content, "model", "asr_endpoint")
		}
	}
	files := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) { _, _ = answer.Write(tone(t)) }))
	t.Cleanup(files.Close)
	imports := func(address string) func(*servertest.Client, int64) servertest.Answer {
		return func(c *servertest.Client, id int64) servertest.Answer {
			if id == nowhere {
				address = "nowhere"
			}
			return c.Send("POST", "/api/v1/recordings/import", map[string]any{"url": address})
		}
	}
	return map[string]spender{
		"POST /api/v1/recordings/import": {true, "upload", imports(files.URL + "/tone.wav"), imports(large)},
		"POST /api/v1/inquire":           {false, "process", inquire("What is said?"), inquire(long)},
		"POST " + completionsPath:        {false, "process", completes("What do bees make?"), completes(long)},
		"POST " + transcriptionsPath:     {false, "process", heard(tone(t)), heard(make([]byte, 1<<20+1))},
		"POST /api/v1/recordings/upload": {true, "upload", upload(tone(t)), upload(make([]byte, 1<<20+1))},
		"POST /api/v1/recordings/batch/transcribe": {
			false, "process",
			func(c *servertest.Client, id int64) servertest.Answer {
				return c.Send("POST", "/api/v1/recordings/batch/transcribe", batch(id))
			},
			func(c *servertest.Client, _ int64) servertest.Answer {
				return c.Send("POST", "/api/v1/recordings/batch/transcribe", batch(ids...))
			},
		},
		"POST " + recording + "/transcribe":        {false, "process", about("POST", "/transcribe", map[string]any{}), about("POST", "/transcribe", map[string]any{"hotwords": large})},
		"POST " + recording + "/summarize":         {false, "process", about("POST", "/summarize", map[string]any{}), about("POST", "/summarize", map[string]any{"custom_prompt": long})},
		"POST " + recording + "/regenerate_title":  {false, "process", about("POST", "/regenerate_title", map[string]any{}), about("POST", "/regenerate_title", map[string]any{"x": large})},
		"POST " + recording + "/speakers/identify": {false, "process", about("POST", "/speakers/identify", map[string]any{}), about("POST", "/speakers/identify", map[string]any{"x": large})},
		"POST " + recording + "/chat":              {false, "process", about("POST", "/chat", map[string]any{"message": "What is said?"}), about("POST", "/chat", map[string]any{"message": long})},
		"PUT " + recording + "/speakers/assign": {
			true, "process",
			about("PUT", "/speakers/assign", map[string]any{"speaker_map": map[string]string{"SPEAKER_00": "Ada"}, "regenerate_summary": true}),
			about("PUT", "/speakers/assign", map[string]any{"speaker_map": map[string]string{"SPEAKER_00": large}, "regenerate_summary": true}),
		},
	}
}

// payers are an account for each row, with a recording that has its transcript, on one database.
type payers struct {
	environment servertest.Environment
	speech      *asrtest.Server
	model       *llmtest.Server
	rows        map[string]spender
	names       []string
	tokens      map[string]string
	recordings  map[string]int64
}

func (p *payers) calls() int { return len(p.speech.Calls()) + len(p.model.Calls()) }

func (p *payers) email(row int) string { return fmt.Sprintf("payer-%d@example.org", row) }

// client calls a process as the account of a row, from an address of the test's choice.
func (p *payers) client(process *servertest.Process, token, address string) *servertest.Client {
	client := process.Client(token)
	client.Header.Set("X-Forwarded-For", address)
	return client
}

func newPayers(t *testing.T) *payers {
	t.Helper()
	p := &payers{speech: asrtest.New(t), model: llmtest.New(t), rows: spenders(t), tokens: map[string]string{}, recordings: map[string]int64{}}
	p.speech.Always(func(asrtest.Call) asrtest.Reply {
		return asrtest.Segments(asrtest.Segment{Start: 0, End: 0.4, Text: "My name is Ada and I keep bees.", Speaker: "SPEAKER_00"})
	})
	p.model.Always(func(call llmtest.Call) llmtest.Reply {
		if call.JSON {
			return llmtest.Says(`{"SPEAKER_00":"Ada"}`).Using(10, 5)
		}
		return llmtest.Says("A talk about bees.").Using(10, 5)
	})
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	err := os.WriteFile(prices, []byte("currency: USD\naudio:\n  - {model: '*', per_minute: 1}\ntext:\n  - {model: scripted, input: 1, output: 1}\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	p.environment = quiet(t).With(servertest.Environment{
		"ASR_BASE_URL": p.speech.ASRBaseURL(), "PRICES_FILE": prices, "AI_MAX_INPUT_CHARS": "1000", "MAX_UPLOAD_MB": "1",
		"TEXT_MODEL_BASE_URL": p.model.BaseURL(), "TEXT_MODEL_API_KEY": "sk-test", "TEXT_MODEL_NAME": "scripted",
		"TRUSTED_PROXY_COUNT": "1", "API_MAX_TOKENS_PER_USER": "0", "ENABLE_INQUIRE_MODE": "true",
		"WEBHOOK_INTRANET_HOST_ALLOWLIST": `127\.0\.0\.1`,
	})
	for name := range p.rows {
		p.names = append(p.names, name)
	}
	slices.Sort(p.names)
	process := servertest.Start(t, p.environment)
	for i, name := range p.names {
		servertest.CreateUser(t, p.environment, p.email(i))
		p.tokens[name] = servertest.CreateToken(t, p.environment, p.email(i))
		client := process.Client(p.tokens[name])
		p.recordings[name] = recordingID(t, client.Upload("tone.wav", tone(t), nil).JSON(t))
		client.AwaitStatus(p.recordings[name], time.Minute, "COMPLETED")
	}
	if err := process.Stop(); err != nil {
		t.Fatal(err)
	}
	return p
}

// refused sends a request on every row and holds its refusal, and that no provider was called.
func (p *payers) refused(t *testing.T, what string, status int, code string, send func(i int, name string, row spender) servertest.Answer) {
	t.Helper()
	before := p.calls()
	for i, name := range p.names {
		answer := send(i, name, p.rows[name])
		if answer.Status == 0 {
			continue // it does not apply to the row
		}
		if answer.Status != status || code != "" && answer.Code() != code {
			t.Errorf("%s, %s: %v, want %d %s", what, name, answer, status, code)
		}
	}
	if made := p.calls() - before; made != 0 {
		t.Errorf("%s: the providers were called %d times", what, made)
	}
}

// Rule (H-007): whatever is refused reaches no provider. For every row of the route table that can spend: no credential, a
// dead token, a missing scope, an empty budget, input beyond its bound, and one request beyond each limit leave the
// providers' counters where they were; and each row reaches them when nothing is in the way.
func TestNothingRefusedReachesAProvider(t *testing.T) {
	t.Parallel()
	p := newPayers(t)
	p.agreeWithTheTable(t)
	process := servertest.Start(t, p.environment)
	ids := p.recordings
	p.refused(t, "no credential", http.StatusUnauthorized, "", func(_ int, name string, row spender) servertest.Answer {
		return row.send(p.client(process, "", "203.0.113.1"), ids[name])
	})
	dead := servertest.CreateToken(t, p.environment, p.email(0))
	if answer := process.Client(dead).Call("DELETE", "/api/v1/tokens/current", nil, nil); answer.Status >= 300 {
		t.Fatalf("revoking a token: %v", answer)
	}
	p.refused(t, "a dead token", http.StatusUnauthorized, "invalid_token", func(_ int, name string, row spender) servertest.Answer {
		return row.send(p.client(process, dead, "203.0.113.2"), ids[name])
	})
	p.refused(t, "a missing scope", http.StatusForbidden, "insufficient_scope", func(i int, name string, row spender) servertest.Answer {
		scopes := slices.DeleteFunc([]string{"read", "write", "upload", "process", "share", "delete", "account"}, func(scope string) bool { return scope == row.scope })
		return row.send(p.client(process, servertest.CreateToken(t, p.environment, p.email(i), scopes...), "203.0.113.3"), ids[name])
	})
	p.refused(t, "oversized input", http.StatusRequestEntityTooLarge, "payload_too_large", func(_ int, name string, row spender) servertest.Answer {
		return row.oversized(p.client(process, p.tokens[name], "203.0.113.4"), ids[name])
	})
	p.emptyBudgets(t, process)
	p.reach(t, process)
	if err := process.Stop(); err != nil {
		t.Fatal(err)
	}
	p.beyondEachLimit(t)
	for _, call := range p.model.Calls() {
		if call.Cap() < 1 || call.Cap() > 8000 {
			t.Errorf("the provider was sent a cap of %d", call.Cap())
		}
	}
}

// agreeWithTheTable fails for a row that can spend and is not walked here.
func (p *payers) agreeWithTheTable(t *testing.T) {
	t.Helper()
	var table struct {
		Routes []struct {
			Method, Path, Door, Spends string
			SpendsLater                bool `json:"spends_later"`
		}
	}
	if err := json.Unmarshal([]byte(servertest.MustCommand(t, servertest.Fresh(t), "", "routes", "--json")), &table); err != nil {
		t.Fatal(err)
	}
	var marked []string
	for _, row := range table.Routes {
		if row.Spends == "" || row.Door == "late" || row.Door == "signed" {
			continue // the latter two are TestPostedRecordingsAreKeptWithoutMoney's, and refused as the other tests of what posts in say
		}
		name := row.Method + " " + row.Path
		marked = append(marked, name)
		if p.rows[name].later != row.SpendsLater {
			t.Errorf("%s: never refused for money is %v in the table", name, row.SpendsLater)
		}
	}
	slices.Sort(marked)
	if !slices.Equal(marked, p.names) {
		t.Errorf("the table marks\n%v as spending; walked are\n%v", marked, p.names)
	}
}

// emptyBudgets takes every account's money away: what only starts paid work is refused, what brings something in is
// accepted and its work is not done.
func (p *payers) emptyBudgets(t *testing.T, process *servertest.Process) {
	t.Helper()
	for i := range p.names {
		servertest.Prepare(t, p.environment, "", "budget", "set", "--user", p.email(i), "--usd", "0")
	}
	failing := map[string]int64{}
	p.refused(t, "an empty budget", http.StatusPaymentRequired, "budget_exceeded", func(_ int, name string, row spender) servertest.Answer {
		answer := row.send(p.client(process, p.tokens[name], "203.0.113.5"), p.recordings[name])
		if !row.later {
			return answer
		}
		failing[name] = p.recordings[name]
		if answer.Status == http.StatusAccepted {
			failing[name] = recordingID(t, answer.JSON(t))
		} else if answer.Status != http.StatusOK {
			t.Errorf("without money %s answers %v", name, answer)
		}
		return servertest.Answer{}
	})
	before := p.calls()
	for name, id := range failing {
		client := process.Client(p.tokens[name])
		client.AwaitStatus(id, time.Minute, "FAILED")
		if shown := client.Get(fmt.Sprintf("/api/v1/recordings/%d", id)).JSON(t); shown["error_code"] != "budget_exceeded" {
			t.Errorf("%s: the work that was not paid for is shown as %v", name, shown["error_code"])
		}
	}
	if made := p.calls() - before; made != 0 {
		t.Errorf("work without money called the providers %d times", made)
	}
	for i := range p.names {
		servertest.Prepare(t, p.environment, "", "budget", "set", "--user", p.email(i), "--usd", "none")
	}
}

// reach is the control: with nothing in the way every row does reach a provider.
func (p *payers) reach(t *testing.T, process *servertest.Process) {
	t.Helper()
	for _, name := range p.names {
		before := p.calls()
		answer := p.rows[name].send(p.client(process, p.tokens[name], "203.0.113.6"), p.recordings[name])
		if answer.Status >= 300 {
			t.Errorf("%s answers %v", name, answer)
			continue
		}
		servertest.Eventually(t, 30*time.Second, name+" reaches a provider", func() bool { return p.calls() > before })
		process.Client(p.tokens[name]).AwaitStatus(p.recordings[name], time.Minute, "COMPLETED")
	}
}

// beyondEachLimit sets one limit after the other to one request an hour, uses it up by a request about nothing, and
// sends another: of the same token, of other tokens of the account, of the user from another address, of another member
// of the organization, of another account from the same address.
func (p *payers) beyondEachLimit(t *testing.T) {
	t.Helper()
	for _, layer := range []struct {
		variables []string
		code      string
		later     bool // it applies to rows that pay later, too
		shared    bool // one counter for all accounts
		another   bool // the second request is by another token
	}{
		{[]string{"API_TOKEN_RATE_LIMIT_PROCESS", "API_TOKEN_RATE_LIMIT_WRITE"}, "token_rate_limit_exceeded", true, false, false},
		{[]string{"API_USER_RATE_LIMIT_PROCESS", "API_USER_RATE_LIMIT_WRITE"}, "account_rate_limit_exceeded", true, false, true},
		{[]string{"RATE_LIMIT_AI_PER_USER_PER_MINUTE"}, "user_ai_rate_limit_exceeded", false, false, true},
		{[]string{"RATE_LIMIT_AI_PER_ORG_PER_MINUTE"}, "organization_rate_limit_exceeded", false, true, false},
		{[]string{"RATE_LIMIT_AI_PER_IP_PER_MINUTE"}, "address_rate_limit_exceeded", false, true, false},
	} {
		environment := p.environment.With(servertest.Environment{})
		for _, variable := range layer.variables {
			environment[variable] = "1"
			if strings.Contains(variable, "API_") {
				environment[variable] = "1 per hour"
			}
		}
		process := servertest.Start(t, environment)
		if layer.shared {
			p.rows["POST /api/v1/recordings/:recording/chat"].send(p.client(process, p.tokens[p.names[0]], "203.0.113.9"), nowhere)
		}
		p.refused(t, "beyond "+layer.variables[0], http.StatusTooManyRequests, layer.code, func(i int, name string, row spender) servertest.Answer {
			if row.later && !layer.later {
				return servertest.Answer{}
			}
			address, token := "203.0.113.9", p.tokens[name]
			if !layer.shared {
				row.send(p.client(process, token, "203.0.113.7"), nowhere)
				address = "203.0.113.8"
			}
			if layer.another {
				token = servertest.CreateToken(t, environment, p.email(i))
			}
			return row.send(p.client(process, token, address), p.recordings[name])
		})
		if err := process.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}
