package citations_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/citations"
)

func talk() []llm.Passage {
	at := func(seconds float64) *float64 { return &seconds }
	return []llm.Passage{
		{Index: 0, Start: at(0), End: at(2.5), Speaker: "Alice", Text: "Good morning, everybody."},
		{Index: 1, Start: at(2.5), End: at(6), Speaker: "Bob", Text: "The budget is\n 12,000 euros."},
		{Index: 12, Text: `She said "no [yet]" twice.`},
		{Index: 13, Start: at(70), Speaker: "李", Text: "预算是一万二千欧元。"},
	}
}

// told is a source in one line.
func told(s citations.Source) string {
	number := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprint(*v)
	}
	text := func(v *string) string {
		if v == nil {
			return "-"
		}
		return *v
	}
	segment := "-"
	if s.SegmentIndex != nil {
		segment = fmt.Sprint(*s.SegmentIndex)
	}
	return fmt.Sprintf("%d S%s %s..%s %s %q %t", s.N, segment, number(s.Start), number(s.End), text(s.Speaker), text(s.Quote), s.Verified)
}

// The contract of chat with sources: numbers by first use, verified by what was said.
func TestCitationsBecomeNumbers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer, shown string
		sources       []string
	}{
		"none":              {"Nobody said so [3].", "Nobody said so [3].", nil},
		"one":               {`It is 12,000 [S1 "The budget is"].`, "It is 12,000 [1].", []string{`1 S1 2.5..6 Bob "The budget is" true`}},
		"case and spaces":   {`[S1 "the  BUDGET is 12,000"]`, "[1]", []string{`1 S1 2.5..6 Bob "the  BUDGET is 12,000" true`}},
		"repeats":           {`a [S1 "budget"] b [S0 "morning"] c [S01 "Budget "] d [S1 "euros"]`, "a [1] b [2] c [1] d [3]", []string{`1 S1 2.5..6 Bob "budget" true`, `2 S0 0..2.5 Alice "morning" true`, `3 S1 2.5..6 Bob "euros" true`}},
		"said by another":   {`[S0 "budget"]`, "[1]", []string{`1 S0 0..2.5 Alice "budget" false`}},
		"never said":        {`[S1 "The budget is 13,000"]`, "[1]", []string{`1 S1 2.5..6 Bob "The budget is 13,000" false`}},
		"unknown segment":   {`[S7 "budget"] [S7 "budget"] [S999999999 "x"]`, "[1] [1] [2]", []string{`1 S- -..- - "budget" false`, `2 S- -..- - "x" false`}},
		"without a quote":   {`[S1] and [S1 ""] and [S8]`, "[1] and [1] and [2]", []string{`1 S1 2.5..6 Bob "-" false`, `2 S- -..- - "-" false`}},
		"no times":          {`[S12 "She said"]`, "[1]", []string{`1 S12 -..- - "She said" true`}},
		"quotes in a quote": {`[S12 "She said "no [yet]" twice"]!`, "[1]!", []string{`1 S12 -..- - "She said \"no [yet]\" twice" true`}},
		"curly":             {"[S1 “budget”]", "[1]", []string{`1 S1 2.5..6 Bob "budget" true`}},
		"copied heading":    {`[S1 0:02 Bob "budget"] [S0 0:00 Alice]`, "[1] [2]", []string{`1 S1 2.5..6 Bob "budget" true`, `2 S0 0..2.5 Alice "-" false`}},
		"no spaces":         {`是[S13 "一万二千"]。`, "是[1]。", []string{`1 S13 70..- 李 "一万二千" true`}},
		"not ours":          {`[S3 bucket] [Sx "y"] [S] [S1 "open [S0 "morning"] [S1`, `[S3 bucket] [Sx "y"] [S] [S1 "open [1] [S1`, []string{`1 S0 0..2.5 Alice "morning" true`}},
		"too large":         {`[S12345678901 "x"]`, `[S12345678901 "x"]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown, sources := citations.Resolve(c.answer, talk())
			if shown != c.shown {
				t.Errorf("shown\n got %q\nwant %q", shown, c.shown)
			}
			var got []string
			for _, s := range sources {
				got = append(got, told(s))
			}
			if !reflect.DeepEqual(got, c.sources) {
				t.Errorf("sources\n got %q\nwant %q", got, c.sources)
			}
		})
	}
}

// An answer that is nothing but citations has a bounded number of sources, and a number for none but these.
func TestSourcesAreBounded(t *testing.T) {
	t.Parallel()
	var answer strings.Builder
	for n := range 1000 {
		fmt.Fprintf(&answer, `[S%d "x"]`, n)
	}
	shown, sources := citations.Resolve(answer.String(), talk())
	if len(sources) != 200 || !strings.HasSuffix(shown, "[199][200]") {
		t.Errorf("%d sources, the text ends %q", len(sources), shown[len(shown)-20:])
	}
}

func TestHostileCitationsAreReadQuickly(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"[S", "[S1", `[S1 "`, `[S1 "a" `, `[S1 1:02 `, `"`, "[S1 \t\n"} {
		text := strings.Repeat(piece, 1<<20/len(piece))
		if shown, _ := citations.Resolve(text, talk()); len(shown) > len(text) {
			t.Errorf("%q grew", piece)
		}
	}
}

func FuzzResolve(f *testing.F) {
	f.Add(`a [S1 "budget"] [S0 0:00 Alice] [S12 “no”`, "The budget", 1)
	f.Add("[S00]\xff[S1 \"\xff\"]", "\xff", 0)
	f.Fuzz(func(t *testing.T, answer, said string, index int) {
		shown, sources := citations.Resolve(answer, []llm.Passage{{Index: index, Text: said}})
		if len(shown) > len(answer) || len(sources) > 200 {
			t.Fatalf("%d bytes became %d with %d sources", len(answer), len(shown), len(sources))
		}
		for i, s := range sources {
			if s.N != i+1 || !strings.Contains(shown, fmt.Sprintf("[%d]", s.N)) {
				t.Fatalf("source %d is %+v in %q", i, s, shown)
			}
			if s.Verified && (s.SegmentIndex == nil || s.Quote == nil || *s.SegmentIndex != index) {
				t.Fatalf("verified without a segment or a quote: %+v", s)
			}
		}
	})
}
