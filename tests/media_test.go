package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// demoSpeech is the recording that ships with the demo: about half a minute of English.
func demoSpeech(t testing.TB) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "server", "demodata", "speech.flac"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// encode makes a media file of a few seconds of tone with ffmpeg: arguments say how, name's ending says what.
func encode(t testing.TB, name string, arguments ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	command := append([]string{"-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=frequency=440:duration=3"}, arguments...)
	if output, err := exec.Command("ffmpeg", append(command, path)...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg %v: %v\n%s", command, err, output)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// tone is three seconds of a tone as 16 kHz WAV: media, and nothing to transcribe.
func tone(t testing.TB) []byte {
	t.Helper()
	return encode(t, "tone.wav", "-ar", "16000", "-ac", "1")
}

func recordingID(t testing.TB, body map[string]any) int64 {
	t.Helper()
	id, ok := body["id"].(float64)
	if !ok || id < 1 {
		t.Fatalf("the answer has no id: %v", body)
	}
	return int64(id)
}

func at(format string, id int64) string { return fmt.Sprintf(format, id) }
