package recordings

import (
	"context"
	"slices"
	"strings"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/problems"
)

// errand is what a text model is asked about a transcript: one call for each part and, where there is more than one and
// the answers are to become one, a last call that joins them. All of it is one piece of work for the budgets, so that a
// transcript is never worked through by half because the money went elsewhere.
type errand struct {
	operation budgets.Operation
	parts     []llm.Request
	// join asks for one answer made of several; nil where they stand for themselves.
	join func(answers []string) llm.Request
}

func (e errand) joins() bool { return e.join != nil && len(e.parts) > 1 }

// errNoModel is told where no text model can do what is asked.
func errNoModel() *problems.Error {
	return problems.New(problems.ModelUnavailable, "This server has no text model that can do this; its operator can set one.")
}

// can refuses, with model_unavailable, what the text model cannot do.
func (s *Recordings) can(operation budgets.Operation) error {
	if s.Text == nil || !s.Text.Describe().Does(operation) {
		return errNoModel()
	}
	return nil
}

// most is what all calls of an errand can use. Answers that are joined are cut to what is counted for them here.
func (s *Recordings) most(e errand) budgets.Measure {
	requests := e.parts
	if e.joins() {
		standIns := make([]string, len(e.parts))
		for i := range standIns {
			standIns[i] = strings.Repeat("X", s.joinedBytes(len(e.parts))) // the costliest letter: no answer counts more
		}
		requests = append(slices.Clone(requests), e.join(standIns))
	}
	return s.Text.Most(requests...)
}

// joinedBytes is how much of each of so many answers is joined: together they are as long as one part. It is bytes and
// not characters, because tokens are counted by bytes: an answer in Chinese must not cost more than is held for it.
func (s *Recordings) joinedBytes(parts int) int { return max(1, s.TextBounds.PartChars/parts) }

// partTokens caps what a model may write about each of so many parts: no more than is joined, by about four characters
// a token.
func (s *Recordings) partTokens(most, parts int) int {
	if parts < 2 {
		return most
	}
	return min(most, max(100, s.joinedBytes(parts)/4))
}

// run does an errand within one hold and gives the joined answer, or one for each part.
func (s *Recordings) run(ctx context.Context, purse budgets.Purse, e errand) ([]llm.Answer, error) {
	ctx, work, err := s.Text.Open(ctx, purse, e.operation, s.most(e))
	if err != nil {
		return nil, err //nolint:wrapcheck // a refusal for money is the answer
	}
	defer work.Close()
	answers, err := eachOf(e.parts, func(part llm.Request) (llm.Answer, error) { return work.Ask(ctx, part) })
	if err != nil || !e.joins() {
		return answers, err
	}
	joined, err := work.Ask(ctx, s.joining(e, answers))
	if err != nil {
		return nil, err //nolint:wrapcheck // the adapter says what was attempted
	}
	return []llm.Answer{joined}, nil
}

// stream does an errand that has one answer, and tells that while it comes. Of what is said about parts, which it is made
// of, the listener is told only that there was something, so that no clock runs while a model works.
func (s *Recordings) stream(ctx context.Context, purse budgets.Purse, e errand, to llm.Listener) (llm.Answer, error) {
	ctx, work, err := s.Text.Open(ctx, purse, e.operation, s.most(e))
	if err != nil {
		return llm.Answer{}, err //nolint:wrapcheck // a refusal for money is the answer
	}
	defer work.Close()
	last := e.parts[0]
	if e.joins() {
		silent := to
		silent.Said = func(string) error { return nil }
		answers, err := eachOf(e.parts, func(part llm.Request) (llm.Answer, error) { return work.Stream(ctx, part, silent) })
		if err != nil {
			return llm.Answer{}, err
		}
		last = s.joining(e, answers)
	}
	return work.Stream(ctx, last, to) //nolint:wrapcheck // the adapter says what was attempted
}

// eachOf asks about parts, one after the other.
func eachOf(parts []llm.Request, ask func(llm.Request) (llm.Answer, error)) ([]llm.Answer, error) {
	answers := make([]llm.Answer, len(parts))
	for i, part := range parts {
		answer, err := ask(part)
		if err != nil {
			return nil, err
		}
		answers[i] = answer
	}
	return answers, nil
}

// joining asks for one answer made of several.
func (s *Recordings) joining(e errand, answers []llm.Answer) llm.Request {
	texts := make([]string, len(answers))
	for i, answer := range answers {
		texts[i] = strings.TrimSpace(cutBytes(answer.Text, s.joinedBytes(len(answers))))
	}
	return e.join(texts)
}

// cutTo is the first so many characters.
func cutTo(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return strings.TrimSpace(string(runes[:most]))
	}
	return text
}
