package v1

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// transcriptForm is the JSON format. Raw stands in plain transcripts alone, the other optional members only where
// there is something to tell.
type transcriptForm struct {
	Format    string           `json:"format"`
	Kind      string           `json:"kind"`
	Duration  *float64         `json:"duration"`
	NextStart *float64         `json:"next_start,omitempty"`
	Segments  []segmentForm    `json:"segments"`
	Gaps      []recordings.Gap `json:"gaps,omitempty"`
}

type plainTranscriptForm struct {
	Format   string           `json:"format"`
	Kind     string           `json:"kind"`
	Segments []segmentForm    `json:"segments"`
	Raw      string           `json:"raw"`
	Gaps     []recordings.Gap `json:"gaps,omitempty"`
}

// segmentForm is one segment; text and sentence are the same words under the names of two generations of clients.
type segmentForm struct {
	Index        int      `json:"index"`
	Speaker      *string  `json:"speaker"`
	SpeakerLabel *string  `json:"speaker_label"`
	SpeakerID    *int64   `json:"speaker_id"`
	Text         string   `json:"text"`
	Sentence     string   `json:"sentence"`
	StartTime    *float64 `json:"start_time"`
	EndTime      *float64 `json:"end_time"`
}

type renderedTranscript struct {
	Format  string `json:"format"`
	Content string `json:"content"`
}

type transcriptQuery struct {
	ifNoneMatch
	Format      *string  `query:"format" enum:"json,text,srt,vtt"`
	Start       *float64 `query:"start" description:"Seconds; of JSON alone."`
	End         *float64 `query:"end" description:"Seconds; of JSON alone."`
	MaxSegments *int     `query:"max_segments" minimum:"1" description:"Of JSON alone; next_start tells where to go on."`
}

func showTranscriptOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show a transcript", Group: routes.GroupTranscript, Request: transcriptQuery{},
		Notes: "As JSON, segments with `text` and `sentence`, which are the same words; a plain transcript has `raw` instead. " +
			"As `text`, `srt` or `vtt`, one `content`; subtitles need times, without which the answer is `no_timings`.",
		Answers: routes.Answers{
			http.StatusOK:          routes.OneOf{exampleTranscript(), plainTranscriptForm{}, renderedTranscript{}},
			http.StatusNotModified: routes.Nothing{},
		},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.NoTimings},
	}
}

func (a *API) showTranscript(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	transcript, err := a.recordings.Transcript(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	query := c.QueryParams()
	format := strings.ToLower(query.Get("format"))
	var content string
	switch format {
	case "", "json":
		return answerSegments(c, id, transcript, query)
	case "text":
		content = transcript.PlainText()
	case "srt":
		content, err = transcript.SRT()
	case "vtt":
		content, err = transcript.VTT()
	default:
		err = problems.New(problems.InvalidParameter, "format must be json, text, srt or vtt.")
	}
	if err != nil {
		return err
	}
	return answerTagged(c, tagTranscript, id, transcript.UpdatedAt, renderedTranscript{format, content})
}

func answerSegments(c echo.Context, id int64, transcript recordings.Transcript, query url.Values) error {
	window, err := readWindow(query)
	if err != nil {
		return err
	}
	if transcript.Kind == recordings.Plain {
		return answerTagged(c, tagTranscript, id, transcript.UpdatedAt, plainTranscriptForm{
			Format: "json", Kind: recordings.Plain, Segments: []segmentForm{}, Raw: transcript.Raw, Gaps: transcript.Gaps,
		})
	}
	segments, next := transcript.Within(window)
	form := transcriptForm{
		Format: "json", Kind: recordings.Segmented, Duration: transcript.Duration, NextStart: next,
		Segments: make([]segmentForm, len(segments)), Gaps: transcript.Gaps,
	}
	for i, s := range segments {
		form.Segments[i] = segmentForm{
			Index: s.Index, Speaker: s.Speaker, SpeakerLabel: s.SpeakerLabel, SpeakerID: s.SpeakerID, Text: s.Text, Sentence: s.Text,
			StartTime: s.Start, EndTime: s.End,
		}
	}
	return answerTagged(c, tagTranscript, id, transcript.UpdatedAt, form)
}

func readWindow(query url.Values) (recordings.Window, error) {
	var window recordings.Window
	for _, bound := range []struct {
		name string
		to   **float64
	}{{"start", &window.Start}, {"end", &window.End}} {
		text := query.Get(bound.name)
		if text == "" {
			continue
		}
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(seconds) || math.IsInf(seconds, 0) {
			return window, problems.New(problems.InvalidParameter, "%s must be a number of seconds.", bound.name)
		}
		*bound.to = &seconds
	}
	if text := query.Get("max_segments"); text != "" {
		most, err := strconv.Atoi(text)
		if err != nil || most < 1 {
			return window, problems.New(problems.InvalidParameter, "max_segments must be a whole number of at least 1.")
		}
		window.Max = most
	}
	return window, nil
}
