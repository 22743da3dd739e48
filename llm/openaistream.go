package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/resting"
)

// StreamCompletion asks once, for an answer that comes in chunks. A server that knows no streams and answers in one
// piece is understood too.
func (e *openAI) StreamCompletion(ctx context.Context, request Request, to Listener) (Completion, error) {
	if request.Timed {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.timeout)
		defer cancel()
	}
	c := streamed{call: call{engine: e}, to: to}
	err := c.hear(ctx, request)
	if ctx.Err() != nil {
		err = ctx.Err() // whatever it broke off
	}
	switch {
	case c.deaf != nil:
		return c.completion(), c.deaf
	case err != nil:
		return c.completion(), c.failure(ctx, err)
	}
	return c.completion(), nil
}

// streamed is one request whose answer comes in chunks.
type streamed struct {
	call

	to      Listener
	text    strings.Builder
	asked   calling
	told    Completion
	stopped bool // the model has said that it is done
	refused bool
	// filtered says that the service took away the rest of the answer.
	filtered bool
	deaf     error // of the listener
}

// hear asks, and reads the answer to its end.
func (c *streamed) hear(ctx context.Context, request Request) error {
	var response *http.Response
	var err error
	// An answer is waited for by far longer than it takes to ask, and asking goes deep into the library.
	resting.Apart(func() { response, err = c.ask(ctx, request) }) //nolint:bodyclose // closed below
	if err != nil {
		return err
	}
	defer response.Body.Close()
	c.to.Begun()
	response.Body = &bounded{ReadCloser: response.Body, left: maxAnswer}
	if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == "application/json" {
		return c.whole(response.Body)
	}
	return c.chunks(response.Body)
}

// ask sends the request and returns with the beginning of the answer, of which the library reads nothing: it takes a
// member "error" that is null for an error, and does not tell an answer that was cut off from a whole one.
func (c *streamed) ask(ctx context.Context, request Request) (*http.Response, error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { c.connected.Store(true) }})
	params := c.engine.params(request)
	if request.reports {
		params.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	var response *http.Response
	_, err := c.engine.completions.New(ctx, params, option.WithMiddleware(c.accepted), option.WithHTTPClient(c.engine.patient),
		option.WithJSONSet("stream", true), option.WithHeader("Accept", "text/event-stream"), option.WithResponseBodyInto(&response))
	if err != nil {
		return nil, err //nolint:wrapcheck // failure makes our words of it
	}
	return response, nil
}

// accepted stands between the library and the network: no refusal gets to it.
func (c *streamed) accepted(request *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	response, err := next(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		defer response.Body.Close()
		said, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
		return nil, c.engine.refusal(response, said)
	}
	return response, nil
}

// whole reads an answer that came in one piece all the same.
func (c *streamed) whole(body io.Reader) error {
	raw, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	completion, err := decode(raw)
	c.told = completion
	c.text.WriteString(completion.Text)
	if err != nil {
		return err
	}
	if completion.Text == "" {
		return nil
	}
	return c.say(completion.Text)
}

func (c *streamed) say(text string) error {
	c.deaf = c.to.Said(text)
	return c.deaf
}

// chunks reads an answer to its end. One whose end nobody has told was cut off on its way.
func (c *streamed) chunks(body io.Reader) error {
	events := newEvents(body)
	for events.next() {
		c.to.Heard()
		data := bytes.TrimSpace(events.data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			c.stopped = true
			break
		}
		if err := c.chunk(data, events.fails); err != nil {
			return err
		}
	}
	switch err := events.err(); {
	case err != nil && !c.stopped:
		return err
	case !c.stopped:
		return providers.Retryable(providers.Unreachable, 0, "The connection to the text model's service was lost")
	case c.filtered:
		return withheld()
	case strings.TrimSpace(c.text.String()) == "" && len(c.asked.calls) == 0 && c.refused:
		return declined()
	}
	return nil
}

// bounded ends an answer that is too large with an error.
type bounded struct {
	io.ReadCloser

	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, unreadable("is too large")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err //nolint:wrapcheck // io.EOF is looked for
}

// chunk takes one piece of the answer. Members of another type than expected are taken as absent.
func (c *streamed) chunk(raw []byte, fails bool) error {
	var form answerForm
	if err := json.Unmarshal(raw, &form); err != nil && !fails {
		return unreadable("is not the JSON that was expected")
	}
	if form.Model.text != "" {
		c.told.Model = form.Model.text
	}
	if reported := usage(form.Usage); reported != nil {
		c.told.Reported = reported
	}
	if fails || form.failed() {
		return faulty()
	}
	piece, found := first(form.Choices)
	if !found {
		return nil // the usage, at the end
	}
	if piece.failed() {
		return faulty()
	}
	if piece.FinishReason.text != "" {
		c.stopped, c.told.Cut = true, piece.FinishReason.text == "length"
		c.filtered = c.filtered || piece.filtered()
	}
	c.refused = c.refused || piece.Delta.Refusal.text != ""
	if err := c.asked.take(piece.Delta.ToolCalls, false); err != nil {
		return err
	}
	if text := piece.Delta.Content.text; text != "" {
		c.text.WriteString(text)
		return c.say(text)
	}
	return nil
}

// completion is what came so far.
func (c *streamed) completion() Completion {
	told := c.told
	told.Text = c.text.String()
	if len(c.asked.calls) > 0 { // else those of an answer in one piece
		c.asked.tell(&told)
	}
	return told
}
