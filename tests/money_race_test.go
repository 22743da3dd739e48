package tests

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/jobstest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// tenCents are the settings under which an answer of the scripted model can cost ten cents, and does when it reports so:
// what it reads is free, and each of the hundred tokens that it may write costs a tenth of a cent.
func tenCents(t *testing.T, environment servertest.Environment, model *llmtest.Server) servertest.Environment {
	t.Helper()
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	err := os.WriteFile(prices, []byte("currency: USD\naudio:\n  - {model: '*', per_minute: 0}\ntext:\n  - {model: scripted, input: 0, output: 1000}\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return environment.With(servertest.Environment{
		"TEXT_MODEL_BASE_URL": model.BaseURL(), "TEXT_MODEL_API_KEY": "sk-test", "TEXT_MODEL_NAME": "scripted",
		"CHAT_MAX_TOKENS": "100", "PRICES_FILE": prices,
	})
}

// Rule (H-001, H-011): spent plus held never exceeds a hard budget, whatever is at the door at the same moment. Of thirty
// questions at once under a budget with room for three, the provider answering only after all were decided, exactly
// three reach it: by one process on SQLite, by three on PostgreSQL, twenty times.
func TestABudgetForThreeLetsThreeOfThirtyThrough(t *testing.T) {
	t.Parallel()
	for name, processes := range map[string]int{"sqlite": 1, "postgres": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			speech, model := asrtest.New(t), llmtest.New(t)
			environment := tenCents(t, quiet(t), model).With(servertest.Environment{
				"DATABASE_URL": jobstest.Migrated.URLs()[name](t), "SECRET_KEY": "0123456789abcdef0123456789abcdef", "ASR_BASE_URL": speech.ASRBaseURL(),
			})
			_, first := signedUp(t, environment)
			clients := []*servertest.Client{first}
			for range processes - 1 {
				clients = append(clients, servertest.Start(t, environment).Client(""))
				clients[len(clients)-1].Header = first.Header.Clone()
			}
			speech.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Plain("a talk about bees and honey") })
			id := recordingID(t, first.Upload("tone.wav", tone(t), nil).JSON(t))
			first.AwaitStatus(id, time.Minute, "COMPLETED")
			for round := 1; round <= 20; round++ {
				budget := 0.3 * float64(round)
				servertest.Prepare(t, environment, "", "budget", "set", "--org", "default", "--usd", fmt.Sprintf("%.1f", budget))
				raceForThree(t, clients, model, id, budget)
			}
		})
	}
}

// raceForThree sends thirty questions and lets the provider answer when 27 of them were refused.
func raceForThree(t *testing.T, clients []*servertest.Client, model *llmtest.Server, id int64, budget float64) {
	t.Helper()
	before := len(model.Calls())
	model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Says("honey").Using(10, 100) })
	resume := model.Pause()
	var asking, sampling sync.WaitGroup
	var refused, answered, others atomic.Int64
	for i := range 30 {
		asking.Go(func() {
			answer := clients[i%len(clients)].Send("POST", fmt.Sprintf("/api/v1/recordings/%d/chat", id), map[string]any{"message": "What is it about?"})
			switch {
			case answer.Status == http.StatusPaymentRequired && answer.Code() == "budget_exceeded":
				refused.Add(1)
			case answer.Status == http.StatusOK:
				answered.Add(1)
			default:
				t.Logf("answered %v", answer)
				others.Add(1)
			}
		})
	}
	done := make(chan struct{})
	sampling.Go(func() {
		for {
			stands := used(t, clients[0]).Account
			if sum := stands.Spent + stands.Held; sum > budget+1e-9 {
				t.Errorf("spent and held are %v of %v", sum, budget)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	servertest.Eventually(t, time.Minute, "all thirty are decided", func() bool { return refused.Load()+others.Load() == 27 && model.InFlight() == 3 })
	resume()
	asking.Wait()
	close(done)
	sampling.Wait()
	calls := model.Calls()[before:]
	if len(calls) != 3 || answered.Load() != 3 || refused.Load() != 27 {
		t.Fatalf("%d reached the provider, %d were answered and %d refused", len(calls), answered.Load(), refused.Load())
	}
	for _, call := range calls {
		if call.Cap() < 1 || call.Cap() > 100 {
			t.Errorf("the provider was sent a cap of %d", call.Cap())
		}
	}
	if stands := used(t, clients[0]).Account; math.Abs(stands.Spent-budget) > 1e-9 || stands.Held != 0 {
		t.Errorf("afterwards %v are spent and %v held of %v", stands.Spent, stands.Held, budget)
	}
}
