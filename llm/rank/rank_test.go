package rank_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/llm/rank"
)

func TestSentencesEndWhereSpeechDoes(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("x", 399)
	for text, want := range map[string][]string{
		"":                                   nil,
		" \n\n ":                             nil,
		"One. Two! Three? Four":              {"One.", "Two!", "Three?", "Four"},
		"It costs 3.5 euros. \"Really?\" Oh": {"It costs 3.5 euros.", `"Really?"`, "Oh"},
		"Mr. Smith and J. Doe, e.g. here.":   {"Mr. Smith and J. Doe, e.g. here."},
		"Well... I do not know.":             {"Well...", "I do not know."},
		"see example.org. Then":              {"see example.org.", "Then"},
		"one\ntwo":                           {"one", "two"},
		"预算是一万。房租呢？好！":                       {"预算是一万。", "房租呢？", "好！"},
		"?!. .":                              {"?!.", "."},
		word + " " + word:                    {word, word},
		word + "ää":                          {word, "ää"},
		"Aa. \xff. Bb.":                      {"Aa.", "\xff.", "Bb."},
	} {
		got := rank.Sentences(text)
		if len(got) == 0 && len(want) == 0 {
			continue
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestOpenEnds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"and then": true, "and then,": true, "": true, "Done.": false, `He said "no!" `: false, "好。」": false} {
		if got := rank.EndsOpen(text); got != want {
			t.Errorf("%q ends open: %t", text, got)
		}
	}
}

// What most of the others are about stands in the middle; what is said twice is told once.
func TestTheMiddleIsFound(t *testing.T) {
	t.Parallel()
	index := rank.NewIndex([]string{
		"The weather was pleasant on Tuesday morning.",
		"The bridge needs new steel cables before winter.",
		"Steel cables for the bridge cost four million.",
		"The bridge needs new steel cables before the winter!",
		"Steel cables.",
		"",
	})
	scores := index.Central()
	if best := index.Best(scores, 2); !reflect.DeepEqual(best, []int{1, 2}) {
		t.Errorf("best are %v of %v", best, scores)
	}
	if best := index.Best(scores, 10); !reflect.DeepEqual(best, []int{1, 2, 0, 4}) {
		t.Errorf("without repetitions and silence, few words last: %v of %v", best, scores)
	}
}

// A question finds its words in other forms, and in scripts without spaces; words that say nothing find nothing.
func TestQuestionsFindTheirWords(t *testing.T) {
	t.Parallel()
	index := rank.NewIndex([]string{
		"We talked about the weather, and that was that.",
		"The meeting decided to lease three printers.",
		"预算是一万二千欧元。",
		"Der Vertrag läuft im März aus.",
	})
	for question, want := range map[string][]int{
		"Which printer was leased?":  {1},
		"What's the weather's role?": {0},
		"预算多少？":                      {2},
		"Wann läuft der VERTRAG aus": {3},
		"What was that about?":       nil,
		"Who won the football match": nil,
		"":                           nil,
	} {
		if got := index.Best(index.Match(question), 10); !reflect.DeepEqual(got, want) {
			t.Errorf("%q finds %v, want %v", question, got, want)
		}
	}
	if rank.Asks("What was that about?") || !rank.Asks("What about printers?") {
		t.Error("a question that asks for nothing is not told from one that does")
	}
}

func FuzzSentences(f *testing.F) {
	f.Add("One. Two!\n三。")
	f.Add(strings.Repeat("x", 900) + "\xff.")
	f.Fuzz(func(t *testing.T, text string) {
		squeezed := func(s string) string { return strings.Join(strings.Fields(s), "") }
		sentences := rank.Sentences(text)
		if got, want := squeezed(strings.Join(sentences, " ")), squeezed(text); got != want {
			t.Fatalf("%q became %q", want, got)
		}
		for _, sentence := range sentences {
			if len(sentence) > 400 || strings.TrimSpace(sentence) != sentence || sentence == "" {
				t.Fatalf("the sentence %q of %d bytes", sentence, len(sentence))
			}
		}
		index := rank.NewIndex(sentences)
		index.Best(index.Central(), 3)
		index.Best(index.Match(text), 3)
	})
}
