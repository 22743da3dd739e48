package v1

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/streams"
)

type inquireRequest struct {
	Question *string         `json:"question" description:"It must be given and not be blank."`
	Mode     *string         `json:"mode" enum:"rag,agent,auto" description:"rag answers from excerpts that are found by the words of the question; agent lets the model look things up, in several calls; auto, by itself, is agent where the server has it."`
	Scope    *string         `json:"scope" enum:"own,shared,all" description:"own by itself. Nothing is shared with an account so far."`
	Filters  *inquireFilters `json:"filters"`
	Stream   any             `json:"stream" description:"true asks for the answer while it is written, as server-sent events; a number that is not 0 and a word that is not one for no do as well."`
	History  []chatTurn      `json:"history" nullable:"true" description:"At most 200 turns, the oldest first: the server keeps no conversation."`
}

type inquireFilters struct {
	RecordingIDs []any    `json:"recording_ids" nullable:"true" maxItems:"1000" description:"Only these recordings; what is no number is passed over. An empty list is all."`
	TagIDs       []int64  `json:"tag_ids" nullable:"true" maxItems:"100" description:"Only recordings that have one of these tags."`
	Speakers     []string `json:"speakers" nullable:"true" maxItems:"100" eachMaxLength:"200" description:"Only what one of these people says, named in full and in any case."`
	DateFrom     *string  `json:"date_from" description:"A date or date-time of ISO 8601, for the date of the meeting or else of the upload."`
	DateTo       *string  `json:"date_to" description:"A date, whose whole day counts, or a date-time of ISO 8601."`
}

type inquireCitation struct {
	N           int      `json:"n"`
	RecordingID int64    `json:"recording_id"`
	Title       *string  `json:"title"`
	StartTime   *float64 `json:"start_time"`
	Quote       *string  `json:"quote" description:"Always null."`
	URL         string   `json:"url" example:"/recordings/42?t=61"`
}

type inquireReply struct {
	Answer    *string           `json:"answer"`
	Citations []inquireCitation `json:"citations"`
	ModeUsed  string            `json:"mode_used" enum:"rag,agent"`
	Steps     int               `json:"steps" description:"How many things the model looked up."`
	Usage     json.RawMessage   `json:"usage" description:"Always null."`
}

func inquireOperation() routes.Operation {
	return routes.Operation{
		Summary: "Ask a question about many recordings", Group: routes.GroupProcessing, Request: exampleInquireRequest(),
		Notes: "The request waits for the model, which is given excerpts of the caller's own recordings, or looks things up in them, as far as " +
			"`filters` reach. In `answer` a number, `[1]`, stands for a moment that `citations` has. Where there is nothing to search no model is " +
			"asked, and the answer says so. For a token without the scope `read` no model is asked, and `answer` is null. " +
			"`mode_used` is `rag` also where the model's look-ups failed and excerpts were found for it. " +
			"Question and history together have a bound, `AI_MAX_INPUT_CHARS`, beyond which the answer is 413. " +
			"With `stream` the answer is `text/event-stream`: `{\"delta\": \"…\"}` is a piece of the text, whose links stay as they are; `status`, " +
			"`context_usage`, `thinking`, `agent_step`, `agent_summary`, `context_compacted` and `conversation_memory` tell what goes on, and clients pass over " +
			"what they do not know; then comes `{\"end_of_stream\": true}`. A failure before the first byte is an ordinary refusal; afterwards it is the " +
			"last event, `{\"error\": \"…\", \"code\": \"…\"}`, and no end follows. Lines that begin with a colon are heartbeats. " +
			"A stream cannot be kept: with `Idempotency-Key` it is 400.",
		Answers:  routes.Answers{http.StatusOK: exampleInquireReply()},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.FeatureDisabled, problems.InquireFailed},
	}
}

func (a *API) inquire(c echo.Context, p auth.Principal, purse budgets.Purse, opener streams.Opener) error {
	if err := a.recordings.MayInquire(); err != nil {
		return err
	}
	var body inquireRequest
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	asked := body.inquiry()
	stream, err := truthy("stream", body.Stream)
	if err != nil {
		return err
	}
	if stream {
		return a.recordings.InquireStream(c.Request().Context(), p, purse, opener, asked, inquireFrames())
	}
	found, err := a.recordings.Inquire(c.Request().Context(), p, purse, asked)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, inquireReplyOf(found))
}

func (r inquireRequest) inquiry() recordings.Inquiry {
	asked := recordings.Inquiry{Question: given(r.Question), Mode: given(r.Mode), Scope: given(r.Scope), History: turnsOf(r.History)}
	if f := r.Filters; f != nil {
		asked.Filters = recordings.Filters{TagIDs: f.TagIDs, Speakers: f.Speakers, From: given(f.DateFrom), Until: given(f.DateTo)}
		asked.Filters.RecordingIDs = looseIDs(f.RecordingIDs)
	}
	return asked
}

// looseIDs passes over what is no id. A list that has none is one of nothing, an empty list none at all.
func looseIDs(list []any) []int64 {
	if len(list) == 0 {
		return nil
	}
	ids := []int64{}
	for _, member := range list {
		switch member := member.(type) {
		case float64:
			if id := int64(member); float64(id) == member {
				ids = append(ids, id)
			}
		case string:
			if id, err := strconv.ParseInt(member, 10, 64); err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// truthy reads a switch that clients set in their own ways: what is empty, 0, null or a word for no is off.
func truthy(name string, value any) (bool, error) {
	switch value := value.(type) {
	case nil:
		return false, nil
	case bool:
		return value, nil
	case float64:
		return value != 0, nil
	case string:
		return !slices.Contains([]string{"", "false", "0", "no", "off", "null", "none"}, strings.ToLower(value)), nil
	}
	return false, problems.New(problems.InvalidParameter, "%s must be true or false.", name).With("field", name)
}

func inquireReplyOf(found recordings.Findings) inquireReply {
	reply := inquireReply{Answer: found.Answer, Citations: []inquireCitation{}, ModeUsed: found.Mode, Steps: found.Steps}
	for _, cited := range found.Citations {
		reply.Citations = append(reply.Citations, inquireCitation{
			N: cited.N, RecordingID: cited.RecordingID, Title: cited.Title, StartTime: cited.Start, URL: cited.URL,
		})
	}
	return reply
}

func given[T any](value *T) (v T) {
	if value != nil {
		v = *value
	}
	return v
}
