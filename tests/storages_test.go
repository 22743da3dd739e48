package tests

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/tests/servertest"
	"github.com/stenometer/stenometer/tests/testservices"
)

// sharedStorage is one in which several processes count together.
type sharedStorage struct {
	name     string
	settings func(t *testing.T) servertest.Environment
}

func sharedStorages() []sharedStorage {
	uri := func(of func(t *testing.T) string) func(*testing.T) servertest.Environment {
		return func(t *testing.T) servertest.Environment {
			t.Helper()
			return servertest.Environment{"RATELIMIT_STORAGE_URI": of(t)}
		}
	}
	return []sharedStorage{
		{"Redis", uri(func(t *testing.T) string { t.Helper(); return testservices.OwnRedis(t) })},
		{"Redis Cluster", uri(func(t *testing.T) string { t.Helper(); return testservices.Cluster(t).URL })},
		{"Redis Sentinel after a failover", uri(func(t *testing.T) string {
			t.Helper()
			sentinel := testservices.Sentinel(t)
			sentinel.FailOver()
			return sentinel.URL
		})},
		{"SQLite", uri(func(*testing.T) string { return "database://" })},
		{"PostgreSQL", func(t *testing.T) servertest.Environment {
			t.Helper()
			return servertest.Environment{
				"RATELIMIT_STORAGE_URI": "database://", "DATABASE_URL": modelstest.PostgresURL(t), "SECRET_KEY": "0123456789abcdef",
			}
		}},
	}
}

// onlyThere makes the shared storage alone decide: were a busy machine ever too slow for it, a test would see 503 and
// not a count of one process.
func onlyThere(t *testing.T, storage sharedStorage) servertest.Environment {
	t.Helper()
	return servertest.Fresh(t).With(storage.settings(t)).With(servertest.Environment{
		"RATELIMIT_ON_STORAGE_ERROR": "deny,deny,deny", "RATELIMIT_STORAGE_TIMEOUT_MILLISECONDS": "5000",
	})
}

// Rule: exact across replicas with a shared storage. 400 reads of one account over three processes: with four tokens
// 240 pass and 160 are refused by the account's limit, with one token 120 and 280 by the token's.
func TestFourHundredReadsOverThreeProcesses(t *testing.T) {
	t.Parallel()
	for _, storage := range sharedStorages() {
		t.Run(storage.name, func(t *testing.T) {
			t.Parallel()
			environment := onlyThere(t, storage)
			processes := start(t, environment, 3)
			expectCounts(t, storm(t, accountOf(t, environment, processes, "ada@example.org", 4)),
				map[string]int{"200": 240, "429 account_rate_limit_exceeded": 160})
			expectCounts(t, storm(t, accountOf(t, environment, processes, "bob@example.org", 1)),
				map[string]int{"200": 120, "429 token_rate_limit_exceeded": 280})
		})
	}
}

// Rule: the same at ten offsets within the minute, the requests spread over up to 50 seconds: never 239, never 241.
func TestSoakFourHundredReadsAtTenOffsets(t *testing.T) {
	if !servertest.Soak() {
		t.Skip("takes two minutes; make soak runs it")
	}
	t.Parallel()
	for _, storage := range sharedStorages() {
		t.Run(storage.name, func(t *testing.T) {
			t.Parallel()
			environment := onlyThere(t, storage).With(servertest.Environment{"API_MAX_TOKENS_PER_USER": "0"})
			processes := start(t, environment, 3)
			var offsets sync.WaitGroup
			for offset := range 10 {
				clients := accountOf(t, environment, processes, fmt.Sprintf("ada%d@example.org", offset), 4)
				offsets.Go(func() {
					<-time.After(time.Duration(offset) * 6 * time.Second)
					// A wait after each request spreads them: from a burst to 36 seconds.
					counted := stormWithPauses(t, clients, time.Duration(offset)*80*time.Millisecond)
					expectCounts(t, counted, map[string]int{"200": 240, "429 account_rate_limit_exceeded": 160})
				})
			}
			offsets.Wait()
		})
	}
}

// Rule: what one process counts the other refuses, and both tell the same remaining count (H-026).
func TestWhatOneProcessCountsTheOtherRefuses(t *testing.T) {
	t.Parallel()
	for _, storage := range sharedStorages() {
		t.Run(storage.name, func(t *testing.T) {
			t.Parallel()
			environment := onlyThere(t, storage).With(servertest.Environment{"API_TOKEN_RATE_LIMIT_READ": "10 per minute"})
			clients := account(t, environment, start(t, environment, 2), 1)
			for i := range 9 {
				if answer := clients[0].Get("/api/v1/recordings"); answer.Status != http.StatusOK {
					t.Fatalf("read %d: %v", i+1, answer)
				}
			}
			last := clients[1].Get("/api/v1/recordings")
			if left := last.Header.Get("X-RateLimit-Remaining"); last.Status != http.StatusOK || left != "0" {
				t.Errorf("the tenth read, by the other process: %v with %s left, want 200 and 0", last, left)
			}
			for _, client := range clients {
				expectRefusal(t, client.Get("/api/v1/recordings"), "token_rate_limit_exceeded", "token_read", "token", 10)
			}
		})
	}
}

// Rule: on a Redis Cluster a stack that spans an organization and an address is never admitted beyond either figure,
// and no fault of the storage reads as admission (H-032).
func TestAClusterKeepsStacksThatSpanSlots(t *testing.T) {
	t.Parallel()
	nodes := testservices.Cluster(t)
	cluster := sharedStorage{"Redis Cluster", func(t *testing.T) servertest.Environment {
		t.Helper()
		for _, node := range nodes.Masters { // each row begins with nothing counted
			if err := node.Client().FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		return servertest.Environment{"RATELIMIT_STORAGE_URI": nodes.URL}
	}}
	for _, row := range []struct {
		name     string
		settings servertest.Environment
		want     map[string]int
	}{
		{
			"the organization's figure",
			servertest.Environment{"RATE_LIMIT_AI_PER_ORG_PER_MINUTE": "30", "RATE_LIMIT_AI_PER_IP_PER_MINUTE": "0"},
			map[string]int{"404 not_found": 30, "429 organization_rate_limit_exceeded": 70},
		},
		{
			"the organization's figure beside the address's",
			servertest.Environment{"RATE_LIMIT_AI_PER_ORG_PER_MINUTE": "30"},
			map[string]int{"404 not_found": 30, "429 organization_rate_limit_exceeded": 70},
		},
		{
			"the address's figure",
			servertest.Environment{"RATE_LIMIT_AI_PER_ORG_PER_MINUTE": "60", "RATE_LIMIT_AI_PER_IP_PER_MINUTE": "25"},
			map[string]int{"404 not_found": 25, "429 address_rate_limit_exceeded": 75},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			environment := onlyThere(t, cluster).With(servertest.Environment{
				"API_TOKEN_RATE_LIMIT_PROCESS": "100/minute", "RATE_LIMIT_AI_PER_USER_PER_MINUTE": "0",
			}).With(row.settings)
			processes := start(t, environment, 2)
			clients := account(t, environment, processes, 1)
			counted := map[string]int{}
			for i := range 100 {
				answer := clients[i%2].Send(http.MethodPost, "/api/v1/recordings/999/transcribe", map[string]any{})
				counted[fmt.Sprintf("%d %s", answer.Status, answer.Code())]++
			}
			expectCounts(t, counted, row.want)
			for _, process := range processes {
				if logs := process.Logs(); containsAll(logs, "CROSSSLOT") {
					t.Errorf("the log tells of slots: %s", logs)
				}
			}
		})
	}
}
