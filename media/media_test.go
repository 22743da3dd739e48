package media_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stenometer/stenometer/media"
)

func newMedia(t *testing.T, o media.Options) *media.Media {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	m, err := media.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// made runs ffmpeg with these arguments and returns the path of the file that it made in a folder of the test's own.
func made(t *testing.T, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	args = append(append([]string{"-nostdin", "-hide_banner", "-loglevel", "error", "-y"}, args...), path)
	if out, err := exec.CommandContext(context.Background(), "ffmpeg", args...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg %v: %v\n%s", args, err, out)
	}
	return path
}

func written(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tone is an ffmpeg input of so many seconds of sound.
func tone(seconds string) []string {
	return []string{"-f", "lavfi", "-i", "sine=frequency=440:sample_rate=16000:duration=" + seconds}
}

// picture is an ffmpeg input of moving pictures.
func picture(seconds string) []string {
	return []string{"-f", "lavfi", "-i", "testsrc=size=64x64:rate=10:duration=" + seconds}
}

func all(parts ...[]string) []string {
	var args []string
	for _, part := range parts {
		args = append(args, part...)
	}
	return args
}
