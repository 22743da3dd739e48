package citations

import (
	"strings"

	"github.com/stenometer/stenometer/llm"
)

// maxOpen bounds in bytes how long a text waits for the end of a citation: the longest is shorter.
const maxOpen = maxDigits + maxHeading + maxQuote + 20

// Reader resolves the citations of a text that comes in pieces. The pieces that it returns are together what Resolve
// makes of the whole.
type Reader struct {
	resolver resolver
	held     string
}

// NewReader reads an answer about these passages.
func NewReader(passages []llm.Passage) *Reader { return &Reader{resolver: newResolver(passages)} }

// Read takes the next piece and returns what can be shown by now.
func (r *Reader) Read(piece string) string {
	r.held += piece
	ready := open(r.held)
	text := r.held[:ready]
	r.held = r.held[ready:]
	return r.resolver.resolve(text)
}

// End is what is left to show.
func (r *Reader) End() string {
	text := r.held
	r.held = ""
	return r.resolver.resolve(text)
}

// Sources are those of the citations that were read.
func (r *Reader) Sources() []Source { return r.resolver.sources }

// open is where the first citation begins of which the end may be yet to come; the text's length when there is none.
func open(text string) int {
	for from := 0; ; {
		at := strings.IndexByte(text[from:], '[')
		if at < 0 {
			return len(text)
		}
		at += from
		from = at + 1
		rest := text[at:]
		if len(rest) > maxOpen || len(rest) > 1 && rest[1] != 'S' || len(rest) > 2 && !isDigit(rest[2]) {
			continue
		}
		if len(rest) < 3 {
			return at
		}
		_, after, ok := parse(rest[2:])
		if !ok {
			return at
		}
		from = len(text) - len(after)
	}
}
