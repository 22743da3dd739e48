package llm

import (
	"cmp"
	"strings"
	"unicode"
)

// linkRounds bounds how often an answer is gone through: what one link leaves behind may be the next one.
const linkRounds = 8

// only takes out of an answer every link whose address was not given. A transcript that talked the model into it would
// else send readers to a stranger's server, with what was said in the address. A link becomes its text, a bare address a
// few words; in doubt a thing is a link. What is left is the same when it is gone through again.
func (given addresses) only(text string) string {
	if !strings.ContainsAny(text, ":/[<.") {
		return text
	}
	for range linkRounds {
		before := text
		text = given.tags(text)
		var dead map[string]bool
		text, dead = given.definitions(text)
		text = given.bare(given.brackets(text, dead))
		if text == before {
			return text
		}
	}
	return strings.NewReplacer("](", "] (", "]:", "] :", "][", "] [", "<", "‹").Replace(text)
}

// The bounds in bytes within which the end of a construct is looked for: an answer may be nothing but beginnings.
const (
	maxLabel       = 1000
	maxDestination = 3000
)

// definitions takes the brackets off reference definitions, `[label]: address`, whose address was not given, and tells
// their labels.
func (given addresses) definitions(text string) (kept string, dead map[string]bool) {
	dead = map[string]bool{}
	var edit edits
	for from := 0; ; {
		at := strings.Index(text[from:], "]:")
		if at < 0 {
			return edit.apply(text), dead
		}
		closing := from + at
		from = closing + 2
		begin := max(0, closing-maxLabel)
		opening := begin + strings.LastIndexByte(text[begin:closing], '[')
		if opening < begin || strings.Trim(lineUpTo(text, opening), " \t>-+*.)0123456789") != "" {
			continue
		}
		address, rest := firstField(text[closing+2:])
		rest, _, _ = strings.Cut(rest, "\n")
		rest = strings.TrimSpace(rest)
		if address == "" || given.holds(address) || rest != "" && !strings.ContainsRune(`"'(`, rune(rest[0])) {
			continue
		}
		dead[foldLabel(text[opening+1:closing])] = true
		edit.replace(opening, opening+1, "")
		edit.replace(closing, closing+1, "")
	}
}

// lineUpTo is what stands before a place in its line.
func lineUpTo(text string, at int) string {
	begin := max(0, at-maxLabel)
	return text[begin+strings.LastIndexByte(text[begin:at], '\n')+1 : at]
}

// firstField is the address behind a definition's colon, which may stand in the next line, and what follows it.
func firstField(text string) (field, rest string) {
	text = strings.TrimLeftFunc(text[:min(len(text), maxDestination)], unicode.IsSpace)
	if end := strings.IndexByte(text, '>'); end > 0 && text[0] == '<' {
		return cmp.Or(text[1:end], "<>"), text[end+1:] // an empty one is an address too: this page's
	}
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}

func foldLabel(label string) string { return strings.ToLower(strings.Join(strings.Fields(label), " ")) }

// brackets leaves of links and images whose address was not given, or whose definition is dead, their text.
func (given addresses) brackets(text string, dead map[string]bool) string {
	var edit edits
	var open []int
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[':
			open = append(open, i)
			continue
		case ']':
		default:
			continue
		}
		opening := -1
		if len(open) > 0 {
			opening, open = open[len(open)-1], open[:len(open)-1]
		}
		end := given.linkEnd(text, opening, i, dead, &edit)
		if end > i+1 {
			i = end - 1 // an address holds no links
		}
	}
	return edit.apply(text)
}

// linkEnd looks at what follows a closing bracket, edits a link that was not given, and returns where the link ends.
func (given addresses) linkEnd(text string, opening, closing int, dead map[string]bool, edit *edits) int {
	after := text[closing+1:]
	if strings.HasPrefix(after, "(") {
		address, length, ok := destination(after)
		end := closing + 1 + length
		switch {
		case opening < 0 || !ok:
			edit.replace(closing+1, closing+1, " ") // no reader sees a link here, whatever it thinks of the rest
			return closing + 1
		case !given.holds(address):
			edit.strip(text, opening, closing, end)
		}
		return end
	}
	if opening < 0 || len(dead) == 0 || closing-opening > maxLabel {
		return closing + 1
	}
	label, end := text[opening+1:closing], closing+1
	if strings.HasPrefix(after, "[") {
		if second := strings.IndexByte(after[:min(len(after), maxLabel)], ']'); second > 0 {
			end += second + 1
			if second > 1 {
				label = after[1:second]
			}
		}
	}
	if !dead[foldLabel(label)] {
		return closing + 1
	}
	edit.strip(text, opening, closing, end)
	return end
}

// destination reads `(address "title")`.
func destination(text string) (address string, length int, ok bool) {
	window := text[1:min(len(text), maxDestination)]
	inner := strings.TrimLeftFunc(window, unicode.IsSpace)
	begin := 1 + len(window) - len(inner)
	var behind int
	if strings.HasPrefix(inner, "<") {
		behind = strings.IndexByte(inner, '>')
		if behind < 0 {
			return "", 0, false
		}
		address = inner[1:behind]
	} else {
		depth := 0
		behind = strings.IndexFunc(inner, func(r rune) bool {
			switch r {
			case '(':
				depth++
			case ')':
				depth--
			}
			return depth < 0 || r == '[' || r == ']' || unicode.IsSpace(r)
		})
		if behind < 0 || inner[behind] == '[' || inner[behind] == ']' {
			return "", 0, false
		}
		address = inner[:behind]
	}
	end := strings.IndexByte(inner[behind:], ')')
	if end < 0 || strings.ContainsAny(inner[behind:behind+end], "[]") {
		return "", 0, false // what looks like its title holds the next link
	}
	return address, begin + behind + end + 1, true
}
