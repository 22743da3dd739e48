package llm

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm/rank"
)

// What an extract holds at most.
const (
	maxExtract = 12 // sentences of a summary
	maxQuotes  = 5  // passages of an answer
)

// What the embedded engine says itself. A reader must never take an extract for a summary that somebody wrote.
const (
	saysExtract = "This is an extract, made without a text model: the sentences of the transcript that share most with the others, as they were spoken."
	saysMatches = "This answer was made without a text model. The passages of the transcript that match the question best, as they were spoken:"
	saysVague   = "This answer was made without a text model, and the question holds no word to look for. The passages of the transcript that share most with the others, as they were spoken:"
	saysNothing = "This answer was made without a text model, by looking for the words of the question. No passage of the transcript matches them."
	saysSilence = "The transcript holds no words."
)

// embedded quotes what was said: no key, no download, and no words of its own but for the lines above. It reads the
// matter of a request and not its prompt, so nobody can tell it what to do.
type embedded struct{}

func newEmbedded() Engine { return embedded{} }

// Describe implements Engine.
func (embedded) Describe() Description {
	return Description{
		Engine:   budgets.Engine{Provider: "embedded", Model: "embedded-extractive"},
		Embedded: true,
		Can:      []budgets.Operation{budgets.Summarizing, budgets.Chatting},
	}
}

// Complete implements Engine.
func (e embedded) Complete(ctx context.Context, request Request) (Completion, error) {
	return e.quoted(ctx, request)
}

func (e embedded) quoted(ctx context.Context, request Request) (Completion, error) {
	if err := ctx.Err(); err != nil {
		return Completion{}, err
	}
	var text string
	var cut bool
	switch room := room(request.MaxTokens); request.Operation {
	case budgets.Summarizing:
		text, cut = extract(request.Material, room)
	case budgets.Chatting:
		text, cut = quote(request.Material, room)
	default:
		return Completion{}, &Error{
			Kind: WrongModel, message: "The embedded engine can only summarize and chat", permanent: true, unsent: true,
		}
	}
	used := budgets.Measure{Input: 1, Output: tokensOf(text)}
	for _, message := range request.Messages {
		used.Input += tokensOf(message.Text)
	}
	return Completion{Text: text, Model: e.Describe().Model, Reported: &used, Cut: cut}, nil
}

// StreamCompletion implements Engine: line by line, as there is nothing to wait for.
func (e embedded) StreamCompletion(ctx context.Context, request Request, to Listener) (Completion, error) {
	completion, err := e.quoted(ctx, request)
	if err != nil {
		return completion, err
	}
	to.Begun()
	for line := range strings.Lines(completion.Text) {
		if err := to.Said(line); err != nil {
			return completion, err
		}
	}
	return completion, nil
}

// charsPerToken is what a token is taken for: an estimate, for a ledger that charges nothing.
const charsPerToken = 4

func room(tokens int) int { return min(max(tokens, 1), math.MaxInt/charsPerToken) * charsPerToken }

func tokensOf(text string) int64 {
	return int64(max(1, (utf8.RuneCountInString(text)+charsPerToken-1)/charsPerToken))
}

// extract is the best sentences in the order in which they were said.
func extract(material Material, room int) (text string, cut bool) {
	said := sentences(material.Passages)
	index := rank.NewIndex(texts(said))
	// A longer talk has more to say, but not in proportion: nobody reads half an hour of extract.
	most := min(maxExtract, 2+int(math.Sqrt(float64(len(said)))), (len(said)+1)/2)
	best := index.Best(index.Central(), most)
	if len(best) == 0 {
		return listed(saysSilence, nil, room)
	}
	slices.Sort(best)
	lines := make([]string, len(best))
	for i, n := range best {
		lines[i] = spoken(said[n])
	}
	return listed(saysExtract, lines, room)
}

// quote is the passages that match the question best, best first.
func quote(material Material, room int) (text string, cut bool) {
	said := pieces(material.Passages)
	index := rank.NewIndex(texts(said))
	says, best := saysMatches, index.Best(index.Match(material.Question), maxQuotes)
	if !rank.Asks(material.Question) {
		says, best = saysVague, index.Best(index.Central(), maxQuotes)
		slices.Sort(best)
	}
	if len(best) == 0 {
		return listed(saysNothing, nil, room)
	}
	lines := make([]string, len(best))
	for i, n := range best {
		lines[i] = spoken(said[n])
		if material.Cite {
			lines[i] += " " + cite(said[n])
		}
	}
	return listed(says, lines, room)
}

// listed puts lines below a sentence as far as there is room.
func listed(says string, lines []string, room int) (text string, cut bool) {
	var list strings.Builder
	list.WriteString(says)
	left := room - utf8.RuneCountInString(says)
	for i, line := range lines {
		item := "\n- " + line
		if i == 0 {
			item = "\n" + item
		}
		if left -= utf8.RuneCountInString(item); left < 0 {
			cut = true
			break
		}
		list.WriteString(item)
	}
	text = list.String()
	if runes := []rune(text); len(runes) > room {
		return string(runes[:room]), true
	}
	return text, cut
}
