package tests

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// demoSpeech is the recording that ships with the demo: about half a minute of English.
var demoSpeech = filepath.Join(root, "server", "demodata", "speech.flac")

// encode makes a media file of a few seconds of tone with ffmpeg: arguments say how, name's ending says what.
func encode(t testing.TB, name string, arguments ...string) []byte {
	t.Helper()
	return converted(t, name, toneInput, arguments)
}

var toneInput = []string{"-f", "lavfi", "-i", "sine=frequency=440:duration=3"}

func converted(t testing.TB, name string, from, arguments []string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	command := slices.Concat([]string{"-nostdin", "-v", "error"}, from, arguments, []string{path})
	if output, err := exec.Command("ffmpeg", command...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg %v: %v\n%s", command, err, output)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// tone is three seconds of a tone as 16 kHz WAV: media, and nothing to transcribe.
func tone(t testing.TB) []byte { return samples.tone.of(t) }

// shortSpeech is the beginning of the demo's recording: it is worked for a second or more, and not for ten.
func shortSpeech(t testing.TB) []byte { return samples.speech.of(t) }

// samples are files that many tests send. To start ffmpeg costs more than what it makes, so each is made once.
var samples = struct{ tone, speech sample }{
	tone:   sample{name: "tone.wav", from: toneInput, arguments: []string{"-ar", "16000", "-ac", "1"}},
	speech: sample{name: "speech.flac", from: []string{"-i", demoSpeech}, arguments: []string{"-t", "8"}},
}

// sample is a file that is made when the first test asks for it.
type sample struct {
	name            string
	from, arguments []string
	once            sync.Once
	content         []byte
}

// of returns a copy: a test may change its own.
func (s *sample) of(t testing.TB) []byte {
	t.Helper()
	s.once.Do(func() { s.content = converted(t, s.name, s.from, s.arguments) })
	if s.content == nil {
		t.Fatalf("%s was not made", s.name)
	}
	return bytes.Clone(s.content)
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
