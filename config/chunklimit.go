package config

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// chunkLimitAllowed says how a limit of parts is written.
const chunkLimitAllowed = "a size such as 20MB, or a length such as 1200s or 20m"

// ChunkLimit is CHUNK_LIMIT: the most that one call to a speech engine may take, in bytes or in length. What is 0
// is as the engine states it.
type ChunkLimit struct {
	Bytes  int64
	Length time.Duration
}

// ParseChunkLimit reads a size of 1 to 2000 MB (of 1,048,576 bytes), or a length of 10 seconds to 24 hours.
func ParseChunkLimit(text string) (ChunkLimit, error) {
	refused := errors.New("must be " + chunkLimitAllowed)
	text = strings.ToLower(strings.ReplaceAll(text, " ", ""))
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || digits[0] == '+' {
		return ChunkLimit{}, refused
	}
	switch unit := text[len(digits):]; {
	case unit == "mb" && n >= 1 && n <= 2000:
		return ChunkLimit{Bytes: n << 20}, nil
	case unit == "s" && n >= 10 && n <= 24*3600:
		return ChunkLimit{Length: time.Duration(n) * time.Second}, nil
	case unit == "m" && n >= 1 && n <= 24*60:
		return ChunkLimit{Length: time.Duration(n) * time.Minute}, nil
	}
	return ChunkLimit{}, refused
}
