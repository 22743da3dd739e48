package llm

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm/rank"
	"github.com/stenometer/stenometer/providers"
)

// What an extract holds at most.
const (
	maxExtract = 12 // sentences of a summary
	maxQuotes  = 5  // passages of an answer
)

// What the embedded engine says itself. A reader must never take an extract for a summary that somebody wrote.
const (
	saysExtract = "This is an extract, made without a text model: the sentences of the transcript that share most with the others, as they were spoken."
	saysSilence = "The transcript holds no words."
)

// says is what stands above quotes.
type says struct{ matches, vague, nothing string }

// What is said depends on what was looked through: a transcript, those of several recordings, or what a client sent.
var (
	ofOne = says{
		"This answer was made without a text model. The passages of the transcript that match the question best, as they were spoken:",
		"This answer was made without a text model, and the question holds no word to look for. The passages of the transcript that share most with the others, as they were spoken:",
		"This answer was made without a text model, by looking for the words of the question. No passage of the transcript matches them.",
	}
	ofSeveral = says{
		"This answer was made without a text model. The passages of the recordings that match the question best, as they were spoken:",
		"This answer was made without a text model, and the question holds no word to look for. The passages of the recordings that share most with the others, as they were spoken:",
		"This answer was made without a text model, by looking for the words of the question. No passage of the recordings matches them.",
	}
	ofMessages = says{
		"This answer was made without a text model. The passages of the messages before the question that match it best:",
		"This answer was made without a text model, and the question holds no word to look for. The passages of the messages before it that share most with the others:",
		"This answer was made without a text model, by looking for the words of the question in the messages before it. None of them matches.",
	}
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
		Can:      []budgets.Operation{budgets.Summarizing, budgets.Chatting, budgets.Inquiring, budgets.Completing},
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
		text, cut = quote(request.Material, ofOne, room)
	case budgets.Inquiring:
		text, cut = quote(request.Material, ofSeveral, room)
	case budgets.Completing:
		text, cut = quote(materialOf(request.Messages), ofMessages, room)
	default:
		return Completion{}, &providers.Error{
			Kind: providers.WrongModel, Message: "The embedded engine can only summarize and answer questions", Permanent: true, Unsent: true,
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
func quote(material Material, of says, room int) (text string, cut bool) {
	said := pieces(material.Passages)
	index := rank.NewIndex(texts(said))
	head, best := of.matches, index.Best(index.Match(material.Question), maxQuotes)
	if !rank.Asks(material.Question) {
		head, best = of.vague, index.Best(index.Central(), maxQuotes)
		slices.Sort(best)
	}
	if len(best) == 0 {
		return listed(of.nothing, nil, room)
	}
	lines := make([]string, len(best))
	for i, n := range best {
		lines[i] = spoken(said[n])
		if said[n].Origin != "" {
			lines[i] = said[n].Origin + " " + lines[i]
		}
		if material.Cite {
			lines[i] += " " + cite(said[n])
		}
	}
	return listed(head, lines, room)
}

// materialOf takes the last question of a conversation, and what was said before it as what it is about.
func materialOf(messages []Message) Material {
	last := len(messages) - 1
	for last > 0 && messages[last].Role != User {
		last--
	}
	var material Material
	for i, message := range messages {
		if i == last {
			material.Question = message.Text
			break
		}
		for paragraph := range strings.SplitSeq(message.Text, "\n\n") {
			if strings.TrimSpace(paragraph) != "" {
				material.Passages = append(material.Passages, Passage{Index: len(material.Passages), Text: paragraph})
			}
		}
	}
	return material
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
