package speech

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A segment built from words ends at a pause, at the end of a sentence, or when it has become long. All in seconds.
const (
	pauseBetween    = 0.6
	shortestSegment = 1.5
	longestSegment  = 20.0
)

// word is one word with its times in seconds.
type word struct {
	start, end float64
	text       string
}

// segmentsOf builds segments out of words. Where the words are found in text in their order, the segments are cut out
// of it, so that they keep its punctuation and spacing; else the words are put together.
func segmentsOf(words []word, text string) []Segment {
	if len(words) == 0 {
		return nil
	}
	places, found := positions(words, text)
	var segments []Segment
	first := 0
	for i := range words {
		if i+1 < len(words) && !endsAt(words, first, i, text, places) {
			continue
		}
		var said string
		if found {
			from, to := places[first], len(text)
			if first == 0 {
				from = 0
			}
			if i+1 < len(words) {
				to = places[i+1]
			}
			said = text[from:to]
		} else {
			said = together(words[first : i+1])
		}
		start, end := words[first].start, words[i].end
		segments = append(segments, Segment{Start: &start, End: &end, Text: said})
		first = i + 1
	}
	return segments
}

// endsAt reports whether a segment that began at first ends with word i.
func endsAt(words []word, first, i int, text string, places []int) bool {
	if words[i+1].start-words[i].end >= pauseBetween || words[i].end-words[first].start >= longestSegment {
		return true
	}
	said := words[i].text
	if places != nil {
		said = text[places[i]:places[i+1]]
	}
	if words[i].end-words[first].start < shortestSegment {
		return false // "Mr." is no sentence
	}
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(said, " \n\"”’»)"))
	return strings.ContainsRune(".!?。！？", last)
}

// positions finds each word in text, each behind the one before it and not far.
func positions(words []word, text string) ([]int, bool) {
	const reach = 80
	places := make([]int, len(words))
	from := 0
	for i, w := range words {
		bare := strings.TrimSpace(w.text)
		window := text[from:min(len(text), from+len(bare)+reach)]
		at := strings.Index(window, bare)
		if at < 0 {
			return nil, false
		}
		places[i] = from + at
		from = places[i] + len(bare)
	}
	return places, true
}

// together joins words with spaces, but for scripts that are written without.
func together(words []word) string {
	var said strings.Builder
	last := ' '
	for i, w := range words {
		bare := strings.TrimSpace(w.text)
		first, _ := utf8.DecodeRuneInString(bare)
		if i > 0 && !(unspaced(last) && unspaced(first)) {
			said.WriteByte(' ')
		}
		said.WriteString(bare)
		last, _ = utf8.DecodeLastRuneInString(bare)
	}
	return said.String()
}

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}
