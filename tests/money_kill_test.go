package tests

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/jobstest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: a process that is killed loses no cent of the ledger. Killed before a call is sent, while it is out, and between
// its answer and the settling, at ten instants, afterwards no money is held, what is spent is the sum of the ledger,
// every call that the provider received has one line, and what nobody can know is charged in full.
func TestKilledAtAnyInstantTheLedgerAddsUp(t *testing.T) {
	t.Parallel()
	for name, address := range jobstest.Migrated.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			speech, model := asrtest.New(t), llmtest.New(t)
			environment := tenCents(t, quiet(t), model).With(servertest.Environment{
				"DATABASE_URL": address(t), "SECRET_KEY": "0123456789abcdef0123456789abcdef", "ASR_BASE_URL": speech.ASRBaseURL(),
				"AI_MONTHLY_BUDGET_USD": "100", "BUDGET_HOLD_SECONDS": "1",
			})
			process, client := signedUp(t, environment)
			speech.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Plain("a talk about bees and honey") })
			id := recordingID(t, client.Upload("tone.wav", tone(t), nil).JSON(t))
			client.AwaitStatus(id, time.Minute, "COMPLETED")
			model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Says("honey").Using(10, 50) })
			for round := range 10 {
				killDuringAnswer(t, process, client, model, id, round)
				process = servertest.Start(t, environment)
				client.URL = process.URL
			}
			servertest.Eventually(t, 30*time.Second, "nothing is held", func() bool { return used(t, client).Account.Held == 0 })
			stands := used(t, client)
			charged, lines, unknown := 0.0, 0, 0
			for _, entry := range stands.Entries {
				if entry.Operation != "chat" {
					continue
				}
				charged, lines, unknown = charged+entry.Charged, lines+entry.Calls, unknown+entry.Unknown
			}
			if math.Abs(charged-stands.Account.Spent) > 1e-9 {
				t.Errorf("%v are spent and the ledger adds up to %v", stands.Account.Spent, charged)
			}
			if calls := len(model.Calls()); lines < calls || lines > calls+10 || unknown == 0 || unknown > 10 {
				t.Errorf("the provider received %d calls; the ledger has %d lines, %d of them unknown", calls, lines, unknown)
			}
			// A line is an answer at 0.05, or a call that nobody knows of at the 0.10 that were held for it.
			if want := 0.05*float64(lines-unknown) + 0.10*float64(unknown); math.Abs(charged-want) > 1e-9 {
				t.Errorf("%d lines, %d of them unknown, cost %v, want %v", lines, unknown, charged, want)
			}
		})
	}
}

// killDuringAnswer asks a question and kills the server: while the call is out, as soon as the provider has answered, or
// at any moment.
func killDuringAnswer(t *testing.T, process *servertest.Process, client *servertest.Client, model *llmtest.Server, id int64, round int) {
	t.Helper()
	before := len(model.Calls())
	resume := func() {}
	if round%3 == 0 {
		resume = model.Pause()
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = client.Do("POST", fmt.Sprintf("/api/v1/recordings/%d/chat", id), strings.NewReader(`{"message":"What is it about?"}`),
			http.Header{"Content-Type": {"application/json"}}) // its end is the kill's
	}()
	patience, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	switch round % 3 {
	case 0:
		if err := model.Await(patience, func(s *llmtest.Server) bool { return s.InFlight() == 1 }); err != nil {
			t.Fatal(err)
		}
	case 1:
		if err := model.Await(patience, func(s *llmtest.Server) bool { return len(s.Calls()) > before && s.InFlight() == 0 }); err != nil {
			t.Fatal(err)
		}
	default:
		timer := time.NewTimer(rand.N(60 * time.Millisecond))
		<-timer.C
	}
	process.Kill()
	resume()
	<-left
}
