package tests

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
)

// storm sends 400 reads, from several callers at once, over the clients in turn, and counts the answers by status
// and code. It fails the test when the storm took longer than the 50 seconds in which the figures must hold.
func storm(t *testing.T, clients []*servertest.Client) map[string]int {
	t.Helper()
	return stormWithPauses(t, clients, 0)
}

// stormWithPauses is a storm whose callers wait after each request.
func stormWithPauses(t *testing.T, clients []*servertest.Client, pause time.Duration) map[string]int {
	t.Helper()
	const requests, callers = 400, 8
	began := time.Now()
	var next atomic.Int64
	var mu sync.Mutex
	counted := map[string]int{}
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= requests {
					return
				}
				answer, err := clients[int(i)%len(clients)].Do(http.MethodGet, "/api/v1/recordings", nil, nil)
				outcome := fmt.Sprint(err)
				if err == nil {
					outcome = fmt.Sprint(answer.Status)
					if answer.Status != http.StatusOK {
						outcome += " " + answer.Code()
					}
				}
				mu.Lock()
				counted[outcome]++
				mu.Unlock()
				if pause > 0 {
					<-time.After(pause)
				}
			}
		})
	}
	wait.Wait()
	if took := time.Since(began); took > 50*time.Second {
		t.Errorf("the 400 requests took %v, more than the 50 s in which they must be counted", took)
	}
	return counted
}

// account makes one account with several full tokens and returns a client for each pair of process and token,
// so that tokens and processes are used in turn.
func account(t *testing.T, environment servertest.Environment, processes []*servertest.Process, tokens int) []*servertest.Client {
	t.Helper()
	return accountOf(t, environment, processes, "ada@example.org", tokens)
}

// accountOf is account for one of this e-mail address.
func accountOf(t *testing.T, environment servertest.Environment, processes []*servertest.Process, email string, tokens int) []*servertest.Client {
	t.Helper()
	servers := make([]*servertest.Client, len(processes))
	for i, process := range processes {
		servers[i] = process.Client("")
	}
	return accountOn(t, environment, servers, email, tokens)
}

// accountOn makes the account and its tokens over the first of several servers.
func accountOn(t *testing.T, environment servertest.Environment, servers []*servertest.Client, email string, tokens int) []*servertest.Client {
	t.Helper()
	servertest.CreateUser(t, environment, email)
	browser := servertest.ClientOf(t, servers[0].URL)
	if answer := browser.SignIn(email, servertest.Password); answer.Status != http.StatusOK {
		t.Fatalf("signing in: %v", answer)
	}
	plain := make([]string, tokens)
	for i := range plain {
		answer := browser.Send(http.MethodPost, "/api/tokens", map[string]any{"name": "test"})
		if answer.Status != http.StatusCreated {
			t.Fatalf("making a token: %v", answer)
		}
		plain[i], _ = answer.JSON(t)["token"].(string)
	}
	var clients []*servertest.Client
	for i := range max(len(servers), 1) * tokens {
		client := servertest.ClientOf(t, servers[i%len(servers)].URL)
		client.Header.Set("Authorization", "Bearer "+plain[i/len(servers)%tokens])
		clients = append(clients, client)
	}
	return clients
}

func start(t *testing.T, environment servertest.Environment, processes int) []*servertest.Process {
	t.Helper()
	started := make([]*servertest.Process, processes)
	for i := range started {
		started[i] = servertest.Start(t, environment)
	}
	return started
}

func expectCounts(t *testing.T, got map[string]int, want map[string]int) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Rule: exact figures. 400 reads of one account over four tokens: 240 pass, 160 are refused by the account's limit;
// over one token 120 and 280 by the token's. On one process with counts in memory.
func TestFourHundredReadsInMemory(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		tokens int
		want   map[string]int
	}{
		{4, map[string]int{"200": 240, "429 account_rate_limit_exceeded": 160}},
		{1, map[string]int{"200": 120, "429 token_rate_limit_exceeded": 280}},
	} {
		t.Run(fmt.Sprintf("%d tokens", row.tokens), func(t *testing.T) {
			t.Parallel()
			environment := servertest.Fresh(t)
			expectCounts(t, storm(t, account(t, environment, start(t, environment, 1), row.tokens)), row.want)
		})
	}
}

// Rule: counts in memory are each process's own, and the server says so. Three processes let three times the
// token's figure through, and log, readyz and metrics tell.
func TestThreeProcessesWithCountsInMemoryLetThreeTimesAsManyThroughAndSaySo(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t)
	processes := start(t, environment, 3)
	counted := storm(t, account(t, environment, processes, 1))
	expectCounts(t, counted, map[string]int{"200": 360, "429 token_rate_limit_exceeded": 40})
	for i, process := range processes {
		servertest.Eventually(t, 30*time.Second, "readyz warns", func() bool {
			answer := process.Client("").Get("/readyz")
			warnings, _ := answer.JSON(t)["warnings"].([]any)
			return answer.Status == http.StatusOK && len(warnings) == 1
		})
		servertest.Eventually(t, 30*time.Second, fmt.Sprintf("process %d logs the warning", i), func() bool {
			return containsAll(process.Logs(), "RATELIMIT_STORAGE_URI", "each process")
		})
	}
}

// Rule: stacked limits, each with a code of its own. Token 5, account 8: two tokens get eight through, the ninth is
// the account's; a third token adds nothing; an exhausted token leaves the other its budget; exhausted reads leave
// writes alone.
func TestStackedLimitsNameTheOneThatIsExhausted(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t).With(servertest.Environment{
		"API_TOKEN_RATE_LIMIT_READ": "5 per minute", "API_USER_RATE_LIMIT_READ": "8 per minute",
	})
	clients := account(t, environment, start(t, environment, 1), 3)
	read := func(client int) servertest.Answer { return clients[client].Get("/api/v1/recordings") }

	for i := range 5 {
		if answer := read(0); answer.Status != http.StatusOK {
			t.Fatalf("read %d of the first token: %v", i+1, answer)
		}
	}
	expectRefusal(t, read(0), "token_rate_limit_exceeded", "token_read", "token", 5)
	for i := range 3 {
		if answer := read(1); answer.Status != http.StatusOK {
			t.Fatalf("read %d of the second token, after the first was exhausted: %v", i+1, answer)
		}
	}
	expectRefusal(t, read(1), "account_rate_limit_exceeded", "account_read", "account", 8)
	expectRefusal(t, read(2), "account_rate_limit_exceeded", "account_read", "account", 8)
	if answer := clients[1].Send(http.MethodDelete, "/api/v1/recordings/1", nil); answer.Status != http.StatusNotFound {
		t.Errorf("a write after the reads were exhausted: %v, want 404 of a recording that is not there", answer)
	}
}

func expectRefusal(t *testing.T, answer servertest.Answer, code, name, scope string, figure int) {
	t.Helper()
	if answer.Status != http.StatusTooManyRequests || answer.Code() != code {
		t.Fatalf("got %v, want 429 %s", answer, code)
	}
	body := answer.JSON(t)
	limit, _ := body["limit"].(map[string]any)
	if limit["name"] != name || limit["scope"] != scope || limit["limit"] != float64(figure) || limit["window_seconds"] != 60.0 {
		t.Errorf("the refusal's limit is %v, want %s of %s, %d in 60 s", limit, name, scope, figure)
	}
	told, _ := body["retry_after"].(float64)
	header, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil || header < 1 || header > 61 || float64(header) != told {
		t.Errorf("Retry-After is %q and retry_after %v, want the same whole seconds from 1 to 61 (the wait and the resolution, rounded up)", answer.Header.Get("Retry-After"), told)
	}
}

// Rule: Retry-After is a promise. A client that waits exactly that long is let in.
func TestWaitingExactlyRetryAfterSucceeds(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t).With(servertest.Environment{"API_TOKEN_RATE_LIMIT_READ": "3 per 2 seconds"})
	client := account(t, environment, start(t, environment, 1), 1)[0]
	for round := range 3 {
		var refused servertest.Answer
		for refused = client.Get("/api/v1/recordings"); refused.Status == http.StatusOK; refused = client.Get("/api/v1/recordings") {
		}
		wait, err := strconv.Atoi(refused.Header.Get("Retry-After"))
		if err != nil || wait < 1 || wait > 3 {
			t.Fatalf("round %d: Retry-After is %q", round, refused.Header.Get("Retry-After"))
		}
		<-time.After(time.Duration(wait) * time.Second)
		if answer := client.Get("/api/v1/recordings"); answer.Status != http.StatusOK {
			t.Errorf("round %d: after waiting %d s: %v", round, wait, answer)
		}
	}
}

// Rule: the headers name every limit of the stack, X-RateLimit-* the one with the fewest requests left, and a refusal's
// Retry-After is never earlier than the reset beside it (H-028).
func TestBudgetHeadersNameTheWholeStack(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t).With(servertest.Environment{
		"API_TOKEN_RATE_LIMIT_PROCESS": "50 per minute", "API_USER_RATE_LIMIT_PROCESS": "20 per minute",
		"RATE_LIMIT_AI_PER_ORG_PER_MINUTE": "200", "RATE_LIMIT_AI_PER_USER_PER_MINUTE": "0", "RATE_LIMIT_AI_PER_IP_PER_MINUTE": "0",
	})
	client := account(t, environment, start(t, environment, 1), 1)[0]
	work := func() servertest.Answer {
		return client.Send(http.MethodPost, "/api/v1/recordings/999/transcribe", map[string]any{})
	}
	answer := work()
	for range 4 {
		answer = work()
	}
	if got := answer.Header.Get("X-RateLimit-Limit") + " " + answer.Header.Get("X-RateLimit-Remaining"); got != "20 15" {
		t.Errorf("X-RateLimit-Limit and -Remaining are %s, want 20 15", got)
	}
	for name, parts := range map[string][]string{
		"RateLimit-Policy": {`"token_process";q=50;w=60`, `"account_process";q=20;w=60`, `"organization_ai";q=200;w=60`},
		"RateLimit":        {`"token_process";r=45;t=`, `"account_process";r=15;t=`, `"organization_ai";r=195;t=`},
	} {
		if !containsAll(answer.Header.Get(name), parts...) {
			t.Errorf("%s is %q, want each of %v in it", name, answer.Header.Get(name), parts)
		}
	}
	if answer.Header.Get("Retry-After") != "" {
		t.Errorf("an answer that is no refusal carries Retry-After %q", answer.Header.Get("Retry-After"))
	}
	for answer.Status != http.StatusTooManyRequests {
		answer = work()
	}
	now := time.Now().Unix()
	wait, err := strconv.ParseInt(answer.Header.Get("Retry-After"), 10, 64)
	reset, failed := strconv.ParseInt(answer.Header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || failed != nil || reset > now+wait+1 {
		t.Errorf("Retry-After %q says %d, X-RateLimit-Reset %q is later", answer.Header.Get("Retry-After"), now+wait, answer.Header.Get("X-RateLimit-Reset"))
	}
}
