package llm

import (
	"context"
	"errors"
	"strings"
)

// Listener is told of an answer while it is written. All three are required.
type Listener struct {
	// Begun is called when the model's service has answered with its own success, before any text; after another attempt
	// it is called again.
	Begun func()
	// Heard is called for everything that the model sends, whether or not there is text in it to show.
	Heard func()
	// Said is given text that is fit to show. When it fails the call ends.
	Said func(text string) error
}

func (l Listener) complete() bool { return l.Begun != nil && l.Heard != nil && l.Said != nil }

// Stream is Ask for an answer that is heard while it is written; the context bounds the call. Once any of an answer came
// it is not asked for again: the listener may have heard it. The answer's text is what was said.
func (w *Work) Stream(ctx context.Context, request Request, to Listener) (Answer, error) {
	if request.JSON || !to.complete() {
		return Answer{}, errors.New("ask the text model: a stream is text, and somebody listens to it")
	}
	request.reports = !w.silent
	return w.ask(ctx, request, func(ctx context.Context, request Request) (Completion, Answer, error) {
		return w.adapter.stream(ctx, request, to)
	})
}

// stream makes one attempt. What the model said until a failure is in the completion, to be charged for.
func (a *Adapter) stream(ctx context.Context, request Request, to Listener) (Completion, Answer, error) {
	deaf := false
	say := func(text string) error {
		err := to.Said(text)
		deaf = deaf || err != nil
		return err
	}
	var voice interface {
		hear(piece string) error
		end() error
		heard() (text string, full bool)
	} = newSpeech(request.Messages, say)
	if request.Verbatim {
		voice = &echo{say: say}
	}
	completion, err := a.engine.StreamCompletion(ctx, request, Listener{Begun: to.Begun, Heard: to.Heard, Said: voice.hear})
	if err != nil {
		if !deaf && ctx.Err() == nil {
			_ = voice.end() // the reader is to have all that came; why the answer ended is what matters
		}
		return completion, Answer{}, err
	}
	if err := voice.end(); err != nil {
		return completion, Answer{}, err
	}
	text, full := voice.heard()
	answer, err := a.answered(text, completion.Cut || full, completion, request)
	return completion, answer, err
}

// echo passes pieces on as they come, up to what is the most of an answer.
type echo struct {
	say  func(string) error
	said strings.Builder
	full bool
}

func (e *echo) hear(piece string) error {
	if room := maxText - e.said.Len(); len(piece) > room {
		piece, e.full = whole(piece[:room]), true
	}
	if piece == "" {
		return nil
	}
	e.said.WriteString(piece)
	return e.say(piece)
}

func (e *echo) end() error { return nil }

func (e *echo) heard() (text string, full bool) { return e.said.String(), e.full }
