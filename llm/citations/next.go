package citations

import (
	"strings"
	"unicode/utf8"
)

// The bounds of a citation in bytes. They also bound the search for its end: an answer may be nothing but beginnings.
const (
	maxDigits  = 9
	maxHeading = 200
	maxQuote   = 4000
)

// citation is one as the model wrote it. segment has no leading zeros.
type citation struct{ segment, quote string }

// next cuts text around its first citation.
func next(text string) (before string, c citation, after string, found bool) {
	from := 0
	for {
		at := strings.Index(text[from:], "[S")
		if at < 0 {
			return text, citation{}, "", false
		}
		at += from
		if c, after, ok := parse(text[at+2:]); ok {
			return text[:at], c, after, true
		}
		from = at + 2
	}
}

// parse reads a citation behind its "[S": the number, perhaps time and speaker as the transcript's line has them,
// perhaps a quote in straight or curly marks.
func parse(text string) (c citation, after string, ok bool) {
	digits := leading(text, isDigit)
	if digits == 0 || digits > maxDigits {
		return citation{}, "", false
	}
	c.segment = strings.TrimLeft(text[:digits-1], "0") + text[digits-1:digits]
	rest := skipSpace(text[digits:])
	if len(rest) < len(text)-digits { // the number stands alone
		rest = skipHeading(rest)
		if r, size := utf8.DecodeRuneInString(rest); r == '"' || r == '“' || r == '„' {
			quote, behind, closed := cutQuote(rest[size:])
			if !closed {
				return citation{}, "", false
			}
			c.quote = strings.TrimSpace(quote)
			return c, behind, true
		}
	}
	after, ok = strings.CutPrefix(rest, "]")
	return c, after, ok
}

// skipHeading passes over "1:02 Alice", which models copy from the line that they cite. It must begin with a clock:
// "[S3 bucket]" is none of ours.
func skipHeading(text string) string {
	hours := leading(text, isDigit)
	clock := leading(text, func(b byte) bool { return isDigit(b) || b == ':' })
	if hours == 0 || hours == clock {
		return text
	}
	end := strings.IndexAny(text[:min(len(text), maxHeading)], "[]\"“„\n")
	if end < clock {
		return text
	}
	return text[end:]
}

// cutQuote cuts behind the first closing mark that the bracket follows; before it, quotes and brackets are the quote's.
func cutQuote(text string) (quote, after string, closed bool) {
	text, beyond := text[:min(len(text), maxQuote)], text
	for i, r := range text {
		switch r {
		case '"', '”', '“':
			rest, ok := strings.CutPrefix(skipSpace(beyond[i+utf8.RuneLen(r):]), "]")
			if ok {
				return text[:i], rest, true
			}
		case '[':
			if rest := text[i:]; len(rest) > 2 && rest[1] == 'S' && isDigit(rest[2]) {
				return "", "", false // the next citation: this one was never closed
			}
		}
	}
	return "", "", false
}

func skipSpace(text string) string { return strings.TrimLeft(text, " \t\n") }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// leading counts the bytes at the beginning that are of a kind.
func leading(text string, kind func(byte) bool) int {
	n := 0
	for n < len(text) && kind(text[n]) {
		n++
	}
	return n
}
