package recordings

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLabelRunes bounds a file name that is shown.
const maxLabelRunes = 255

// escapes are the three characters that browsers and curl escape in the file name of a form, and nothing else;
// line ends do not survive cleaning anyway.
var escapes = strings.NewReplacer("%22", `"`, "%0D", "", "%0d", "", "%0A", "", "%0a", "")

// label makes of the file name that a client sent the one that is shown. It is a label only: nothing is ever
// stored under it. What could change how other text is shown or read is taken out (folders, control characters,
// line ends, direction marks), the rest stays as it was, in its own normal form.
func label(sent string) string {
	name := strings.ToValidUTF8(escapes.Replace(sent), "\uFFFD")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimSpace(strings.Map(visible, name))
	if strings.Trim(name, ".") == "" {
		return "recording"
	}
	return shorten(name, maxLabelRunes)
}

// visible drops runes that are not seen but change what is.
func visible(r rune) rune {
	switch {
	case unicode.IsControl(r),
		r == '\u061C', r == '\u200E', r == '\u200F', r == '\uFEFF',
		r >= '\u2028' && r <= '\u202E',
		r >= '\u2066' && r <= '\u2069':
		return -1
	}
	return r
}

// shorten cuts a name to so many runes and keeps its extension.
func shorten(name string, runes int) string {
	if utf8.RuneCountInString(name) <= runes {
		return name
	}
	extension := path.Ext(name)
	if utf8.RuneCountInString(extension) > 20 {
		extension = ""
	}
	stem := []rune(strings.TrimSuffix(name, extension))
	return strings.TrimSpace(string(stem[:runes-utf8.RuneCountInString(extension)])) + extension
}
