package llm

import (
	"fmt"
	"strings"

	"github.com/stenometer/stenometer/llm/rank"
)

// The stretches that are ranked, in bytes. Speech without punctuation comes in pieces as short as a breath: those are
// put together until they say something.
const (
	longestStretch  = 400
	shortestStretch = 80
)

// sentences are the sentences of a talk, each with the time and speaker of the passage in which it begins. A speech
// engine cuts where it likes: a sentence goes on in the speaker's next passage until it ends.
func sentences(passages []Passage) []Passage {
	goesOn := func(text string) bool { return len(text) < shortestStretch }
	if punctuated(passages) {
		goesOn = func(text string) bool { return len(text) < longestStretch && rank.EndsOpen(text) }
	}
	var all []Passage
	for i := 0; i < len(passages); {
		text, begins := passages[i].Text, []int{0}
		next := i + 1
		for next < len(passages) && passages[next].Speaker == passages[i].Speaker && goesOn(text) {
			begins = append(begins, len(text)+1)
			text += " " + passages[next].Text
			next++
		}
		from := 0
		for _, sentence := range rank.Sentences(text) {
			from += max(0, strings.Index(text[from:], sentence))
			of := 0
			for of+1 < len(begins) && begins[of+1] <= from {
				of++
			}
			from += len(sentence)
			all = append(all, stretch(passages[i+of], sentence))
		}
		i = next
	}
	return all
}

// punctuated reports whether sentences can be told by their ends.
func punctuated(passages []Passage) bool {
	ends := 0
	for _, p := range passages {
		if !rank.EndsOpen(p.Text) || len(rank.Sentences(p.Text)) > 1+len(p.Text)/longestStretch {
			ends++
		}
	}
	return ends*4 >= len(passages)
}

// pieces are the passages, long ones in several: a quote is of one passage, and short enough to read.
func pieces(passages []Passage) []Passage {
	var all []Passage
	for _, p := range passages {
		var text string
		for _, sentence := range rank.Sentences(p.Text) {
			if text != "" && len(text)+len(sentence) > longestStretch {
				all = append(all, stretch(p, text))
				text = ""
			}
			text = strings.TrimSpace(text + " " + sentence)
		}
		if text != "" {
			all = append(all, stretch(p, text))
		}
	}
	return all
}

func stretch(p Passage, text string) Passage {
	p.Text = strings.Join(strings.Fields(text), " ")
	return p
}

func texts(passages []Passage) []string {
	texts := make([]string, len(passages))
	for i, p := range passages {
		texts[i] = p.Text
	}
	return texts
}

// spoken writes a stretch as a quote: At 1:02, Alice: "…". Brackets become round and marks single: what was said must
// not look like a citation or a link of ours.
func spoken(p Passage) string {
	plain := strings.NewReplacer("[", "(", "]", ")", `"`, "'", "“", "'", "”", "'", "„", "'")
	var who []string
	if clock := p.Clock(); clock != "" {
		who = append(who, "At "+clock)
	}
	if speaker := strings.Join(strings.Fields(p.Speaker), " "); speaker != "" {
		who = append(who, plain.Replace(speaker))
	}
	quote := `"` + plain.Replace(p.Text) + `"`
	if len(who) == 0 {
		return quote
	}
	return strings.Join(who, ", ") + ": " + quote
}

// The words that a citation repeats: enough to find the place.
const (
	citedWords = 8
	citedChars = 60
)

// cite cites a stretch by its first words, up to a mark that would end the citation early.
func cite(p Passage) string {
	const marks = `"“”„[]`
	words := strings.Fields(strings.TrimLeft(p.Text, marks))
	quote := []rune(strings.Join(words[:min(len(words), citedWords)], " "))
	text := string(quote[:min(len(quote), citedChars)])
	if at := strings.IndexAny(text, marks); at >= 0 {
		text = text[:at]
	}
	if text = strings.TrimSpace(text); text == "" {
		return fmt.Sprintf("[S%d]", p.Index)
	}
	return fmt.Sprintf("[S%d \"%s\"]", p.Index, text)
}
