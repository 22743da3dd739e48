package tests

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: against a model that refuses by seconds CHUNK_LIMIT bounds the parts by seconds: no call is longer, and the
// joined transcript has every word once, at its time.
func TestChunkLimitBoundsTheParts(t *testing.T) {
	t.Parallel()
	const longest, every, words = 20 * time.Second, 4 * time.Second, 15
	service := asrtest.New(t)
	service.Always(asrtest.RefusesLongerThan(longest, service.HearsBeeps()))
	_, client := signedUp(t, quiet(t).With(lively).With(servertest.Environment{
		"TRANSCRIPTION_BASE_URL": service.BaseURL(), "TRANSCRIPTION_API_KEY": "sk-test", "CHUNK_LIMIT": "20s",
	}))
	path := filepath.Join(t.TempDir(), "beeps.wav")
	if err := asrtest.WriteBeeps(path, words, every); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	id := recordingID(t, client.Upload("beeps.wav", content, nil).JSON(t))
	client.AwaitStatus(id, time.Minute, "COMPLETED")
	answer := client.Call(http.MethodGet, at("/api/v1/recordings/%d/transcript", id), nil, nil).JSON(t)
	segments, _ := answer["segments"].([]any)
	if len(segments) != words {
		t.Fatalf("%d of %d words: %v", len(segments), words, answer)
	}
	for n, segment := range segments {
		heard := segment.(map[string]any)
		want := every.Seconds()*float64(n) + every.Seconds()/2
		if start := heard["start_time"].(float64); heard["text"] != asrtest.Beep(n) || start < want-0.5 || start > want+0.5 {
			t.Errorf("word %d is %v at %.2f, want %.2f", n, heard["text"], start, want)
		}
	}
	if calls := service.Calls(); len(calls) < 3 {
		t.Errorf("%d calls for a minute of audio in parts of 20 s", len(calls))
	}
}
