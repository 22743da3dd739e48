package config_test

import (
	"testing"
	"time"

	"github.com/stenometer/stenometer/config"
)

// A bound of parts is written as Speakr's .env writes it: a size or a length.
func TestChunkLimitIsASizeOrALength(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.ChunkLimit{
		"20MB": {Bytes: 20 << 20}, " 25 mb ": {Bytes: 25 << 20}, "1200s": {Length: 1200 * time.Second}, "20m": {Length: 20 * time.Minute},
		"": {},
	} {
		if got := load(t, "CHUNK_LIMIT="+text).ChunkLimit; got != want {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
	for _, text := range []string{"20", "MB", "0MB", "-1s", "+20s", "9s", "1.5m", "2001MB", "25h", "20KB", "99999999999999999999s", "m"} {
		if got, err := config.ParseChunkLimit(text); err == nil {
			t.Errorf("%q is %+v, want a refusal", text, got)
		}
	}
}
