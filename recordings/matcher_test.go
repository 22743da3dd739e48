package recordings

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Every form of a letter folds to the same one, for all of Unicode, and folding again changes nothing: else the index,
// which keeps folded text, would miss what the matcher matches.
func TestFoldingIsOneForm(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		folded := foldRune(r)
		if foldRune(folded) != folded || !unicode.IsSpace(r) && foldRune(unicode.SimpleFold(r)) != folded {
			t.Errorf("%U folds to %U, then %U; its other form to %U", r, folded, foldRune(folded), foldRune(unicode.SimpleFold(r)))
		}
		if r != '\n' && folded == '\n' || !utf8.ValidRune(folded) && utf8.ValidRune(r) {
			t.Errorf("%U folds to %U", r, folded)
		}
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][]string{
		"Alpha  beta\talpha": {"alpha", "beta"},
		`"Two Words" two`:    {"two words", "two"},
		`say "not closed`:    {"say", "not closed"},
		`""`:                 nil,
		`" " x`:              {"x"},
		`a"b c"d`:            {"a", "b c", "d"},
		`50% a_b \ '--`:      {"50%", "a_b", `\`, "'--"},
		"\"line\nfeed\"":     {"line feed"},
		"ΣΊΣΥΦΟΣ σίσυφος σίσυφοσ": {"σίσυφοσ"},
	} {
		if got := terms(query); !slices.Equal(got, want) {
			t.Errorf("%q has the terms %q, want %q", query, got, want)
		}
	}
}

// Offsets are code points of the text as it is, whatever its letters.
func TestSpans(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, query, want string }{
		{"Straße", "STRAẞE", "[[0 6]]"},
		{"strasse", "straße", "[]"}, // one letter is one letter
		{"in İstanbul", "istanbul", "[[3 11]]"},
		{"👩‍👩‍👧 family", "family", "[[6 12]]"},
		{"e\u0301te\u0301", "e\u0301", "[[0 2] [3 5]]"},
		{"été", "e\u0301", "[]"},
		{"aaa", "aa", "[[0 3]]"},
		{"abab", "ab", "[[0 4]]"},
		{"abcd", "abc bcd", "[[0 4]]"},
		{"50% off", "50%", "[[0 3]]"},
		{"5000 off", "50%", "[]"},
		{"  led by two spaces", "led", "[[0 3]]"},
	} {
		if got := fmt.Sprint(snip(test.text, terms(test.query)).Spans); got != test.want {
			t.Errorf("%q in %q is at %s, want %s", test.query, test.text, got, test.want)
		}
	}
}

// letters are those that fold in unusual ways, parts of the syntax of both databases, and of several lengths in UTF-8.
var letters = []rune(`aAbBßẞſsSkKKıiIİσςΣéÉ%_\"'*^-():` + " \t\n\u0301👍𐐀𐐨ǅǆ…")

func word(random *rand.Rand, most int) string {
	out := make([]rune, random.IntN(most+1))
	for i := range out {
		out[i] = letters[random.IntN(len(letters))]
	}
	return string(out)
}

// The snippet equals what a reader with all the time in the world would mark.
func TestSnippetsEqualTheNaiveReading(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		checkSnippet(t, word(random, 12)+strings.Repeat(word(random, 3), random.IntN(400)), word(random, 8))
	}
}

func FuzzSnippet(f *testing.F) {
	f.Add("a text", `"a t" x`)
	f.Add(strings.Repeat("x", 500)+"needle", "needle")
	f.Add(strings.Repeat("ß", 900), strings.Repeat("ẞ", 450))
	f.Fuzz(func(t *testing.T, text, query string) {
		if utf8.ValidString(text) && utf8.ValidString(query) && len(text) < 1<<16 && len(query) < 500 {
			checkSnippet(t, text, query)
		}
	})
}

func checkSnippet(t *testing.T, text, query string) {
	t.Helper()
	wanted := terms(query)
	got := snip(text, wanted)
	trimmed, shown := []rune(strings.TrimSpace(text)), []rune(got.Text)
	marks := naive(trimmed, wanted)
	first := slices.Index(marks, true)
	start, lead := 0, 0
	if len(trimmed) > maxSnippet {
		if len(shown) != maxSnippet {
			t.Fatalf("%d code points of %d are shown", len(shown), len(trimmed))
		}
		// The window is where its letters say, and holds the first place.
		for start = 0; !fits(trimmed, shown, start, first); start++ {
			if start > len(trimmed) {
				t.Fatalf("%q is no part of %q around %d", got.Text, text, first)
			}
		}
		if start > 0 {
			lead = 1
		}
	} else if got.Text != string(trimmed) {
		t.Fatalf("%q became %q", string(trimmed), got.Text)
	}
	covered, last := make([]bool, len(shown)), -1
	for _, span := range got.Spans {
		if span[0] <= last || span[1] <= span[0] || span[1] > len(shown) {
			t.Fatalf("spans %v of %q", got.Spans, got.Text)
		}
		last = span[1]
		for i := span[0]; i < span[1]; i++ {
			covered[i] = true
		}
	}
	for i := range shown {
		inside := i >= lead && (i < len(shown)-1 || start+i-lead == len(trimmed)-1)
		if want := inside && marks[start+i-lead]; covered[i] != want {
			t.Fatalf("letter %d of %q for %q: marked %t, want %t", i, got.Text, query, covered[i], want)
		}
	}
}

// fits reports whether shown is the window of text that begins at start, and the place first is in it.
func fits(text, shown []rune, start, first int) bool {
	inner := shown
	if start > 0 {
		if inner[0] != '…' {
			return false
		}
		inner = inner[1:]
	}
	if start+len(inner) > len(text) || start+len(inner) < len(text) && inner[len(inner)-1] != '…' {
		return false
	}
	if start+len(inner) < len(text) {
		inner = inner[:len(inner)-1]
	}
	return slices.Equal(inner, text[start:start+len(inner)]) && (first < 0 || first >= start && first < start+len(inner))
}

// naive marks the letters that are part of a term.
func naive(text []rune, terms []string) []bool {
	marks := make([]bool, len(text))
	for _, term := range terms {
		wanted := []rune(term)
		for at := 0; at+len(wanted) <= len(text); at++ {
			if slices.EqualFunc(text[at:at+len(wanted)], wanted, func(a, b rune) bool { return foldRune(a) == b }) {
				for i := range wanted {
					marks[at+i] = true
				}
			}
		}
	}
	return marks
}

// A line of a megabyte costs about its own size to cut a snippet from, not twenty times as much.
// Not parallel: what other tests allocate meanwhile would count.
func TestSnippetsOfLongLinesAreCheap(t *testing.T) {
	text := strings.Repeat("ab ", 350_000) + "needle" + strings.Repeat(" yy", 1000)
	for _, query := range []string{"needle", "ab", "nowhere"} {
		result := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				snip(text, []string{query})
			}
		})
		if bytes := result.AllocedBytesPerOp(); bytes > 2*int64(len(text)) {
			t.Errorf("a snippet around %q takes %d bytes of a text of %d", query, bytes, len(text))
		}
	}
}
