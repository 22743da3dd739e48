package tests

import (
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/jobstest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// moneyRig is one server with a scripted model whose answers can cost 20 cents at most: each of 199 tokens a tenth of a
// cent, and what it reads next to nothing.
type moneyRig struct {
	environment servertest.Environment
	process     *servertest.Process
	model       *llmtest.Server
	speech      *asrtest.Server
}

// payer is an account with a recording that can be asked about, and its own budget; "none" for none.
func (r *moneyRig) payer(t *testing.T, name, dollars string) (*servertest.Client, int64) {
	t.Helper()
	email := name + "@example.org"
	servertest.CreateUser(t, r.environment, email)
	client := servertest.ClientOf(t, r.process.URL)
	client.Header.Set("Authorization", "Bearer "+servertest.CreateToken(t, r.environment, email))
	id := recordingID(t, client.Upload("tone.wav", tone(t), map[string]string{"title": "Bees"}).JSON(t))
	client.AwaitStatus(id, time.Minute, "COMPLETED")
	servertest.Prepare(t, r.environment, "", "budget", "set", "--user", email, "--usd", dollars)
	return client, id
}

// The cases of budgets that need a model which answers when it is told to. One case at a time has the model.
func TestTheCasesOfBudgets(t *testing.T) {
	t.Parallel()
	for name, address := range jobstest.Migrated.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &moneyRig{speech: asrtest.New(t), model: llmtest.New(t)}
			prices := filepath.Join(t.TempDir(), "prices.yaml")
			err := os.WriteFile(prices, []byte("currency: USD\naudio:\n  - {model: '*', per_minute: 0}\ntext:\n  - {model: scripted, input: 1, output: 1000}\n"), 0o600)
			if err != nil {
				t.Fatal(err)
			}
			r.environment = tenCents(t, quiet(t), r.model).With(servertest.Environment{
				"DATABASE_URL": address(t), "SECRET_KEY": "0123456789abcdef0123456789abcdef", "ASR_BASE_URL": r.speech.ASRBaseURL(),
				"PRICES_FILE": prices, "CHAT_MAX_TOKENS": "199",
			})
			r.speech.Always(func(call asrtest.Call) asrtest.Reply {
				if call.Fields.Get("initial_prompt") == "long" {
					return asrtest.Plain(strings.Repeat(strings.Repeat("bees ", 100)+"\n", 1000))
				}
				return asrtest.Plain("a talk about bees and honey")
			})
			r.process = servertest.Start(t, r.environment)
			for _, c := range []struct {
				rule string
				test func(*testing.T, *moneyRig)
			}{
				{"holds fill a budget no longer than they last (H-003)", holdsGoBack},
				{"a reported zero is zero, and silence is an estimate (H-005)", zeroIsZero},
				{"a long transcript is held for whole (H-008)", longIsHeld},
				{"who leaves pays for what was sent (H-009)", leaversPay},
				{"a retry is not paid twice (H-010)", retriesPayOnce},
			} {
				t.Run(c.rule, func(t *testing.T) { c.test(t, r) })
			}
		})
	}
}

func ask(client *servertest.Client, id int64) servertest.Answer {
	return client.Send(http.MethodPost, at("/api/v1/recordings/%d/chat", id), object{"message": "What is it about?"})
}

func holdsGoBack(t *testing.T, r *moneyRig) {
	client, id := r.payer(t, "holds", "1")
	r.model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Says("honey").Using(0, 1) })
	before, resume := len(r.model.Calls()), r.model.Pause()
	defer resume()
	answers := make(chan servertest.Answer, 5)
	for range cap(answers) {
		go func() { answers <- ask(client, id) }()
	}
	servertest.Eventually(t, time.Minute, "five are out", func() bool { return r.model.InFlight() == 5 })
	sixth := ask(client, id)
	wait, err := strconv.Atoi(sixth.Header.Get("Retry-After"))
	if sixth.Status != http.StatusPaymentRequired || err != nil || wait < 1 || wait > 10 || sixth.Header.Get("X-Should-Retry") != "" {
		t.Errorf("the sixth is answered %v with %v", sixth, sixth.Header)
	}
	expectForm(t, sixth, object{
		"error": text, "code": "budget_exceeded", "spent": 0, "budget": 1, "scope": "account", "unit": text, "resets_at": text,
		"held": kind{"nearly the whole", func(v any) bool { held, _ := v.(float64); return held > 0.99 && held <= 1 }},
	})
	resume()
	for range cap(answers) {
		if answer := <-answers; answer.Status != http.StatusOK {
			t.Errorf("one of the five: %v", answer)
		}
	}
	if stands := used(t, client).Account; stands.Held != 0 || math.Abs(stands.Spent-0.005) > 1e-9 {
		t.Errorf("after the five %v are spent and %v held", stands.Spent, stands.Held)
	}
	if seventh := ask(client, id); seventh.Status != http.StatusOK || len(r.model.Calls()) != before+6 {
		t.Errorf("after %d calls the seventh is answered %v", len(r.model.Calls())-before, seventh)
	}
}

func zeroIsZero(t *testing.T, r *moneyRig) {
	client, id := r.payer(t, "zero", "1")
	for _, c := range []struct {
		rule      string
		reply     llmtest.Reply
		charged   func(float64) bool
		estimated int
	}{
		{"a reported 0/0", llmtest.Says("honey").Using(0, 0), func(sum float64) bool { return sum == 0 }, 0},
		{"no usage at all", llmtest.Says("honey").WithoutUsage(), func(sum float64) bool { return sum > 0 && sum < 0.2 }, 1},
	} {
		r.model.Script(c.reply)
		if answer := ask(client, id); answer.Status != http.StatusOK {
			t.Fatalf("%s: %v", c.rule, answer)
		}
		if stands := chats(t, client); !c.charged(stands.Charged) || stands.Estimated != c.estimated {
			t.Errorf("%s: the ledger has %+v", c.rule, stands)
		}
	}
}

// chats is the ledger's line of an account's questions.
func chats(t *testing.T, client *servertest.Client) (sum struct {
	Calls, Estimated int
	Charged, Held    float64
},
) {
	t.Helper()
	stands := used(t, client)
	sum.Held = stands.Account.Held
	for _, entry := range stands.Entries {
		if entry.Operation == "chat" {
			sum.Calls, sum.Estimated, sum.Charged = sum.Calls+entry.Calls, sum.Estimated+entry.Estimated, sum.Charged+entry.Charged
		}
	}
	return sum
}

func longIsHeld(t *testing.T, r *moneyRig) {
	// All that can be written for nine calls is 1.791 dollars: there is room for that, and not for what is read.
	client, _ := r.payer(t, "long", "1.9")
	id := recordingID(t, client.Upload("tone.wav", tone(t), map[string]string{"title": "Bees", "initial_prompt": "long"}).JSON(t))
	client.AwaitStatus(id, time.Minute, "COMPLETED")
	before := len(r.model.Calls())
	refused := ask(client, id)
	if refused.Status != http.StatusPaymentRequired || refused.Header.Get("Retry-After") != "" || refused.Header.Get("X-Should-Retry") != "false" || len(r.model.Calls()) != before {
		t.Fatalf("100,000 words, and money for the answers alone: %v after %d calls", refused, len(r.model.Calls())-before)
	}
	servertest.Prepare(t, r.environment, "", "budget", "set", "--user", "long@example.org", "--usd", "5")
	r.model.Always(func(llmtest.Call) llmtest.Reply {
		return llmtest.Says("honey").Using(1_000_000_000_000, 1_000_000_000_000)
	})
	resume := r.model.Pause()
	defer resume()
	answered := make(chan servertest.Answer, 1)
	go func() { answered <- ask(client, id) }()
	servertest.Eventually(t, time.Minute, "the first part is out", func() bool { return r.model.InFlight() == 1 })
	held := used(t, client).Account.Held
	resume()
	answer := <-answered
	if answer.Status != http.StatusOK {
		t.Fatalf("with money for it: %v", answer)
	}
	if left, _ := answer.JSON(t)["left_out"].(string); !strings.HasPrefix(left, "Left out: ") || !strings.HasSuffix(answer.JSON(t)["response"].(string), left) {
		t.Errorf("the answer does not end with what was left out: %.300s", answer.Body)
	}
	calls := r.model.Calls()[before:]
	for _, call := range calls {
		if call.Cap() < 1 || call.Cap() > 199 {
			t.Errorf("the provider was sent a cap of %d", call.Cap())
		}
	}
	if stands := chats(t, client); held <= 1.9 || held > 5 || stands.Charged > held+1e-9 || stands.Charged == 0 || stands.Held != 0 || stands.Calls != len(calls) {
		t.Errorf("%v was held for %d calls; the ledger has %+v", held, len(calls), stands)
	}
}

func retriesPayOnce(t *testing.T, r *moneyRig) {
	client, id := r.payer(t, "retry", "none")
	r.model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Says("They talked about bees.").Using(10, 1) })
	before := len(r.model.Calls())
	send := func(path string, body any, key string) servertest.Answer {
		header := http.Header{}
		if key != "" {
			header.Set("Idempotency-Key", key)
		}
		return row{method: http.MethodPost, path: at(path, id), body: body, header: header}.send(t, client)
	}
	const summarize, chat = "/api/v1/recordings/%d/summarize", "/api/v1/recordings/%d/chat"
	refused := func(what string, answer servertest.Answer, status int, code string) {
		t.Helper()
		if answer.Status != status || answer.Code() != code {
			t.Errorf("%s: %v, want %d %s", what, answer, status, code)
		}
	}
	resume := r.model.Pause()
	first := send(summarize, object{}, "s")
	refused("another without a key", send(summarize, object{}, ""), http.StatusBadRequest, "invalid_state")
	refused("the key with another body", send(summarize, object{"custom_prompt": "In verse."}, "s"), http.StatusUnprocessableEntity, "idempotency_key_reused")
	again := send(summarize, object{}, "s")
	resume()
	client.AwaitStatus(id, time.Minute, "COMPLETED")
	after := send(summarize, object{}, "s")
	for _, answer := range []servertest.Answer{again, after} {
		if first.Status != http.StatusOK || string(answer.Body) != string(first.Body) || answer.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("first %v, again %v", first, answer)
		}
	}
	if status := client.Get(at("/api/v1/recordings/%d/status", id)).JSON(t)["status"]; status != "COMPLETED" || len(r.model.Calls()) != before+1 {
		t.Errorf("after %d calls the recording is %v", len(r.model.Calls())-before, status)
	}

	resume = r.model.Pause()
	defer resume()
	question := object{"message": "What is it about?"}
	answered := make(chan servertest.Answer, 1)
	go func() { answered <- send(chat, question, "c") }()
	servertest.Eventually(t, time.Minute, "the question is out", func() bool { return r.model.InFlight() == 1 })
	running := send(chat, question, "c")
	refused("while it runs", running, http.StatusConflict, "idempotency_in_progress")
	if wait, err := strconv.Atoi(running.Header.Get("Retry-After")); err != nil || wait < 1 {
		t.Errorf("while it runs the wait is %q", running.Header.Get("Retry-After"))
	}
	resume()
	reply := <-answered
	if again := send(chat, question, "c"); reply.Status != http.StatusOK || string(again.Body) != string(reply.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("first %v, again %v", reply, again)
	}
	refused("the key with another question", send(chat, object{"message": "Why?"}, "c"), http.StatusUnprocessableEntity, "idempotency_key_reused")
	if stands := used(t, client).Account; len(r.model.Calls()) != before+2 || math.Abs(stands.Spent-2*(0.001+10e-6)) > 1e-9 {
		t.Errorf("%d calls were made, and %v are spent", len(r.model.Calls())-before, stands.Spent)
	}
}
