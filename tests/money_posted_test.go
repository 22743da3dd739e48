package tests

import (
	"net/http"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule (H-007): what posts a recording in is never refused for money: the recording is kept, its transcription fails with
// budget_exceeded, and no provider is called.
func TestPostedRecordingsAreKeptWithoutMoney(t *testing.T) {
	t.Parallel()
	provider := asrtest.New(t)
	environment := quiet(t).With(servertest.Environment{
		"TRANSCRIPTION_BASE_URL": provider.BaseURL(), "TRANSCRIPTION_API_KEY": "sk-test", "TRANSCRIPTION_MODEL": "whisper-1", "AI_MONTHLY_BUDGET_USD": "0",
	})
	process, ada := signedUp(t, environment)
	anyone, secret := process.Client(""), servertest.CreateToken(t, environment, "ada@example.org", "upload")
	recorded := recordBy(t, anyone, tone(t), "secret", secret, "file", "a.wav")
	if recorded.Status != http.StatusOK {
		t.Fatalf("a recorder without money: %v", recorded)
	}
	made := ada.Send(http.MethodPost, "/api/v1/integrations", map[string]any{"name": "Room"}).JSON(t)
	delivered := delivery(anyone, "/hooks/"+made["public_id"].(string), made["secret"].(string), "d-1", talk(1))
	if delivered.Status != http.StatusAccepted {
		t.Fatalf("a signed delivery without money: %v", delivered)
	}
	for _, id := range []int64{recordingID(t, recorded.JSON(t)), int64(delivered.JSON(t)["recording_id"].(float64))} {
		ada.AwaitStatus(id, time.Minute, "FAILED")
		if shown := ada.Get(at("/api/v1/recordings/%d", id)).JSON(t); shown["error_code"] != "budget_exceeded" {
			t.Errorf("recording %d failed by %v", id, shown["error_code"])
		}
		if audio := ada.Get(at("/api/v1/recordings/%d/audio", id)); audio.Status != http.StatusOK {
			t.Errorf("its audio: %v", audio.Status)
		}
	}
	if calls := len(provider.Calls()); calls != 0 {
		t.Errorf("the provider was called %d times", calls)
	}
}
