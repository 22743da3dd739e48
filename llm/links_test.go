package llm

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func given(texts ...string) []Message {
	messages := make([]Message, len(texts))
	for i, text := range texts {
		messages[i] = Message{Role: User, Text: text}
	}
	return messages
}

// Links in an answer come only from what the model was given.
func TestLinksThatNobodyGaveAreTakenOut(t *testing.T) {
	t.Parallel()
	const gone = linkRemoved
	for name, c := range map[string]struct{ answer, want string }{
		"plain text":           {"At 1:02, Alice: \"yes\" [S12 \"yes\"].", "At 1:02, Alice: \"yes\" [S12 \"yes\"]."},
		"link":                 {"See [the notes](https://evil.example/x?d=secret) now", "See the notes now"},
		"link with title":      {`[a](https://evil.example "title (x)") b`, `a") b`},
		"link in brackets":     {"[a](<https://evil.example/a b>) b", "a b"},
		"parentheses":          {"[a](https://evil.example/(b)) c", "a c"},
		"image":                {"x ![pixel](https://evil.example/p.png) y", "x pixel y"},
		"image in a link":      {"[![a](https://evil.example/p.png)](https://evil.example)", "a"},
		"link as its text":     {"[https://evil.example](https://evil.example)", gone},
		"good text, bad link":  {"[www.evil.example](javascript:alert(1))", gone},
		"relative":             {"[a](/recordings/9?t=3) [b](foo) [c](//evil.example) [d](/\\evil.example) [e]()", "a b c d e"},
		"entities":             {"[a](&#104;ttps://evil.example)", "a"},
		"reference":            {"See [a][1], [b][] and [c].\n\n[1]: https://evil.example\n[B]: /\\evil.example 'x'\n[c]:\n  <//evil.example>", "See a, b and c.\n\n1: " + gone + "\nB: /\\evil.example 'x'\nc:\n  <" + gone + ">"},
		"no reference":         {"[Alice]: I think so", "[Alice]: I think so"},
		"autolink":             {"<https://evil.example> <tel:1234567> <bob@evil.example>", gone + " " + gone + " bob@evil.example"},
		"anchor":               {`<a href="https://evil.example">text</a>`, "text"},
		"anchors":              {`<A HREF='https://evil.example' class=x>text</A>, <img src=x onerror=y><b>bold</b>`, "text, <b>bold</b>"},
		"unclosed tag":         {`<img src="//evil.example/x`, `‹img src="` + gone},
		"comparison":           {"if a < b and c > d, or a <b and c> d", "if a < b and c > d, or a ‹b and c> d"},
		"tags in tags":         {strings.Repeat("<", 3) + strings.Repeat("img x=1>", 3) + "a", "a"},
		"tags without end":     {strings.Repeat("<", linkRounds+2) + strings.Repeat("img x=1>", linkRounds+2) + "a", "‹‹img x=1>img x=1>a"},
		"comment":              {"a <!-- [x](y) --> b", "a  b"},
		"bare":                 {"Go to https://evil.example/x, or (http://evil.example/y).", "Go to " + gone + ", or (" + gone + ")."},
		"bare in other case":   {"HTTPS://EVIL.EXAMPLE WWW.evil.example", gone + " " + gone},
		"schemes":              {"mailto:a@b.example javascript:alert(1) data:text/html,x ftp://evil.example x-y://z", strings.TrimSpace(strings.Repeat(gone+" ", 5))},
		"words that are none":  {"the data:five, note: this // that, and/or, 1:02, http:", "the data:five, note: this // that, and/or, 1:02, http:"},
		"no scheme":            {"//evil.example/x", gone},
		"between letters":      {"请看https://evil.example/x。谢谢", "请看" + gone + "。谢谢"},
		"put together":         {"htt[p](x)s://evil.example", gone},
		"half a link":          {"a](https://evil.example) [b](c", "a] (" + gone + ") [b] (c"},
		"a link in a link":     {"[a](https://good.example\n[b](&/x) c", "[a] (https://good.example\nb c"},
		"given bare":           {"It is https://good.example/a_(b)?c=1.", "It is https://good.example/a_(b)?c=1."},
		"given link":           {`[it](https://good.example/a_(b)?c=1 "t"), ![it](<https://good.example>)`, `[it](https://good.example/a_(b)?c=1 "t"), ![it](<https://good.example>)`},
		"given in other forms": {"HTTPS://Good.Example/ <https://good.example> www.good.example", "HTTPS://Good.Example/ <https://good.example> www.good.example"},
		"given anchor":         {`<a href="https://good.example">it</a>`, `<a href="https://good.example">it</a>`},
		"given reference":      {"[it]\n\n[it]: https://good.example", "[it]\n\n[it]: https://good.example"},
		"given path":           {"[a](/recordings/7?t=62)", "[a](/recordings/7?t=62)"},
		"longer than given":    {"https://good.example/secret [a](https://good.example.evil.example) [b](https://good.example?d=1)", gone + " a b"},
		"shorter than given":   {"[a](/recordings/7) https://good.example/a_", "a " + gone + "_"},
		"given and more":       {"https://good.example{secret} https://good.example\"secret https://good.example)", "https://good.example {secret} https://good.example \"secret https://good.example)"},
		"given among letters":  {"看https://good.example谢谢", "看https://good.example 谢谢"},
		"json":                 {`{"events":[{"location":"https://evil.example/j","at":"https://good.example","attendees":["a"]}]}`, `{"events":[{"location":"` + gone + `","at":"https://good.example ","attendees":["a"]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			messages := given("Read https://good.example, (https://good.example/a_(b)?c=1) and www.good.example!", "[S1 0:01] at /recordings/7?t=62.")
			got := addressesIn(messages).only(c.answer)
			if got != c.want {
				t.Errorf("%q\n got %q\nwant %q", c.answer, got, c.want)
			}
			if again := addressesIn(messages).only(got); again != got {
				t.Errorf("a second time: %q", again)
			}
		})
	}
}

// What was given stays where it was given, however the sentence around it ends.
func TestGivenLinksAreFoundInAnyTalk(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"https://a.example/b", "(https://a.example/b)", "**https://a.example/b**, then", "\"https://a.example/b\"", "[x](https://a.example/b)",
		"<https://a.example/b>", "看https://a.example/b谢谢", "是「https://a.example/b」。", "see:https://a.example/b/",
	} {
		for _, answer := range []string{"https://a.example/b", "[x](https://a.example/b)", "**https://a.example/b**."} {
			if got := addressesIn(given(message)).only(answer); got != answer {
				t.Errorf("%q out of %q became %q", answer, message, got)
			}
		}
	}
}

func FuzzOnlyGivenLinks(f *testing.F) {
	f.Add("[a](https://evil.example) <b> https://good.example", "https://good.example")
	f.Add("[[a]: x](<y> 'z') ![b][c]\n[c]: //d.e", "")
	f.Add("<a href=\"www.x.y\">http://[::1]/</a>", "www.x.y")
	f.Fuzz(func(t *testing.T, answer, message string) { checkLinks(t, answer, message) })
}

// Whatever links are made of, put together in whatever order.
func TestPiecesOfLinksMakeNone(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"[", "]", "(", ")", "<", ">", "!", ":", "/", "//", "\\", "\"", "'", " ", "\n", "a", "a href=\"", "=", "www.", "x.y", "http", "s", "://", "javascript:",
		"https://good.example", "https://evil.example", "/recordings/7", "&", ".", "-", "é", "。", "[b]: ", "](", "]:", "](<", "</a>", "‹", "{", "[::1]", "@",
	})
	rapid.Check(t, func(t *rapid.T) {
		answer := strings.Join(rapid.SliceOfN(piece, 0, 24).Draw(t, "answer"), "")
		checkLinks(t, answer, "https://good.example, /recordings/7 and www.x.y")
	})
}

// checkLinks requires that what is left holds no address that was not given, and stays as it is.
func checkLinks(t interface{ Fatalf(string, ...any) }, answer, message string) {
	messages := given(message)
	got := addressesIn(messages).only(answer)
	if again := addressesIn(messages).only(got); again != got {
		t.Fatalf("%q\n once %q\ntwice %q", answer, got, again)
	}
	allowed := strings.ToLower(message)
	for from := 0; ; {
		begin, end := nextAddress(got, from, false)
		if begin < 0 {
			return
		}
		if !strings.Contains(allowed, strings.TrimSuffix(strings.ToLower(got[begin:end]), "/")) {
			t.Fatalf("%q became %q, which holds %q", answer, got, got[begin:end])
		}
		from = end
	}
}

// The worst that a model can write costs time in proportion.
func TestHostileAnswersAreGoneThroughQuickly(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"](", "[", "[a](b", "<a ", "<", "[a]:", "](<", "http://", "www.a ", "//a.b ", "[a](", "javascript:", "![", ":", "](a "} {
		text := strings.Repeat(piece, 1<<20/len(piece))
		addressesIn(given(text)).only(text)
	}
}
