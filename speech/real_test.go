package speech_test

import (
	"context"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/speech"
)

const spoken = "The quick brown fox jumps over the lazy dog. It was the best of times. It was the worst of times."

// say is speech made by flite.
func say(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "said.wav")
	if out, err := exec.CommandContext(context.Background(), "flite", "-voice", "slt", "-t", text, "-o", path).CombinedOutput(); err != nil {
		t.Skipf("flite is not installed: %v %s", err, out)
	}
	return path
}

// missed counts the words of want that are not heard in their order.
func missed(want, got string) int {
	plain := func(text string) []string {
		return strings.Fields(strings.ToLower(strings.ReplaceAll(text, ".", "")))
	}
	wanted, heard := plain(want), plain(got)
	// The longest common subsequence, row by row.
	row := make([]int, len(heard)+1)
	for _, word := range wanted {
		diagonal := 0
		for i, other := range heard {
			above := row[i+1]
			switch {
			case word == other:
				row[i+1] = diagonal + 1
			case row[i] > above:
				row[i+1] = row[i]
			}
			diagonal = above
		}
	}
	return len(wanted) - row[len(heard)]
}

// The embedded engine hears real speech, whole and in parts, with times in order.
func TestEmbeddedEngineHearsSpeech(t *testing.T) {
	t.Parallel()
	m := newMedia(t)
	if !m.CanRecognize() {
		t.Skip("PocketSphinx is not installed")
	}
	r := rig{media: m, temp: t.TempDir()}
	r.db, r.purse = fund(t, nil)
	audio := r.audio(t, say(t, spoken))
	for name, longest := range map[string]time.Duration{"whole": 0, "in parts": 4 * time.Second} {
		engine, err := speech.New(speech.Options{Media: m, MaxLength: longest})
		if err != nil {
			t.Fatal(err)
		}
		r.Transcriber = speech.NewTranscriber(engine, m, speech.TranscriberOptions{TempDir: r.temp, Logger: slog.New(slog.DiscardHandler)})
		got := r.transcribe(t, audio, speech.Request{Language: "en"})
		t.Logf("%s: %q", name, got.Text)
		if wrong := missed(spoken, got.Text); wrong > 5 {
			t.Errorf("%s: %d of 21 words were missed: %q", name, wrong, got.Text)
		}
		if got.Kind != speech.KindSegments || got.Engine != "embedded" || got.Language != "en" || len(got.Gaps) > 0 || len(got.Segments) == 0 {
			t.Errorf("%s: %+v", name, got)
		}
		before := 0.0
		for _, s := range got.Segments {
			if *s.Start < before || *s.End < *s.Start || *s.End > audio.Length.Seconds() {
				t.Errorf("%s: %v-%v after %v", name, *s.Start, *s.End, before)
			}
			before = *s.Start
		}
	}
}

// Nobody speaks: an empty transcript, not an error.
func TestEmbeddedEngineHearsNobody(t *testing.T) {
	t.Parallel()
	m := newMedia(t)
	if !m.CanRecognize() {
		t.Skip("PocketSphinx is not installed")
	}
	r := rig{media: m, temp: t.TempDir()}
	r.db, r.purse = fund(t, nil)
	engine, err := speech.New(speech.Options{Media: m})
	if err != nil {
		t.Fatal(err)
	}
	r.Transcriber = speech.NewTranscriber(engine, m, speech.TranscriberOptions{TempDir: r.temp})
	for _, seconds := range []string{"3", "0.02"} {
		path := filepath.Join(t.TempDir(), "silence.wav")
		if out, err := exec.Command("ffmpeg", "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", "anullsrc=r=16000:cl=mono", "-t", seconds, path).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		if got := r.transcribe(t, r.audio(t, path), speech.Request{}); got.Text != "" || len(got.Segments) != 0 {
			t.Errorf("%s s of silence: %+v", seconds, got)
		}
	}
}

// The test service can give real answers too.
func TestServiceThatRecognizes(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	if !r.media.CanRecognize() {
		t.Skip("PocketSphinx is not installed")
	}
	r.service.Recognizes()
	got := r.transcribe(t, r.audio(t, say(t, spoken)), speech.Request{})
	if wrong := missed(spoken, got.Text); wrong > 5 {
		t.Errorf("%d of 21 words were missed: %q", wrong, got.Text)
	}
}
