package llm

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxHeld is how much text in bytes waits for the end of a link or tag that may be none.
	maxHeld = 4000
	// longestThoughtTag bounds in bytes a tag around a thought.
	longestThoughtTag = len("</thinking>")
)

// speech makes the pieces of an answer fit to show as they come, by the rules for whole answers. What may be a part of a
// link or a tag is held back until it is known: until no address goes on, outside of brackets. What was said cannot be
// taken back, so of thoughts whose beginning stood in the prompt only the end is kept from the reader.
type speech struct {
	given addresses
	say   func(string) error

	raw      string // not yet searched for thoughts
	thinking bool
	held     []byte          // not yet safe
	begun    string          // the end of the word that was said in part, as the model wrote it
	space    string          // white space that is said when something follows it
	said     strings.Builder // what the listener has
	full     bool
}

func newSpeech(messages []Message, say func(string) error) *speech {
	return &speech{given: addressesIn(messages), say: say}
}

// hear takes the next piece.
func (s *speech) hear(piece string) error {
	s.raw += piece
	waits := len(s.held) > longestScheme
	s.withoutThoughts(false)
	if waits && !strings.ContainsFunc(piece, ends) {
		return nil // where nothing ends, nothing new can be said
	}
	return s.show(safe(string(s.held)))
}

// end says what is left.
func (s *speech) end() error {
	s.withoutThoughts(true)
	return s.show(len(s.held))
}

// heard is what was said in all, and whether there was more.
func (s *speech) heard() (text string, full bool) { return s.said.String(), s.full }

// withoutThoughts moves text from raw to held, but for what the model only thought.
func (s *speech) withoutThoughts(last bool) {
	for {
		at, length, closes := thoughtTag(s.raw)
		if at < 0 {
			break
		}
		s.hold(s.raw[:at])
		s.raw, s.thinking = s.raw[at+length:], !closes
	}
	ready := len(s.raw)
	if !last {
		ready = unfinished(s.raw)
	}
	s.hold(s.raw[:ready])
	s.raw = s.raw[ready:]
}

func (s *speech) hold(text string) {
	if !s.thinking && text != "" {
		s.held = append(s.held, plain(text)...)
	}
}

// unfinished is where the end of a text begins that may be the first half of a tag, or of a line's end.
func unfinished(text string) int {
	from := max(0, len(text)-longestThoughtTag)
	if open := strings.LastIndexByte(text[from:], '<'); open >= 0 && strings.IndexByte(text[from+open:], '>') < 0 {
		return from + open
	}
	if strings.HasSuffix(text, "\r") {
		return len(text) - 1
	}
	return len(text)
}

// show says the first so many bytes of what is held.
func (s *speech) show(ready int) error {
	if ready == 0 {
		return nil
	}
	text := s.following(string(s.held[:ready]))
	s.held = s.held[ready:]
	words := strings.TrimRightFunc(text, unicode.IsSpace)
	if words == "" {
		s.space += text
		return nil
	}
	between := s.space
	s.space = text[len(words):]
	text = tight(between + words)
	if s.said.Len() == 0 {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	if room := maxText - s.said.Len(); len(text) > room {
		text, s.full = whole(text[:room]), true
	}
	if text == "" {
		return nil
	}
	s.said.WriteString(text)
	return s.say(text)
}

// following is what is said behind the beginning of a word that was said already. When that turns out to begin an address,
// the rest of the address is what goes.
func (s *speech) following(piece string) string {
	text := s.given.only(s.begun + withoutOpenTags(piece))
	same := 0
	for same < len(s.begun) && same < len(text) && s.begun[same] == text[same] {
		same++
	}
	for same > 0 && same < len(text) && !utf8.RuneStart(text[same]) {
		same--
	}
	word := s.begun + piece
	word = word[strings.LastIndexFunc(word, ends)+1:]
	word = word[max(0, len(word)-2*longestScheme):]
	s.begun = strings.TrimLeftFunc(word, func(r rune) bool { return r == utf8.RuneError || ends(r) })
	return text[same:]
}

// ends reports whether no address goes on behind a character.
func ends(r rune) bool {
	return r == ' ' || r == '\n' || r == '\t' || r >= utf8.RuneSelf && !inAddress(r) && r != utf8.RuneError
}

// safe is how many bytes of a text may be said whatever follows. A bracket that may begin a link or a tag is waited for
// until its paragraph ends, in which links end, or until too much waits: then the pieces are told apart, and what is the
// end of a link without its beginning is cleaned as such. A word is not waited for as far as it cannot begin an address.
func safe(text string) int {
	ready := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch r {
		case '<', '[', ']':
			closed, certain := harmless(text, i)
			if !certain {
				end := strings.Index(text[i:], "\n\n")
				if end < 0 {
					return forced(text, ready+harmlessStart(text[ready:i]))
				}
				closed = i + end + 2
				ready = closed
			}
			i = closed
			continue
		}
		i += size
		if ends(r) {
			ready = i
		}
	}
	return ready + harmlessStart(text[ready:])
}

// schemes are how addresses begin; what begins with another is recognized when it is there.
const schemes = " http ftp www. file" + slashless

// harmlessStart is how much of a word may be said before its end is there. Who writes without spaces is else not heard
// before the whole sentence is written.
func harmlessStart(word string) int {
	at := strings.IndexAny(word, ":/<[]!")
	if www := strings.Index(strings.ToLower(word), "www."); www >= 0 && (at < 0 || www < at) {
		at = www
	}
	mayBegin := at >= 0
	if at < 0 {
		at = len(word)
	}
	run := at
	for run > 0 && at-run < longestScheme && (isWord(word[run-1]) || word[run-1] == '+' || word[run-1] == '-') {
		run--
	}
	if last := strings.ToLower(word[run:at]); mayBegin || last != "" && strings.Contains(schemes, " "+last) || last == "https" {
		return run
	}
	return at
}

// harmless reports whether a bracket is certain to begin and end neither link nor tag, and where that which it begins
// ends.
func harmless(text string, at int) (end int, certain bool) {
	end = at + 1
	if text[at] == '<' {
		return end, end < len(text) && strings.IndexByte(" \t\n0123456789=-", text[end]) >= 0
	}
	if text[at] == '[' {
		closing := strings.IndexAny(text[end:], "[]\n")
		if closing < 0 || text[end+closing] != ']' {
			return end, false
		}
		end += closing + 1
	}
	return end, end < len(text) && strings.IndexByte("([:", text[end]) < 0
}

// forced is what is said of a text that ends in an open bracket: nothing, as long as no more than enough waits.
func forced(text string, ready int) int {
	if ready > 0 || len(text) < maxHeld {
		return ready
	}
	end := strings.LastIndexFunc(text, ends)
	if end < 0 {
		return 0
	}
	_, size := utf8.DecodeRuneInString(text[end:])
	return end + size
}

// withoutOpenTags shows what begins a tag that the piece does not end: the next piece may, and be read on its own.
func withoutOpenTags(piece string) string {
	for open := len(piece) - 1; open >= 0 && piece[open] != '>'; open-- {
		if piece[open] != '<' {
			continue
		}
		if _, certain := harmless(piece, open); !certain {
			piece = piece[:open] + "‹" + piece[open+1:]
		}
	}
	return piece
}

// tight has at most one empty line in a row.
func tight(text string) string {
	for strings.Contains(text, "\n\n\n") {
		text = strings.ReplaceAll(text, "\n\n\n", "\n\n")
	}
	return text
}
