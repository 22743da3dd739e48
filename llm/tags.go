package llm

import (
	"strings"
	"unicode"
)

// maxTag bounds in bytes how far the end of a tag is looked for.
const maxTag = 4000

// acting are the elements that load, send or hide something even without an attribute.
const acting = " script style iframe object embed form svg math base link meta textarea title noscript template xmp plaintext a "

// tags takes out HTML that could hold an address, but for links to addresses that were given, and the brackets of
// `<address>`; what stands between tags is left.
func (given addresses) tags(text string) string {
	var edit edits
	links := 0 // that were kept and are open
	for from := 0; ; {
		at := strings.IndexByte(text[from:], '<')
		if at < 0 {
			return edit.apply(text)
		}
		begin := from + at
		from = begin + 1
		window := text[begin+1 : min(len(text), begin+maxTag)]
		length := strings.IndexAny(window, "<>")
		if length < 0 || window[length] == '<' {
			if begins(window) {
				edit.replace(begin, begin+1, "‹")
			}
			continue
		}
		end := begin + 1 + length + 1
		inner := window[:length]
		switch keep := given.tag(inner, &links); keep {
		case keepTag:
			continue
		case dropTag:
			edit.replace(begin, end, "")
		case showTag:
			edit.replace(begin, begin+1, "‹")
		case dropBrackets:
			edit.replace(begin, begin+1, "")
			edit.replace(end-1, end, "")
		}
	}
}

type tagFate int

const (
	keepTag tagFate = iota
	dropTag
	showTag
	dropBrackets
)

// tag decides about what stands between angle brackets.
func (given addresses) tag(inner string, links *int) tagFate {
	if !strings.ContainsFunc(inner, unicode.IsSpace) && !strings.ContainsAny(inner, `="'`) && strings.ContainsAny(inner, ":@") {
		if given.holds(inner) {
			return keepTag
		}
		return dropBrackets
	}
	name := strings.ToLower(strings.TrimPrefix(inner, "/"))
	rest := strings.TrimLeftFunc(name, func(r rune) bool { return r < unicode.MaxASCII && isWord(byte(r)) || r == '-' })
	name = name[:len(name)-len(rest)]
	switch {
	case strings.HasPrefix(inner, "!"), strings.HasPrefix(inner, "?"):
		return dropTag
	case name == "" || !isLetter(name[0]):
		return keepTag // "1 < 2 > 0"
	case name == "a" && strings.HasPrefix(inner, "/"):
		if *links == 0 {
			return dropTag
		}
		*links--
		return keepTag
	}
	if address, found := strings.CutPrefix(inner, `a href="`); found {
		if address, closed := strings.CutSuffix(address, `"`); closed && given.holds(address) {
			*links++
			return keepTag
		}
	}
	switch {
	case strings.Contains(acting, " "+name+" "), strings.Contains(rest, "="):
		return dropTag
	case strings.Trim(rest, " \t\n/") != "":
		return showTag // "a <b and c> d"
	}
	return keepTag
}

// begins reports whether an angle bracket that nothing closes begins a tag with an attribute, a comment or the like,
// which some readers close themselves.
func begins(after string) bool {
	if after == "" {
		return false
	}
	return after[0] == '!' || after[0] == '?' ||
		(isLetter(after[0]) || after[0] == '/') && strings.ContainsAny(after, "=:")
}
