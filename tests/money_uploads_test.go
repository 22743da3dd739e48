package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/jobstest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule (H-002): audio is held by its decoded length before an engine is called. Of eight uploads of four minutes under a
// budget of ten minutes at most two reach the provider; the others keep their audio, are marked budget_exceeded, do not
// start by themselves when the budget is raised, and complete when they are started again.
func TestABudgetOfTenMinutesTranscribesTwoOfEight(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "four-minutes.wav")
	if err := asrtest.WriteBeeps(file, 2, 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	fourMinutes, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, address := range jobstest.Migrated.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := asrtest.New(t)
			provider.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Plain("four minutes of talk") })
			environment := quiet(t).With(servertest.Environment{
				"DATABASE_URL": address(t), "SECRET_KEY": "0123456789abcdef0123456789abcdef",
				"TRANSCRIPTION_BASE_URL": provider.BaseURL(), "TRANSCRIPTION_API_KEY": "sk-test", "TRANSCRIPTION_MODEL": "whisper-1",
				"AI_MONTHLY_BUDGET_USD": "0.06", // ten minutes of whisper-1
			})
			_, client := signedUp(t, environment)
			ids := make([]int64, 8)
			for i := range ids {
				ids[i] = recordingID(t, client.Upload("four-minutes.wav", fourMinutes, nil).JSON(t))
			}
			done, refused := rested(t, client, ids)
			if len(done) == 0 || len(done) > 2 || len(provider.Calls()) != len(done) {
				t.Errorf("%d were transcribed by %d calls, want two at most by as many", len(done), len(provider.Calls()))
			}
			for _, id := range refused {
				shown := client.Get(fmt.Sprintf("/api/v1/recordings/%d", id)).JSON(t)
				if shown["error_code"] != "budget_exceeded" || shown["error_message"] == nil {
					t.Errorf("a refused one is shown as %v, %v", shown["error_code"], shown["error_message"])
				}
				if audio := client.Get(fmt.Sprintf("/api/v1/recordings/%d/audio", id)); audio.Status != http.StatusOK || len(audio.Body) != len(fourMinutes) {
					t.Errorf("its audio answers %d with %d bytes", audio.Status, len(audio.Body))
				}
			}
			if spent := used(t, client).Account.Spent; spent > 0.06 {
				t.Errorf("%v dollars are spent of 0.06", spent)
			}

			again := client.Send("POST", fmt.Sprintf("/api/v1/recordings/%d/transcribe", refused[0]), map[string]any{})
			if again.Status != http.StatusPaymentRequired || again.Code() != "budget_exceeded" || again.Header.Get("Retry-After") != "" {
				t.Errorf("started again without money: %v", again)
			}
			before := len(provider.Calls())
			servertest.Prepare(t, environment, "", "budget", "set", "--org", "default", "--usd", "1")
			if waiting := client.Get("/api/v1/stats").JSON(t)["queue"]; fmt.Sprint(waiting) != "map[jobs_processing:0 jobs_queued:0]" || len(provider.Calls()) != before {
				t.Errorf("after the budget was raised %v wait, and %d calls were made", waiting, len(provider.Calls())-before)
			}
			for _, id := range refused {
				if answer := client.Send("POST", fmt.Sprintf("/api/v1/recordings/%d/transcribe", id), map[string]any{}); answer.Status != http.StatusOK {
					t.Errorf("started again: %v", answer)
				}
			}
			for _, id := range refused {
				client.AwaitStatus(id, time.Minute, "COMPLETED")
			}
		})
	}
}

// rested waits until none of the recordings is worked on and tells which completed and which failed.
func rested(t *testing.T, client *servertest.Client, ids []int64) (done, failed []int64) {
	t.Helper()
	for _, id := range ids {
		if client.AwaitStatus(id, time.Minute, "COMPLETED", "FAILED")["status"] == "COMPLETED" {
			done = append(done, id)
		} else {
			failed = append(failed, id)
		}
	}
	return done, failed
}

// usage is what tests read of GET /api/v1/usage.
type usage struct {
	Account struct {
		Spent float64 `json:"spent"`
		Held  float64 `json:"held"`
	} `json:"account"`
	Entries []struct {
		Operation    string  `json:"operation"`
		Model        string  `json:"model"`
		Calls        int     `json:"calls"`
		InputTokens  int64   `json:"input_tokens"`
		OutputTokens int64   `json:"output_tokens"`
		AudioSeconds float64 `json:"audio_seconds"`
		Charged      float64 `json:"charged"`
		Unknown      int     `json:"unknown_calls"`
		Estimated    int     `json:"estimated_calls"`
	} `json:"entries"`
}

// used is the caller's usage of the present month.
func used(t *testing.T, client *servertest.Client) usage {
	t.Helper()
	answer := client.Get("/api/v1/usage?per_page=100")
	if answer.Status != http.StatusOK {
		t.Fatalf("usage answers %v", answer)
	}
	var read usage
	if err := json.Unmarshal(answer.Body, &read); err != nil {
		t.Fatal(err)
	}
	return read
}
