// Package rank finds the sentences of a text that stand for it, and those that bear on a question, by counting words.
// It knows no language but for a list of English words that say nothing, and its cost grows no faster than the text,
// whatever the text is. The Go libraries for this compare every sentence with every other, and none is kept any more.
package rank

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestSentence bounds a sentence in bytes: text without punctuation is cut between words.
const longestSentence = 400

// Sentences splits text at ends of lines and of sentences. Every piece of text is in one of them, in its order.
func Sentences(text string) []string {
	var sentences []string
	add := func(sentence string) {
		sentence = strings.TrimSpace(sentence)
		for len(sentence) > longestSentence {
			at := between(sentence)
			sentences = append(sentences, strings.TrimSpace(sentence[:at]))
			sentence = strings.TrimSpace(sentence[at:])
		}
		if sentence != "" {
			sentences = append(sentences, sentence)
		}
	}
	start := 0
	for i, r := range text {
		if i < start || !endsSentence(r) {
			continue
		}
		end := i + utf8.RuneLen(r)
		if end > len(text) { // a broken rune
			break
		}
		if r == '.' && abbreviates(text[start:i], text[end:]) {
			continue
		}
		end += closing(text[end:])
		next, _ := utf8.DecodeRuneInString(text[end:])
		if r > unicode.MaxASCII || r == '\n' || end == len(text) || unicode.IsSpace(next) {
			add(text[start:end])
			start = end
		}
	}
	add(text[start:])
	return sentences
}

// EndsOpen reports whether text stops in the middle of a sentence.
func EndsOpen(text string) bool {
	text = strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsSpace(r) || closes(r) })
	last, _ := utf8.DecodeLastRuneInString(text)
	return !endsSentence(last)
}

func endsSentence(r rune) bool { return strings.ContainsRune(".!?…\n。！？", r) }

// abbreviates reports whether a full stop between the two is none: behind one letter, as in names and in "e.g.", behind
// a title, or before a small letter.
func abbreviates(before, after string) bool {
	word := before[strings.LastIndexFunc(before, func(r rune) bool { return !unicode.IsLetter(r) })+1:]
	switch word {
	case "Mr", "Mrs", "Ms", "Dr", "Prof", "St", "No":
		return true
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(after[:min(len(after), 8)], " "))
	return utf8.RuneCountInString(word) == 1 && unicode.IsUpper([]rune(word)[0]) || unicode.IsLower(first)
}

// closing is the length of the marks that still belong to a sentence.
func closing(text string) int {
	for i, r := range text {
		if !closes(r) && !endsSentence(r) {
			return i
		}
	}
	return len(text)
}

func closes(r rune) bool { return strings.ContainsRune("\"'”’»)]」』", r) }

// between is where to cut a long sentence: at the last space before the bound, else at the last whole character.
func between(sentence string) int {
	if at := strings.LastIndexFunc(sentence[:longestSentence], unicode.IsSpace); at > longestSentence/2 {
		return at
	}
	at := longestSentence
	for at > longestSentence-utf8.UTFMax && !utf8.RuneStart(sentence[at]) {
		at--
	}
	return at
}
