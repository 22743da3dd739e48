package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm/citations"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/streams"
)

type chatTurn struct {
	Role    string `json:"role" description:"user or assistant."`
	Content string `json:"content"`
}

type chatRequest struct {
	Message             *string    `json:"message" description:"The question. It must be given, after the recording was found to have a transcript."`
	ConversationHistory []chatTurn `json:"conversation_history" nullable:"true" description:"At most 200 turns, the oldest first: the server keeps no conversation."`
	WithSources         *bool      `json:"with_sources" description:"Asks where in the transcript the answer stands."`
	Stream              *bool      `json:"stream" description:"Asks for the answer while it is written, as server-sent events."`
}

type chatSource struct {
	N            int      `json:"n"`
	SegmentIndex *int     `json:"segment_index"`
	StartTime    *float64 `json:"start_time"`
	EndTime      *float64 `json:"end_time"`
	Speaker      *string  `json:"speaker"`
	Quote        *string  `json:"quote"`
	Verified     bool     `json:"verified"`
}

type chatReply struct {
	Response *string      `json:"response"`
	Sources  []chatSource `json:"sources"`
	LeftOut  *string      `json:"left_out" description:"What of a long transcript no model has seen; null for nothing. The response ends with it too."`
}

// chatDelta and chatSources are the events of a streamed answer.
type chatDelta struct {
	Delta string `json:"delta"`
}

type chatSources struct {
	Sources []chatSource `json:"sources"`
}

func chatOperation() routes.Operation {
	return routes.Operation{
		Summary: "Ask a question about a recording", Group: routes.GroupProcessing, Request: exampleChatRequest(),
		Notes: "The request waits for the model, which is given the transcript and the caller's notes. With `with_sources` the response has numbers, " +
			"`[1]`, and `sources` has what each stands for; `verified` is true where the segment holds the quote. A plain transcript has no sources. " +
			"Message and history together have a bound, `AI_MAX_INPUT_CHARS`, beyond which the answer is 413. " +
			"For a token without the scope `read` no model is asked, and `response` is null. " +
			"With `stream` the answer is `text/event-stream`: events `{\"delta\": \"…\"}`, which joined are the response; with `with_sources` then one " +
			"`{\"sources\": […]}`; then `{\"end_of_stream\": true}`. A failure before the first byte is an ordinary refusal; afterwards it is the last " +
			"event, `{\"error\": \"…\", \"code\": \"…\"}`, and no end follows. Lines that begin with a colon are heartbeats. " +
			"A stream cannot be kept: with `Idempotency-Key` it is 400.",
		Answers:  routes.Answers{http.StatusOK: exampleChatReply()},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.InvalidState},
	}
}

func (a *API) chat(c echo.Context, p auth.Principal, purse budgets.Purse, opener streams.Opener) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	var body chatRequest
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	asked := recordings.Question{Message: given(body.Message), Sources: given(body.WithSources), History: turnsOf(body.ConversationHistory)}
	if given(body.Stream) {
		return a.recordings.ChatStream(c.Request().Context(), p, purse, opener, id, asked, recordings.ChatFrames{
			Delta:   func(text string) any { return chatDelta{text} },
			Sources: func(sources []citations.Source) any { return chatSources{chatSourcesOf(sources)} },
		})
	}
	reply, err := a.recordings.Chat(c.Request().Context(), p, purse, id, asked)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, chatReply{reply.Response, chatSourcesOf(reply.Sources), reply.LeftOut})
}

func turnsOf(history []chatTurn) []recordings.Turn {
	turns := make([]recordings.Turn, len(history))
	for i, turn := range history {
		turns[i] = recordings.Turn{Role: turn.Role, Content: turn.Content}
	}
	return turns
}

func chatSourcesOf(sources []citations.Source) []chatSource {
	forms := make([]chatSource, len(sources))
	for i, s := range sources {
		forms[i] = chatSource{s.N, s.SegmentIndex, s.Start, s.End, s.Speaker, s.Quote, s.Verified}
	}
	return forms
}
