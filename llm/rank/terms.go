package rank

import (
	"strings"
	"unicode"
)

// longestTerm bounds a term in bytes: a word is shorter, and what is longer is none.
const longestTerm = 64

// terms are the words of a text that say something, in small letters and without the endings that say little; in
// scripts that are written without spaces, every two neighbors are one.
func terms(text string) []string {
	var found []string
	var word []rune
	end := func() {
		if term := stem(string(word)); term != "" && len(term) <= longestTerm {
			found = append(found, term)
		}
		word = word[:0]
	}
	var last rune // of a script without spaces
	for _, r := range strings.ToLower(text) {
		switch {
		case unspaced(r):
			end()
			if last != 0 {
				found = append(found, string([]rune{last, r}))
			}
			last = r
			continue
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			word = append(word, r)
		case (r == '\'' || r == '’') && len(word) > 0:
			word = append(word, '\'')
		default:
			end()
		}
		last = 0
	}
	end()
	return found
}

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// stem is the word without its English endings, "" when it says nothing.
func stem(word string) string {
	word, _, _ = strings.Cut(word, "'")
	if len(word) < 2 || strings.Contains(silent, " "+word+" ") {
		return ""
	}
	for _, ending := range []string{"ing", "ed", "s"} {
		if bare, found := strings.CutSuffix(word, ending); found && len(bare) > 2 && !strings.HasSuffix(bare, "s") {
			return bare
		}
	}
	return word
}

// silent are English words that a question and any answer share.
const silent = " a about after again all also am an and any are aren as at be because been before being but by can could did didn do " +
	"does doesn doing don done for from get go got had has have having he her here hers him his how i if in into is isn it " +
	"its just know let like ll make may me more most much my no not now of off oh ok okay on one only or other our out over " +
	"please really right said say says see she should so some such tell than that the their them then there these they thing " +
	"things think this those to too uh um up us ve very want was wasn we well were weren what when where which while who " +
	"whom whose why will with won would yeah yes you your "
