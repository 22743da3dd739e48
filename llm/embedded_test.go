package llm

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/providers"
)

// meeting is a talk of which the sentences about the budget are the middle, cut as speech engines cut.
func meeting() []Passage {
	var passages []Passage
	for i, line := range []string{
		"Alice: Good morning. Did everybody sleep well?",
		"Bob: Yes.",
		"Alice: Then let us begin with the budget for the new office in Lisbon.",
		"Alice: The budget for the office is twelve thousand euros, and the rent",
		"Alice: takes two thirds of the office budget.",
		"Bob: Can the office budget also pay for the printer?",
		"Alice: The printer is leased, it costs forty euros a month.",
		"Carol: My train was late, by the way.",
		"Bob: So we agree: the office budget stays at twelve thousand euros, without a new printer.",
		"Carol: He said \"fine\" [loudly].",
	} {
		speaker, text, _ := strings.Cut(line, ": ")
		start, end := float64(i)*31, float64(i)*31+30
		passages = append(passages, Passage{Index: i, Start: &start, End: &end, Speaker: speaker, Text: text})
	}
	return passages
}

func ask(t *testing.T, request Request) Completion {
	t.Helper()
	if request.MaxTokens == 0 {
		request.MaxTokens = 1000
	}
	got, err := newEmbedded().Complete(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if length := utf8.RuneCountInString(got.Text); length > request.MaxTokens*4 || !utf8.ValidString(got.Text) {
		t.Errorf("%d characters out of %d tokens", length, request.MaxTokens)
	}
	if got.Reported == nil || got.Reported.Input < 1 || got.Reported.Output < 1 || got.Reported.Output > int64(request.MaxTokens) {
		t.Errorf("used %+v of %d tokens", got.Reported, request.MaxTokens)
	}
	if got.Model != "embedded-extractive" {
		t.Errorf("the model is %q", got.Model)
	}
	return got
}

func summarize(t *testing.T, passages []Passage) string {
	t.Helper()
	return ask(t, Request{Operation: budgets.Summarizing, Material: Material{Passages: passages}}).Text
}

// A summary says what it is, and then only what was said, in its order, with times; a sentence that a speech engine
// cut in two is one.
func TestEmbeddedSummaryQuotes(t *testing.T) {
	t.Parallel()
	got := summarize(t, meeting())
	if !strings.HasPrefix(got, saysExtract+"\n\n- ") {
		t.Errorf("it begins %q", got)
	}
	for _, want := range []string{
		`- At 1:33, Alice: "The budget for the office is twelve thousand euros, and the rent takes two thirds of the office budget."`,
		`- At 4:08, Bob: "So we agree: the office budget stays at twelve thousand euros, without a new printer."`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %q in\n%s", want, got)
		}
	}
	for _, never := range []string{"sleep", "train", `"Yes."`} {
		if strings.Contains(got, never) {
			t.Errorf("%q says nothing and is in\n%s", never, got)
		}
	}
	if a, b := strings.Index(got, "1:33"), strings.Index(got, "4:08"); a > b {
		t.Errorf("out of order:\n%s", got)
	}
	if again := summarize(t, meeting()); again != got {
		t.Errorf("the same transcript, another extract:\n%s\n%s", got, again)
	}
}

// What does not fit is left out whole, and said to be cut.
func TestEmbeddedSummaryEndsWithALine(t *testing.T) {
	t.Parallel()
	got := ask(t, Request{Operation: budgets.Summarizing, MaxTokens: 88, Material: Material{Passages: meeting()}})
	if lines := strings.Count(got.Text, "\n- "); !got.Cut || lines != 2 || !strings.HasSuffix(got.Text, `."`) {
		t.Errorf("cut %t, %d lines:\n%s", got.Cut, lines, got.Text)
	}
}

// The embedded speech engine tells no sentences: its passages are the units, put together until they say something.
func TestEmbeddedSummaryWithoutPunctuation(t *testing.T) {
	t.Parallel()
	passages := meeting()
	for i := range passages {
		passages[i].Speaker = ""
		passages[i].Text = strings.ToLower(regexp.MustCompile(`[^A-Za-z ]`).ReplaceAllString(passages[i].Text, ""))
	}
	got := summarize(t, passages)
	if lines := strings.Count(got, "\n- At "); lines < 2 || lines > 6 || !strings.Contains(got, "the office budget stays at twelve thousand euros") {
		t.Errorf("%d lines:\n%s", lines, got)
	}
	plain := summarize(t, []Passage{{Text: strings.Repeat(passages[3].Text+" "+passages[7].Text+" ", 50)}})
	if lines := strings.Count(plain, "\n- \""); lines < 1 || len(plain) > 6000 {
		t.Errorf("a plain transcript: %d lines, %d bytes", lines, len(plain))
	}
}

func chat(t *testing.T, question string, cite bool) string {
	t.Helper()
	return ask(t, Request{Operation: budgets.Chatting, Material: Material{Passages: meeting(), Question: question, Cite: cite}}).Text
}

// An answer quotes what matches, best first, and says so plainly when nothing does.
func TestEmbeddedChatQuotes(t *testing.T) {
	t.Parallel()
	got := chat(t, "What does the printer cost?", true)
	first, _, _ := strings.Cut(strings.TrimPrefix(got, ofOne.matches+"\n\n"), "\n")
	if first != `- At 3:06, Alice: "The printer is leased, it costs forty euros a month." [S6 "The printer is leased, it costs forty euros"]` {
		t.Errorf("the best match is %q in\n%s", first, got)
	}
	if uncited := chat(t, "What does the printer cost?", false); strings.Contains(uncited, "[S") {
		t.Errorf("citations that nobody asked for:\n%s", uncited)
	}
	if got := chat(t, "Who won the football match?", true); got != ofOne.nothing {
		t.Errorf("a question without a match: %q", got)
	}
	if got := chat(t, "What was that about?", true); !strings.HasPrefix(got, ofOne.vague) || !strings.Contains(got, "office budget") {
		t.Errorf("a question without a word to look for: %q", got)
	}
	// What was said cannot pass for a citation of ours.
	if got := chat(t, "Who was loudly?", true); !strings.HasSuffix(got, `At 4:39, Carol: "He said 'fine' (loudly)." [S9 "He said"]`) {
		t.Errorf("marks and brackets: %q", got)
	}
}

// It can do what it says and nothing else; a caller that left gets nothing.
func TestEmbeddedEngineIsHonest(t *testing.T) {
	t.Parallel()
	described := newEmbedded().Describe()
	if !described.Embedded || described.Model != "embedded-extractive" || described.Provider != "embedded" {
		t.Errorf("described as %+v", described)
	}
	for _, operation := range budgets.Operations() {
		_, err := newEmbedded().Complete(t.Context(), Request{Operation: operation, MaxTokens: 10})
		if described.Does(operation) != (err == nil) {
			t.Errorf("%s: says %t, fails with %v", operation, described.Does(operation), err)
		}
		if err != nil && !providers.IsPermanent(err) {
			t.Errorf("%s: %v would be tried again", operation, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newEmbedded().Complete(ctx, Request{Operation: budgets.Chatting, MaxTokens: 10}); err == nil {
		t.Error("an answer for nobody")
	}
}

// Whatever the transcript and however small the room: an answer within it, soon.
func TestEmbeddedEngineTakesAnything(t *testing.T) {
	t.Parallel()
	many := make([]Passage, 20_000)
	for i := range many {
		many[i] = Passage{Index: i, Text: fmt.Sprintf("word%d same same other%d", i, i%7)}
	}
	for name, passages := range map[string][]Passage{
		"none": nil, "empty": {{}}, "blank": {{Text: " \n "}}, "marks": {{Text: strings.Repeat(".?!。", 50_000)}},
		"one word": {{Text: strings.Repeat("x", 300_000)}}, "no spaces": {{Text: strings.Repeat("会議の予算は一万二千ユーロです", 20_000)}},
		"chinese": {{Text: strings.Repeat("预算是一万二千欧元。房租占了三分之二！", 5_000)}}, "broken": {{Text: "a\xff\xfe. b\xc3"}},
		"many": many, "letters": {{Text: strings.Repeat("a. ", 100_000)}}, "lines": {{Text: strings.Repeat("yes the budget\n", 20_000)}},
	} {
		for _, tokens := range []int{1, 10, 100, 8000} {
			for _, operation := range []budgets.Operation{budgets.Summarizing, budgets.Chatting} {
				t.Run(fmt.Sprintf("%s %d %s", name, tokens, operation), func(t *testing.T) {
					t.Parallel()
					valid := make([]Passage, len(passages))
					for i, p := range passages {
						p.Text = strings.ToValidUTF8(p.Text, "?")
						valid[i] = p
					}
					got := ask(t, Request{Operation: operation, MaxTokens: tokens, Material: Material{Passages: valid, Question: "预算 x same budget", Cite: true}})
					if got.Text == "" {
						t.Error("no text")
					}
				})
			}
		}
	}
}

// Over several recordings each quote is preceded by where it comes from; of a client's messages the last question is
// looked for in those before it. Neither passes for the work of a model, nor the second for a transcript.
func TestEmbeddedAnswersOfOtherMatter(t *testing.T) {
	t.Parallel()
	link := "[Office, 30 November](/recordings/7?t=93)"
	passages := meeting()
	for i := range passages {
		passages[i].Origin = link
	}
	got := ask(t, Request{Operation: budgets.Inquiring, Material: Material{Question: "What is the budget of the office?", Passages: passages}}).Text
	if !strings.HasPrefix(got, ofSeveral.matches) || !strings.Contains(got, "\n- "+link+` At 1:33, Alice: "The budget for the office`) {
		t.Errorf("over several recordings:\n%s", got)
	}
	messages := []Message{
		{Role: System, Text: "You are brief."},
		{Role: User, Text: "The printer is leased.\n\nThe office budget is 12,000 euros."},
		{Role: Assistant, Text: "Understood."},
		{Role: User, Text: "What is the budget?"},
		{Role: Assistant, Text: "Let me see."},
	}
	got = ask(t, Request{Operation: budgets.Completing, Messages: messages}).Text
	if want := ofMessages.matches + "\n\n- \"The office budget is 12,000 euros.\""; got != want {
		t.Errorf("of messages:\n%s", got)
	}
	got = ask(t, Request{Operation: budgets.Completing, Messages: messages[3:4]}).Text
	if got != ofMessages.nothing || strings.Contains(got, "transcript") {
		t.Errorf("of no messages:\n%s", got)
	}
}
