package prompts

import (
	"strconv"
	"strings"
)

// Vocabulary are names and terms as people spell them. Whoever proposes one may write anything: each stands in quotation
// marks on a line of its own, inside a section, so that it cannot pass for more than a word.
type Vocabulary struct {
	Words []string
}

// WordList has one word a line.
func (v Vocabulary) WordList() string {
	lines := make([]string, len(v.Words))
	for i, word := range v.Words {
		lines[i] = strconv.Quote(word)
	}
	return strings.Join(lines, "\n")
}
