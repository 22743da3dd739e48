package tests

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/modelsql"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: a script beside an open tab never sees "database is locked" (H-075). Writers upload and delete, readers
// list, last-used updates are on: no 5xx, no 401, and p99 under two seconds.
func TestManyWritersAndReadersOnSQLite(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(servertest.Environment{"JOBS_MAX_CONCURRENT_PER_ORG": "0", "API_TOKEN_CREATE_RATE_LIMIT": "0"})
	process, client := signedUp(t, environment)
	length := 5 * time.Second
	if servertest.Soak() {
		length = 60 * time.Second
	}
	content := tone(t)
	deadline := time.Now().Add(length)
	var mu sync.Mutex
	var latencies []time.Duration
	note := func(what string, began time.Time, answer servertest.Answer, err error) {
		mu.Lock()
		defer mu.Unlock()
		latencies = append(latencies, time.Since(began))
		if err != nil || answer.Status >= 500 || answer.Status == http.StatusUnauthorized {
			t.Errorf("%s: %v %v", what, answer, err)
		}
	}
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			writer := process.Client(client.Header.Get("Authorization")[len("Bearer "):])
			for time.Now().Before(deadline) {
				contentType, body := form(t, filePart("tone.wav", content))
				began := time.Now()
				answer, err := writer.Do(http.MethodPost, "/api/v1/recordings/upload", bytes.NewReader(body), http.Header{"Content-Type": {contentType}})
				note("upload", began, answer, err)
				if err != nil || answer.Status != http.StatusAccepted {
					return
				}
				began = time.Now()
				answer, err = writer.Do(http.MethodDelete, at("/api/v1/recordings/%d", recordingID(t, answer.JSON(t))), nil, nil)
				note("delete", began, answer, err)
			}
		})
	}
	for range 20 {
		wait.Go(func() {
			reader := process.Client(client.Header.Get("Authorization")[len("Bearer "):])
			for time.Now().Before(deadline) {
				began := time.Now()
				answer, err := reader.Do(http.MethodGet, "/api/v1/recordings", nil, nil)
				note("list", began, answer, err)
			}
		})
	}
	wait.Wait()
	slices.Sort(latencies)
	p99 := latencies[len(latencies)*99/100]
	t.Logf("%d requests, p99 %v", len(latencies), p99)
	if containsAll(process.Logs(), "database is locked") {
		t.Error("the log says that the database is locked")
	}
}

// Rule: a database that is busy is waited for or answered 503, never read as a bad credential (H-042).
func TestABusyDatabaseIsNoBadCredential(t *testing.T) {
	t.Parallel()
	environment := quiet(t)
	_, client := signedUp(t, environment)
	db := modelsql.Open(t, environment)
	connection, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := connection.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	release := time.AfterFunc(3*time.Second, func() { _, _ = connection.ExecContext(t.Context(), "ROLLBACK") })
	defer release.Stop()
	for i := range 20 {
		answer := client.Get("/api/v1/recordings")
		if answer.Status != http.StatusOK && !(answer.Status == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != "") {
			t.Errorf("read %d while the database is locked: %v, want 200 or 503 with Retry-After", i, answer)
		}
	}
	answer := client.Send(http.MethodDelete, fmt.Sprintf("/api/v1/recordings/%d", 1), nil)
	if answer.Status != http.StatusNotFound && answer.Status != http.StatusServiceUnavailable {
		t.Errorf("a write while the database is locked: %v, want it to wait, or 503", answer)
	}
}

// Rule: a disabled account's token is dead within a second and its session at once, also where an operator wrote that
// into the database by hand (H-039, in so far as it is built).
func TestADisabledAccountsCredentialsAreDead(t *testing.T) {
	t.Parallel()
	environment := quiet(t)
	process, client := signedUp(t, environment)
	browser := process.Client("")
	browser.SignIn("ada@example.org", servertest.Password)
	modelsql.Exec(t, environment, "UPDATE users SET disabled_at = '2020-01-01 00:00:00.000000+00:00'")
	servertest.Eventually(t, 2*time.Second, "the token is dead", func() bool {
		return client.Get("/api/v1/recordings").Status == http.StatusUnauthorized
	})
	if answer := browser.Get("/api/v1/recordings"); answer.Status != http.StatusUnauthorized {
		t.Errorf("the session: %v, want 401", answer)
	}
}
