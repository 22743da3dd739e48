package openai

import (
	"io"
	"mime/multipart"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// hearingForm names the parts of the form; recordings reads them as they come, so that the file is never held.
type hearingForm struct {
	File           multipart.File `formData:"file" required:"true" description:"Audio or video, found by its content."`
	Model          string         `formData:"model" required:"true" maxLength:"120" description:"One of GET /v1/models."`
	Language       *string        `formData:"language" maxLength:"35"`
	Prompt         *string        `formData:"prompt" maxLength:"10000"`
	ResponseFormat *string        `formData:"response_format" enum:"json,text,srt,vtt,verbose_json"`
	Temperature    *string        `formData:"temperature" description:"A number from 0 to 1, which engines here have no use for."`
	Granularities  *string        `formData:"timestamp_granularities[]" enum:"segment"`
}

type transcription struct {
	Text string             `json:"text"`
	Gaps []transcriptionGap `json:"gaps,omitempty" description:"Stretches that could not be transcribed although the rest was."`
}

type verbose struct {
	Task     string                 `json:"task"`
	Language string                 `json:"language" description:"A code; empty where the engine told none."`
	Duration float64                `json:"duration" description:"Of the decoded sound, in seconds."`
	Text     string                 `json:"text"`
	Segments []transcriptionSegment `json:"segments" description:"None where the engine gave text alone."`
	Gaps     []transcriptionGap     `json:"gaps,omitempty"`
}

type transcriptionSegment struct {
	ID      int      `json:"id"`
	Start   *float64 `json:"start"`
	End     *float64 `json:"end"`
	Text    string   `json:"text"`
	Speaker *string  `json:"speaker,omitempty"`
}

type transcriptionGap struct {
	Start  float64 `json:"start"`
	End    float64 `json:"end"`
	Reason string  `json:"reason"`
}

func transcribeOperation() routes.Operation {
	return routes.Operation{
		Summary: "Transcribe a file at once", Group: routes.GroupOpenAI, Request: hearingForm{},
		Notes: "OpenAI's `audio/transcriptions`: the answer is what is said, and nothing of the file is kept. A recording may be " +
			"`SYNC_AUDIO_MAX_SECONDS` long, measured by decoding, beyond which the answer is 413: upload a longer one instead. `text`, `srt` and " +
			"`vtt` are plain text.",
		Answers: routes.Answers{http.StatusOK: routes.OneOf{exampleTranscription(), exampleVerbose(), routes.File{Types: []string{echo.MIMETextPlain}}}},
		Refusals: []problems.Kind{
			problems.InvalidParameter, problems.InvalidMedia, problems.NoTimings, problems.ModelNotFound, problems.FeatureDisabled,
			problems.StorageFull, problems.StorageUnavailable, problems.Timeout,
		},
	}
}

func (a *API) transcribe(c echo.Context, p auth.Principal, purse budgets.Purse, body io.Reader) error {
	boundary, err := routes.FormBoundary(c.Request())
	if err != nil {
		return err
	}
	heard, err := a.recordings.Hear(c.Request().Context(), p, purse, body, boundary)
	if err != nil {
		return err
	}
	return send(c, heard)
}

// send answers in the form that was asked for.
func send(c echo.Context, heard recordings.Heard) error {
	text, err := heard.Text, error(nil)
	switch heard.Format {
	case "json":
		return c.JSON(http.StatusOK, transcription{heard.Text, gapsOf(heard)})
	case "verbose_json":
		return c.JSON(http.StatusOK, verboseOf(heard))
	case "srt":
		text, err = heard.SRT()
	case "vtt":
		text, err = heard.VTT()
	}
	if err != nil {
		return err
	}
	return c.String(http.StatusOK, text)
}

func verboseOf(heard recordings.Heard) verbose {
	form := verbose{Task: "transcribe", Duration: heard.Length.Seconds(), Text: heard.Text, Segments: []transcriptionSegment{}, Gaps: gapsOf(heard)}
	if heard.Language != nil {
		form.Language = *heard.Language
	}
	for _, s := range heard.Segments {
		form.Segments = append(form.Segments, transcriptionSegment{s.Index, s.Start, s.End, s.Text, s.Speaker})
	}
	return form
}

func gapsOf(heard recordings.Heard) []transcriptionGap {
	gaps := make([]transcriptionGap, len(heard.Gaps))
	for i, g := range heard.Gaps {
		gaps[i] = transcriptionGap{g.Start, g.End, g.Reason}
	}
	return gaps
}
