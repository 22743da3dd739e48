// Package citations turns the citations in an answer into numbers, and says of each whether the transcript bears it
// out. A model may cite what nobody said: a citation counts only as far as the quote is found where it points.
package citations

import (
	"strconv"
	"strings"

	"github.com/stenometer/stenometer/llm"
)

// maxSources bounds the sources of one answer. Citations of further ones are taken out of the text.
const maxSources = 200

// Source is what a number in the answer stands for. SegmentIndex, times and Speaker are nil for a segment that is not
// among those that the model was given.
type Source struct {
	N            int
	SegmentIndex *int
	Start, End   *float64
	Speaker      *string
	Quote        *string
	// Verified is true when the segment holds the quote, case and white space aside.
	Verified bool
}

// Resolve puts numbers in the place of the citations [S12 "quote"] of a text, in the order of their first use; the
// same segment with the same quote has the same number again.
func Resolve(text string, passages []llm.Passage) (shown string, sources []Source) {
	r := newResolver(passages)
	shown = r.resolve(text)
	return shown, r.sources
}

func newResolver(passages []llm.Passage) resolver {
	r := resolver{passages: map[string]*passage{}, numbers: map[cited]int{}}
	for i := range passages {
		r.passages[strconv.Itoa(passages[i].Index)] = &passage{Passage: passages[i]}
	}
	return r
}

// resolve goes on with the numbers of what it has resolved before.
func (r *resolver) resolve(text string) string {
	var out strings.Builder
	for {
		before, c, rest, found := next(text)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		if n := r.number(c); n > 0 {
			out.WriteString("[" + strconv.Itoa(n) + "]")
		}
		text = rest
	}
}

// cited is what makes two citations the same.
type cited struct{ segment, quote string }

// passage is one that was given, with its folded text once that was asked for.
type passage struct {
	llm.Passage
	folded string
}

type resolver struct {
	passages map[string]*passage
	numbers  map[cited]int
	sources  []Source
}

// number is the citation's; 0 when there are too many.
func (r *resolver) number(c citation) int {
	key := cited{c.segment, fold(c.quote)}
	if n, known := r.numbers[key]; known {
		return n
	}
	if len(r.sources) == maxSources {
		return 0
	}
	source := Source{N: len(r.sources) + 1}
	if key.quote != "" {
		source.Quote = &c.quote
	}
	if p := r.passages[c.segment]; p != nil {
		source.SegmentIndex, source.Start, source.End = &p.Index, p.Start, p.End
		if p.Speaker != "" {
			source.Speaker = &p.Speaker
		}
		if p.folded == "" {
			p.folded = fold(p.Text)
		}
		source.Verified = key.quote != "" && strings.Contains(p.folded, key.quote)
	}
	r.numbers[key] = source.N
	r.sources = append(r.sources, source)
	return source.N
}

// fold takes case and white space out of a comparison.
func fold(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
