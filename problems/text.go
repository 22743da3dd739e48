package problems

import (
	"strings"
	"unicode/utf8"
)

// OfText is what is wrong with a text that came under a name: it is no text, PostgreSQL cannot store it for its zero
// byte, or it has more than so many characters. It is nil where nothing is.
func OfText(name, text string, most int) error {
	switch {
	case !utf8.ValidString(text):
		return New(InvalidParameter, "%s is not valid UTF-8.", name).With("field", name)
	case strings.ContainsRune(text, 0):
		return New(InvalidParameter, "%s holds a zero character.", name).With("field", name)
	case utf8.RuneCountInString(text) > most:
		return New(InvalidParameter, "%s must be at most %d characters long.", name, most).With("field", name).With("max_length", most)
	}
	return nil
}
