package agent

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/providers"
)

// holdback is how much text in bytes of a call that may yet ask for a tool is held back. What was said as the answer
// cannot be unsaid, and a model that announces a look-up does it in a sentence: text that goes on is the answer, and if a
// call does follow it, its beginning.
const holdback = 400

// turn is what the model said once.
type turn struct {
	answer llm.Answer
	// thought is what it said beside its calls.
	thought string
}

// ask makes one call in which the model may ask for tools. Where its service refuses them it is asked in plain text
// instead, for the rest of the question; the refused call cost nothing and does not count.
func (l *loop) ask(ctx context.Context) (turn, error) {
	l.steps++
	asked, keep, done := l.inTime(ctx)
	defer done()
	e := &ear{loop: l, keep: keep, undecided: short}
	if l.plain {
		e.undecided = maybeCall
	}
	answer, err := l.listen(asked, l.request(false), e)
	switch {
	case l.plainFrom(err):
		return l.ask(ctx)
	case errors.Is(err, errTime):
		if deaf := l.think(e.rest()); deaf != nil {
			return turn{}, deaf
		}
		return turn{}, err
	case err != nil:
		return turn{}, err
	}
	if l.plain && !e.live {
		if thought, call, found := callIn(e.rest()); found {
			answer.Calls, answer.Text = []llm.ToolCall{call}, thought
			return turn{answer, thought}, l.think(thought)
		}
	}
	if len(answer.Calls) == 0 {
		return turn{answer: answer}, e.release()
	}
	l.apart = true
	return turn{answer, answer.Text}, l.think(e.rest())
}

// plainFrom goes over to plain text where the service refused what has to do with tools.
func (l *loop) plainFrom(err error) bool {
	if l.Mode != Auto || l.plain || !refusesTools(err) {
		return false
	}
	l.plain = true
	l.steps--
	return true
}

// closing makes the last call, without tools. There are services that then refuse the calls before it as well.
func (l *loop) closing(ctx context.Context) (llm.Answer, error) {
	l.steps++
	l.apart = true
	e := &ear{loop: l, keep: func() {}, undecided: maybeCall, live: !l.plain}
	answer, err := l.listen(ctx, l.request(true), e)
	if l.plainFrom(err) {
		return l.closing(ctx)
	}
	if err != nil {
		return llm.Answer{}, err
	}
	if thought, _, found := callIn(e.rest()); found { // although it was told that there is no more
		return answer, l.say(cmp.Or(thought, saysNothing))
	}
	return answer, e.release()
}

// listen makes a call and counts what it used.
func (l *loop) listen(ctx context.Context, request llm.Request, e *ear) (llm.Answer, error) {
	if !l.fits(request) {
		return llm.Answer{}, errors.New("ask the text model: the request is larger than what is held for it")
	}
	answer, err := l.work.Stream(ctx, request, llm.Listener{Begun: e.begun, Heard: l.to.Heard, Said: e.said})
	l.used.Input += answer.Used.Input
	l.used.Output += answer.Used.Output
	return answer, errors.Join(err, l.deaf)
}

// think tells what the model says before a look-up.
func (l *loop) think(text string) error {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return l.to.Thinking(text)
}

// refusesTools recognizes a service that knows no tools: such services refuse the whole request.
func refusesTools(err error) bool {
	var failure *providers.Error
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// ear hears one call, and tells the answer as soon as it is certain to be one.
type ear struct {
	loop *loop
	keep func()
	// undecided reports of what came whether it may be no answer.
	undecided func(text string) bool
	held      strings.Builder
	live      bool
}

func (e *ear) begun() {
	e.loop.to.Begun()
	if !e.loop.begun {
		e.loop.begun = true
		e.loop.deaf = e.loop.to.Usage(e.loop.percent)
	}
}

func (e *ear) said(text string) error {
	if e.loop.deaf != nil {
		return e.loop.deaf
	}
	if e.live {
		return e.loop.say(text)
	}
	e.held.WriteString(text)
	if e.undecided(e.held.String()) {
		return nil
	}
	return e.release()
}

// release tells what was held back, and then everything. An answer that is begun is not cut off by the clock.
func (e *ear) release() error {
	e.keep()
	text := e.rest()
	e.live = true
	return e.loop.say(text)
}

// rest is what was held back and not told.
func (e *ear) rest() string {
	if e.live {
		return ""
	}
	return e.held.String()
}

func short(text string) bool { return len(text) < holdback }
