package llm

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// linkRemoved stands where a bare address was. Its marks mean nothing to Markdown, HTML and JSON.
const linkRemoved = "‹link removed›"

// longestScheme bounds the word before a colon, in bytes.
const longestScheme = 32

// slashless are the schemes that need no slashes.
const slashless = " mailto javascript vbscript data tel sms blob view-source "

// addresses are those that stand in what a model was given, each in its normal form.
type addresses map[string]bool

func addressesIn(messages []Message) addresses {
	given := addresses{}
	for _, message := range messages {
		text := message.Text
		for from := 0; from < len(text); {
			begin, end := nextAddress(text, from, true)
			if begin < 0 {
				break
			}
			address := text[begin:end]
			given[normal(address)] = true
			given[normal(untilForeign(address))] = true
			from = end
		}
	}
	return given
}

// holds reports whether an address that a link names was given. What does not look like an address was not.
func (given addresses) holds(address string) bool {
	begin, end := nextAddress(address, 0, true)
	return begin == 0 && end == len(address) && given[normal(address)]
}

// normal makes two ways to write an address the same: schemes and hosts have no case, and an empty path no slash.
func normal(address string) string {
	host := strings.Index(address, "//") + 2
	if host < 2 {
		host = 0
	}
	end := len(address)
	if slash := strings.IndexAny(address[host:], "/?#"); slash >= 0 {
		end = host + slash
	}
	return strings.TrimSuffix(strings.ToLower(address[:end])+address[end:], "/")
}

// bare takes out addresses that stand in the text as they are and were not given.
func (given addresses) bare(text string) string {
	var edit edits
	for from := 0; from < len(text); {
		begin, end := nextAddress(text, from, false)
		if begin < 0 {
			break
		}
		if near := untilForeign(text[begin:end]); given[normal(near)] && !given[normal(text[begin:end])] {
			end = begin + len(near)
		}
		switch {
		case !given[normal(text[begin:end])]:
			edit.replace(begin, end, linkRemoved)
		case !inLink(text[:begin], text[end:]) && readsOn(text[end:]):
			edit.replace(end, end, " ")
		}
		from = end
	}
	return edit.apply(text)
}

// untilForeign is an address up to its first letter that is not ASCII: where people write without spaces, the sentence
// may go on there.
func untilForeign(address string) string {
	at := strings.IndexFunc(address, func(r rune) bool { return r >= utf8.RuneSelf })
	if at < 0 {
		return address
	}
	return address[:at]
}

// inLink reports whether between the two stands the address of a link, which ends where the link says.
func inLink(before, after string) bool {
	for _, link := range []struct{ begin, end string }{{"](", ")"}, {"](", " "}, {"](", "\n"}, {"<", ">"}, {`<a href="`, `">`}} {
		if strings.HasSuffix(before, link.begin) && strings.HasPrefix(after, link.end) {
			return true
		}
	}
	return false
}

// readsOn reports whether readers that take everything up to the next space for one address would find more in this
// one than was given.
func readsOn(after string) bool {
	if strings.HasPrefix(after, "](") {
		return false
	}
	end := strings.IndexFunc(after, func(r rune) bool { return r == '<' || unicode.IsSpace(r) })
	if end < 0 {
		end = len(after)
	}
	return strings.ContainsFunc(after[:end], func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/%=&#@+$-", r)
	})
}

// nextAddress finds the first address from a place on; begin is -1 when there is none. With paths, one into this server
// is an address too: only links make it one.
func nextAddress(text string, from int, paths bool) (begin, end int) {
	for i := from; i < len(text); i++ {
		begin, host := -1, i
		switch text[i] {
		case ':':
			begin, host = schemeAt(text, from, i)
		case '/':
			begin, host = slashesAt(text, from, i, paths)
		case 'w', 'W':
			if len(text) > i+4 && strings.EqualFold(text[i:i+4], "www.") && (i == from || !continues(text[i-1])) {
				begin, host = i, i+4
			}
		}
		if begin < 0 {
			continue
		}
		if end := addressEnd(text, host); end > host {
			return begin, end
		}
	}
	return -1, -1
}

// schemeAt is the address whose scheme ends at a colon.
func schemeAt(text string, from, colon int) (begin, host int) {
	begin = colon
	for begin > from && colon-begin < longestScheme && (isWord(text[begin-1]) || text[begin-1] == '+' || text[begin-1] == '-') {
		begin--
	}
	for begin < colon && !isLetter(text[begin]) {
		begin++
	}
	if begin == colon {
		return -1, 0
	}
	after := text[colon+1:]
	if strings.HasPrefix(after, "//") {
		return begin, colon + 3
	}
	scheme := strings.ToLower(text[begin:colon])
	if !strings.Contains(slashless, " "+scheme+" ") || after == "" {
		return -1, 0
	}
	// These two are words too: "the data:five" is no address, "data:text/html" is.
	switch word := strings.TrimLeftFunc(after[:min(len(after), longestScheme)], unicode.IsLetter); {
	case scheme == "data" && !strings.HasPrefix(word, "/") && !strings.ContainsRune(",;", rune(after[0])):
		return -1, 0
	case scheme == "tel" && !strings.ContainsRune("+0123456789", rune(after[0])):
		return -1, 0
	}
	return begin, colon + 1
}

// slashesAt is the address that begins with slashes: //host, or with paths /recordings/….
func slashesAt(text string, from, at int, paths bool) (begin, host int) {
	const own = "/recordings/"
	if at > from && (continues(text[at-1]) || text[at-1] == ':') {
		return -1, 0
	}
	rest := text[at:]
	if paths && strings.HasPrefix(rest, own) {
		return at, at + len(own)
	}
	if !strings.HasPrefix(rest, "//") {
		return -1, 0
	}
	name := rest[2:]
	if end := strings.IndexFunc(name, func(r rune) bool { return r == '/' || unicode.IsSpace(r) }); end >= 0 {
		name = name[:end]
	}
	if name == "" || !strings.Contains(strings.Trim(name, "."), ".") {
		return -1, 0
	}
	return at, at + 2
}

// addressEnd is where an address ends whose host or path begins at a place: before a space, a mark that addresses do
// not hold, a bracket that nothing in it opened, or the punctuation of the sentence around it.
func addressEnd(text string, host int) int {
	depth, end := 0, host
	if strings.HasPrefix(text[host:], "[") { // an IPv6 address
		if bracket := strings.IndexByte(text[host:min(len(text), host+64)], ']'); bracket > 0 {
			end += bracket + 1
		}
	}
	for i, r := range text[end:] {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		}
		if depth < 0 || !inAddress(r) {
			return trimmed(text, host, end+i)
		}
	}
	return trimmed(text, host, len(text))
}

func inAddress(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r != 0x7f && !strings.ContainsRune("<>\"`\\^{|}[]", r)
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

func trimmed(text string, host, end int) int {
	return host + len(strings.TrimRight(text[host:end], ".,;:!?'*_~(&"))
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

func isWord(b byte) bool { return isLetter(b) || '0' <= b && b <= '9' }

// continues reports whether a byte before a place makes the place the middle of something.
func continues(b byte) bool { return isWord(b) || strings.IndexByte("./-_@", b) >= 0 }
