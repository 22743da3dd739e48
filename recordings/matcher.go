package recordings

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSnippet bounds the text of a hit in code points.
const maxSnippet = 400

// fold makes a text comparable in any case. Each code point becomes one code point, so that places in the folded text
// are places in the text; all white space becomes a space, so that a line feed can only part two units. Accents and
// composed or combining forms stay what they are.
func fold(text string) string { return strings.Map(foldRune, text) }

// foldRune gives all the forms of a letter the same one, in lower case: PostgreSQL's index lowers what it is given, by
// rules that look at the neighbors of some capitals.
func foldRune(r rune) rune {
	if unicode.IsSpace(r) {
		return ' '
	}
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return unicode.ToLower(least)
}

// terms reads what is searched for: words between white space, and phrases between double quotes, folded and each
// once. A quote that is not closed goes to the end.
func terms(query string) []string {
	var found []string
	keep := func(term string) {
		if term = strings.TrimSpace(fold(term)); term != "" && !slices.Contains(found, term) {
			found = append(found, term)
		}
	}
	for i, piece := range strings.Split(query, `"`) {
		if i%2 == 1 {
			keep(piece)
			continue
		}
		for _, word := range strings.Fields(piece) {
			keep(word)
		}
	}
	return found
}

// matched tells which of the terms, up to 64, are in a folded text: a bit for each.
func matched(folded string, terms []string) (bits uint64) {
	for i, term := range terms {
		if strings.Contains(folded, term) {
			bits |= 1 << i
		}
	}
	return bits
}

// snippet is a text around the first place where one of the terms is, with the places of all of them. Span ends are
// exclusive, count code points of Text, and neither touch nor overlap.
type snippet struct {
	Text  string
	Spans [][2]int
}

// snip finds the terms in a text and cuts it to maxSnippet code points around the first, with … where it was cut.
func snip(text string, terms []string) snippet {
	text = near(strings.TrimSpace(text), terms)
	letters := []rune(text)
	spans := places(letters, terms)
	if len(letters) <= maxSnippet {
		return snippet{text, spans}
	}
	first := [2]int{0, 0}
	if len(spans) > 0 {
		first = spans[0]
	}
	room := maxSnippet - 2 // where both ends are cut
	start := max(0, first[0]-max(0, room-(first[1]-first[0]))/2)
	end := start + room
	if start <= 1 { // the place of the … takes the letter itself
		start, end = 0, room+1
	}
	if end >= len(letters)-1 {
		start, end = len(letters)-room-1, len(letters)
	}
	cut := snippet{Text: string(letters[start:end])}
	shift := -start
	if start > 0 {
		cut.Text = "…" + cut.Text
		shift++
	}
	if end < len(letters) {
		cut.Text += "…"
	}
	for _, span := range spans {
		if from, to := max(span[0], start), min(span[1], end); from < to {
			cut.Spans = append(cut.Spans, [2]int{from + shift, to + shift})
		}
	}
	return cut
}

// near cuts a long text to what a snippet around its first place can show or mark: a line may have a megabyte, and
// finding every place takes many times the memory of the text.
func near(text string, terms []string) string {
	folded, first, longest := fold(text), -1, 0
	for _, term := range terms {
		if at := strings.Index(folded, term); at >= 0 && (first < 0 || at < first) {
			first = at
		}
		longest = max(longest, utf8.RuneCountInString(term))
	}
	center := utf8.RuneCountInString(folded[:max(0, first)])
	from, until, letter := 0, len(text), 0
	for at := range text {
		if letter == center-maxSnippet {
			from = at
		}
		if letter == center+maxSnippet+longest+1 { // one more tells that something was cut
			until = at
			break
		}
		letter++
	}
	return text[from:until]
}

// places are where the terms are, in code points; what touches or overlaps is one place.
func places(letters []rune, terms []string) [][2]int {
	folded := make([]rune, len(letters))
	for i, letter := range letters {
		folded[i] = foldRune(letter)
	}
	text := string(folded)
	ends := make([]int, len(letters)) // where the longest place that begins here ends
	for _, term := range terms {
		length, at := len([]rune(term)), 0 // at counts code points up to from
		for from := 0; ; {
			next := strings.Index(text[from:], term)
			if next < 0 {
				break
			}
			at += len([]rune(text[from : from+next]))
			ends[at] = max(ends[at], at+length)
			from += next + len(string(folded[at]))
			at++
		}
	}
	var spans [][2]int
	for at, end := range ends {
		if end == 0 {
			continue
		}
		if last := len(spans) - 1; last >= 0 && at <= spans[last][1] {
			spans[last][1] = max(spans[last][1], end)
		} else {
			spans = append(spans, [2]int{at, end})
		}
	}
	return spans
}
