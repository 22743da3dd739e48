// Package completions lends the text models of this server to clients that bring all of a conversation: what they ask is
// bounded and paid for as everything else, passed on, and kept nowhere.
package completions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/streams"
)

// Options is what completions need. All of it is required but Further.
type Options struct {
	// Text is the way to the text model, Further are other models of its service that clients may name.
	Text    *llm.Adapter
	Further []string
	// InputChars bounds all that a request sends to a model, in characters. Tokens caps what a model may write.
	InputChars, Tokens int
}

// Completions answers for the text models.
type Completions struct{ Options }

// New makes Completions.
func New(options Options) *Completions { return &Completions{options} }

// Wish is what a client asks of a model.
type Wish struct {
	Model    string
	Messages []llm.Message
	Tools    []llm.Tool
	// Further are members of the provider's request that only shape the answer, checked by whoever read them.
	Further map[string]json.RawMessage
	// MaxTokens is the most that the client wants to be written, 0 where it says nothing. It lowers the cap and never
	// raises it.
	MaxTokens int
}

// Frames are the events of a streamed answer as its client reads them.
type Frames struct {
	// Begun opens the answer.
	Begun any
	// Delta is the next piece of the text.
	Delta func(text string) any
	// Ended closes the answer: what the model asks for, why it stopped, what was used.
	Ended func(llm.Answer) []any
}

// Models lists what clients may name, the default first. The engine that is built in has no others beside it.
func (s *Completions) Models() []string {
	described := s.Text.Describe()
	if !described.Does(budgets.Completing) {
		return nil
	}
	names := []string{described.Model}
	if described.Embedded {
		return names
	}
	for _, name := range s.Further {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Answer asks the model that the client names.
func (s *Completions) Answer(ctx context.Context, purse budgets.Purse, w Wish) (llm.Answer, error) {
	adapter, request, err := s.asked(w)
	if err != nil {
		return llm.Answer{}, err
	}
	answer, err := adapter.Ask(ctx, purse, request)
	if err != nil {
		return llm.Answer{}, problem(err)
	}
	return answer, nil
}

// Stream answers as Answer does, while the model writes. What fails before the model has begun is returned; what fails
// later the stream tells.
func (s *Completions) Stream(purse budgets.Purse, opener streams.Opener, w Wish, frames Frames) error {
	adapter, request, err := s.asked(w)
	if err != nil {
		return err
	}
	//nolint:wrapcheck // the stream's refusals are the answer, and the source says what it attempted
	return opener.Open(streams.Completing, func(ctx context.Context, out *streams.Sink) error {
		answer, err := told(ctx, adapter, purse, request, out, frames)
		if err != nil {
			return problem(err)
		}
		for _, frame := range frames.Ended(answer) {
			if err := out.Send(frame); err != nil {
				return err //nolint:wrapcheck // the reason for which the stream ends
			}
		}
		return nil
	})
}

// told sends the text of an answer as the model writes it. What was held is settled when it returns: the last frames tell
// what was used.
func told(ctx context.Context, adapter *llm.Adapter, purse budgets.Purse, request llm.Request, out *streams.Sink, frames Frames) (llm.Answer, error) {
	ctx, work, err := adapter.Open(ctx, purse, request.Operation, adapter.Most(request))
	if err != nil {
		return llm.Answer{}, err //nolint:wrapcheck // a refusal for money is the answer
	}
	defer work.Close()
	begun := false
	return work.Stream(ctx, request, llm.Listener{ //nolint:wrapcheck // the adapter says what was attempted
		Begun: func() {
			out.Start()
			if !begun { // another attempt begins the call again, not the answer
				begun = true
				_ = out.Send(frames.Begun) // when it fails the stream is over, as the next piece is told
			}
		},
		Heard: out.Heard,
		Said: func(text string) error {
			for _, piece := range streams.Pieces(text) {
				if err := out.Send(frames.Delta(piece)); err != nil {
					return err //nolint:wrapcheck // the reason for which the stream ends
				}
			}
			return nil
		},
	})
}

// asked holds a wish to its bounds and makes of it what the model is asked.
func (s *Completions) asked(w Wish) (*llm.Adapter, llm.Request, error) {
	names := s.Models()
	if len(names) == 0 {
		return nil, llm.Request{}, problems.New(problems.ModelUnavailable, "This server has no text model for clients of this kind; its operator can set one.")
	}
	if !slices.Contains(names, w.Model) {
		return nil, llm.Request{}, UnknownModel(names)
	}
	if sent := w.chars(); sent > s.InputChars {
		return nil, llm.Request{}, problems.New(problems.PayloadTooLarge, "A request may send a model at most %d characters; this one has %d.", s.InputChars, sent).
			With("max_input_chars", s.InputChars)
	}
	most := s.Tokens
	if w.MaxTokens > 0 {
		most = min(most, w.MaxTokens)
	}
	return s.Text.For(w.Model), llm.Request{
		Operation: budgets.Completing, Messages: w.Messages, MaxTokens: most, Tools: w.Tools, Further: w.Further, Verbatim: true,
	}, nil
}

// UnknownModel refuses a model that clients may not name; names are those that they may.
func UnknownModel(names []string) *problems.Error {
	if len(names) == 0 {
		return problems.New(problems.ModelNotFound, "This server has no such model.").With("field", "model")
	}
	return problems.New(problems.ModelNotFound, "This server has no such model for its clients; it has %s.", strings.Join(names, ", ")).
		With("field", "model")
}

// chars is all that the model would read.
func (w Wish) chars() int {
	total := 0
	for _, message := range w.Messages {
		total += utf8.RuneCountInString(message.Text)
		for _, call := range message.Calls {
			total += utf8.RuneCountInString(call.Name) + utf8.RuneCountInString(call.Arguments)
		}
	}
	for _, tool := range w.Tools {
		total += utf8.RuneCountInString(tool.Name) + utf8.RuneCountInString(tool.Description) + utf8.RuneCount(tool.Parameters)
	}
	for _, member := range w.Further { // a schema in it is read too
		total += utf8.RuneCount(member)
	}
	return total
}

// problem is what a caller is told who waited for a model.
func problem(err error) error {
	const attempt = "complete a conversation"
	if errors.Is(err, budgets.ErrHoldLost) {
		return problems.New(problems.DatabaseUnavailable, "The database did not answer in time; try again.").
			Because(fmt.Errorf("%s: %w", attempt, err)).After(2 * time.Second)
	}
	if models.IsBusy(err) {
		return models.Unavailable(attempt, err) //nolint:wrapcheck // it says what was attempted
	}
	return fmt.Errorf("%s: %w", attempt, problems.OfProvider(err))
}
