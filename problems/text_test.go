package problems_test

import (
	"strings"
	"testing"

	"github.com/stenometer/stenometer/problems"
)

// Rule: the bound of a text counts characters, and whoever is refused is told which text and why.
func TestWhatIsWrongWithAText(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"": "", strings.Repeat("ü", 5): "",
		strings.Repeat("ü", 6): "title must be at most 5 characters long.",
		"a\x00b":               "title holds a zero character.",
		"\xff":                 "title is not valid UTF-8.",
	} {
		err := problems.OfText("title", text, 5)
		if says == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if found := problems.Of(err); found.Kind != problems.InvalidParameter || found.Message != says || found.Fields["field"] != "title" {
			t.Errorf("%q: %+v, want %q", text, found, says)
		}
	}
}
