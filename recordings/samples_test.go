package recordings_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// wav is a tone of so many seconds at 8 kHz; the seed makes files differ.
func wav(seconds float64, seed int) []byte {
	samples := int(seconds * 8000)
	var file bytes.Buffer
	file.WriteString("RIFF")
	for _, field := range []any{uint32(36 + 2*samples), []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(8000), uint32(16000), uint16(2), uint16(16), []byte("data"), uint32(2 * samples)} {
		_ = binary.Write(&file, binary.LittleEndian, field)
	}
	content := file.Bytes()
	for i := range samples { // binary.Write of each would be most of a test's work
		content = binary.LittleEndian.AppendUint16(content, uint16(int16(8000*math.Sin(float64(i)*(0.2+float64(seed)/100)))))
	}
	return content
}

// encoded is a file as ffmpeg makes it.
func encoded(t testing.TB, extension string, options ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made"+extension)
	args := append([]string{"-v", "error", "-f", "lavfi", "-i", "sine=frequency=440:duration=30"}, options...)
	if output, err := exec.CommandContext(context.Background(), "ffmpeg", append(args, path)...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, output)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
