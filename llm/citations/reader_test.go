package citations_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/citations"
)

// However a text is cut into pieces, a Reader makes of it what Resolve makes of the whole, and holds back no more than
// what may be a citation.
func TestAReaderResolvesWhatComesInPieces(t *testing.T) {
	t.Parallel()
	passages := []llm.Passage{{Index: 1, Text: "of the budget"}, {Index: 12, Text: "a ] b"}}
	for _, text := range []string{
		`The budget [S1 "of the budget"], again [S1 "of the budget"] and [S12 "a ] b"].`,
		`Not one: [S], [Sx], [x], [[S1]] and [S1`, `[S1 "never closed`, `[S1 0:05 Ann "of the budget"]`, "no brackets at all [",
		`[S1 "` + strings.Repeat("long ", 2000) + `"] end`, ``,
	} {
		want, sources := citations.Resolve(text, passages)
		for _, size := range []int{1, 2, 3, 7, 10_000} {
			reader := citations.NewReader(passages)
			got := ""
			for piece := range slices.Chunk([]byte(text), size) {
				got += reader.Read(string(piece))
			}
			got += reader.End()
			if got != want || !reflect.DeepEqual(reader.Sources(), sources) {
				t.Errorf("%.80q by %d is %.200q with %v, want %.200q with %v", text, size, got, reader.Sources(), want, sources)
			}
		}
	}
	reader := citations.NewReader(passages)
	if got := reader.Read("Words [x] go on [S1 "); got != "Words [x] go on " {
		t.Errorf("at once %q is shown", got)
	}
}
