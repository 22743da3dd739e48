package streams_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/streams"
)

// Rule: however much is said at once, and whatever takes most room on the wire, each piece fits into an event, is whole
// text, and nothing is lost.
func TestPiecesFitIntoEvents(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "bees", strings.Repeat("<", 1<<20), strings.Repeat("x", 7) + strings.Repeat("🐝", 1<<18), strings.Repeat("\x80", 1<<17)} {
		pieces := streams.Pieces(text)
		for _, piece := range pieces {
			event, err := json.Marshal(map[string]string{"delta": piece})
			if err != nil || len(event) > 250<<10 || strings.HasPrefix(text, "x") && strings.ContainsRune(string(event), '�') {
				t.Errorf("a piece is an event of %d bytes, %v", len(event), err)
			}
		}
		if len(pieces) == 0 || strings.Join(pieces, "") != text {
			t.Errorf("of %d bytes %d pieces came", len(text), len(pieces))
		}
	}
}
