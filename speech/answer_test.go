package speech

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stenometer/stenometer/providers"
)

// written shows segments as "start-end label: text", with "?" for a time that is not there.
func written(segments []Segment) string {
	at := func(t *float64) string {
		if t == nil {
			return "?"
		}
		return fmt.Sprint(*t)
	}
	var lines []string
	for _, s := range segments {
		line := at(s.Start) + "-" + at(s.End) + " "
		if s.Label != "" {
			line += s.Label + ": "
		}
		lines = append(lines, line+s.Text)
	}
	return strings.Join(lines, "\n")
}

func TestAnswersOfEveryForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, text, segments string }{
		"text only": {`{"text":"Hello"}`, "Hello", ""},
		"segments": {
			`{"text":"A B","segments":[{"start":0,"end":1.5,"text":" A"},{"start":1.5,"end":3,"text":" B"}]}`,
			"A B", "0-1.5 A\n1.5-3 B",
		},
		"words and an empty list of segments": {
			`{"text":"Good morning. How are you?","segments":[],"words":[
				{"word":"Good","start":0.0,"end":0.4},{"word":"morning","start":0.5,"end":1.0},
				{"word":"How","start":2.0,"end":2.2},{"word":"are","start":2.2,"end":2.4},{"word":"you","start":2.4,"end":2.8}]}`,
			"Good morning. How are you?", "0-1 Good morning.\n2-2.8 How are you?",
		},
		"words alone": {
			`{"words":[{"word":" Good","start":0,"end":0.4},{"word":" day","start":0.5,"end":1}]}`, "", "0-1 Good day",
		},
		"a start that is null": {
			`{"text":"A B C","segments":[{"start":0,"end":1,"text":"A"},{"start":null,"end":2,"text":"B"},{"end":3,"text":"C"}]}`,
			"A B C", "0-1 A\n?-? B\n?-? C",
		},
		"an end that is null":     {`{"segments":[{"start":1,"end":null,"text":"A"}]}`, "", "1-? A"},
		"numbers as text":         {`{"segments":[{"start":"1.25","end":"2","text":"A"}]}`, "", "1.25-2 A"},
		"beyond the end":          {`{"segments":[{"start":8,"end":14,"text":"A"},{"start":99,"end":1e9,"text":"B"}]}`, "", "8-10 A\n10-10 B"},
		"before the beginning":    {`{"segments":[{"start":-3,"end":-1,"text":"A"}]}`, "", "0-0 A"},
		"an end before its start": {`{"segments":[{"start":5,"end":2,"text":"A"}]}`, "", "5-5 A"},
		"out of order": {
			`{"segments":[{"start":5,"end":6,"text":"B"},{"text":"C"},{"start":1,"end":2,"text":"A"}]}`, "", "1-2 A\n5-6 B\n?-? C",
		},
		"no finite time":      {`{"segments":[{"start":1e999,"end":"NaN","text":"A"},{"start":"Inf","text":"B"}]}`, "", "?-? A\n?-? B"},
		"control characters":  {`{"text":"a\u0000b\r\nc\u0007","segments":[{"start":0,"end":1,"text":"a\u0000b\n[X]: c","speaker":"S\n1"}]}`, "ab\nc", "0-1 S 1: ab [X]: c"},
		"speakers as numbers": {`{"segments":[{"start":0,"end":1,"text":"a","speaker":1},{"start":1,"end":2,"text":"b","speaker":null}]}`, "", "0-1 1: a\n1-2 b"},
		"elements that are no objects": {
			`{"text":"x","segments":[1,"a",null,[0,0,1,2,"listed"],{"start":0,"end":1,"text":"A"},{"start":{},"end":[],"text":{"a":1}}]}`, "x", "0-1 A",
		},
		"fields of another type": {`{"text":"x","segments":{"a":1},"words":"none","language":7}`, "x", ""},
		"no speech":              {`{"text":"","segments":[]}`, "", ""},
	} {
		answer, err := decode([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		answer = clean(answer, 10*time.Second)
		if answer.Text != c.text || written(answer.Segments) != c.segments {
			t.Errorf("%s: %q\n%s\nwant %q\n%s", name, answer.Text, written(answer.Segments), c.text, c.segments)
		}
	}
}

func TestAnswersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"empty":             "",
		"a page":            "<html>busy</html>",
		"a list":            "[]",
		"a string":          `"text"`,
		"nothing of use":    `{"status":"ok"}`,
		"text of a kind":    `{"text":null}`,
		"cut short":         `{"text":"Hel`,
		"too many segments": `{"segments":[` + strings.Repeat(`{},`, maxSegments) + `{}]}`,
	} {
		if answer, err := decode([]byte(body)); !providers.IsPermanent(err) {
			t.Errorf("%s: %+v, %v; want a permanent error", name, answer, err)
		}
	}
}

func TestWordsBecomeSegments(t *testing.T) {
	t.Parallel()
	run := func(count int, gap float64) []word {
		var words []word
		for i := range count {
			words = append(words, word{start: float64(i) * gap, end: float64(i)*gap + 0.3, text: fmt.Sprint("w", i)})
		}
		return words
	}
	for name, c := range map[string]struct {
		words []word
		text  string
		want  []string
	}{
		"a pause ends a segment": {[]word{{0, 1, "a"}, {1.1, 2, "b"}, {2.7, 3, "c"}}, "", []string{"a b", "c"}},
		"a sentence ends one":    {[]word{{0, 1, "Well"}, {1, 2, "done."}, {2, 3, "Next"}}, "", []string{"Well done.", "Next"}},
		"a title does not":       {[]word{{0, 0.3, "Mr."}, {0.3, 1, "Smith"}}, "", []string{"Mr. Smith"}},
		"text that differs":      {[]word{{0, 1, "a"}, {1, 2, "b"}}, "Something else.", []string{"a b"}},
		"scripts without spaces": {[]word{{0, 1, "你"}, {1, 2, "好"}, {2, 3, "OK"}}, "", []string{"你好 OK"}},
	} {
		var got []string
		for _, s := range segmentsOf(c.words, c.text) {
			got = append(got, strings.TrimSpace(s.Text))
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for _, s := range segmentsOf(run(1000, 0.4), "") {
		if *s.End-*s.Start > longestSegment+1 {
			t.Fatalf("a segment of %v s", *s.End-*s.Start)
		}
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"en": "en", "en-US": "en", "pt_BR": "pt", "French": "fr", " GERMAN ": "de", "haitian creole": "ht", "yue": "yue",
		"": "", "auto": "", "klingon": "", "e": "", "english\n": "en", "xx-en": "",
	} {
		if got := Language(written); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}

// Whatever a service answers, what is kept of it obeys the rules that clean promises.
func FuzzAnswer(f *testing.F) {
	samples, err := filepath.Glob("testdata/answers/*.json")
	if err != nil || len(samples) == 0 {
		f.Fatalf("no samples: %v", err)
	}
	for _, sample := range samples {
		body, err := os.ReadFile(sample)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, int64(10_000))
	}
	f.Fuzz(func(t *testing.T, body []byte, milliseconds int64) {
		length := time.Duration(min(max(milliseconds, 0), 86_400_000)) * time.Millisecond
		answer, err := decode(body)
		if err != nil {
			if !providers.IsPermanent(err) {
				t.Fatalf("%v may be tried again", err)
			}
			return
		}
		transcript := join([]piece{{end: length, answer: clean(answer, length)}}, length, Description{}, Request{})
		checkKept(t, transcript, length.Seconds())
	})
}

func checkKept(t *testing.T, transcript Transcript, length float64) {
	t.Helper()
	if !utf8.ValidString(transcript.Text) || strings.ContainsRune(transcript.Text, 0) {
		t.Fatalf("text %q", transcript.Text)
	}
	before := 0.0
	for _, s := range transcript.Segments {
		if s.Text == "" || !utf8.ValidString(s.Text) || strings.ContainsFunc(s.Text+s.Label, unicode.IsControl) || utf8.RuneCountInString(s.Label) > maxLabel {
			t.Fatalf("segment %+v", s)
		}
		if s.Start == nil {
			if s.End != nil {
				t.Fatal("an end without a start")
			}
			continue
		}
		if math.IsNaN(*s.Start) || *s.Start < before || *s.Start > length {
			t.Fatalf("start %v after %v within %v", *s.Start, before, length)
		}
		before = *s.Start
		if s.End != nil && (math.IsNaN(*s.End) || *s.End < *s.Start || *s.End > length) {
			t.Fatalf("end %v of start %v within %v", *s.End, *s.Start, length)
		}
	}
	if _, err := json.Marshal(transcript); err != nil {
		t.Fatal(err)
	}
}
