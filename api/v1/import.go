package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

type importForm struct {
	URL           string  `json:"url" required:"true" maxLength:"2048" description:"Where the file is, by https or http. It is called without a credential, and sends nobody on to another."`
	Title         string  `json:"title,omitempty" maxLength:"200"`
	Notes         *string `json:"notes,omitempty" maxLength:"1048576"`
	Participants  *string `json:"participants,omitempty" maxLength:"500"`
	MeetingDate   string  `json:"meeting_date,omitempty" maxLength:"40" description:"A date or date-time of ISO 8601."`
	Language      *string `json:"language,omitempty" maxLength:"35"`
	MinSpeakers   *int    `json:"min_speakers,omitempty" maximum:"100"`
	MaxSpeakers   *int    `json:"max_speakers,omitempty" maximum:"100"`
	Hotwords      *string `json:"hotwords,omitempty" maxLength:"10000"`
	InitialPrompt *string `json:"initial_prompt,omitempty" maxLength:"10000"`
	Model         *string `json:"transcription_model,omitempty" maxLength:"120"`
	TagIDs        []int64 `json:"tag_ids,omitempty" maxItems:"100"`
	FolderID      *int64  `json:"folder_id,omitempty"`
	HeaderKey     *string `json:"-" header:"Idempotency-Key" maxLength:"100"`
}

func importRecordingOperation() routes.Operation {
	return routes.Operation{
		Summary: "Import a recording from an address", Group: routes.GroupRecordings,
		Request: importForm{URL: "https://files.example.org/talks/budget.m4a", Title: exampleTitle},
		Notes: "The file is fetched after the answer; `import` in the recording's status tells how far it is. An import that is sent " +
			"again with its Idempotency-Key is answered 200 with `idempotent_replay`.",
		Answers:  routes.Answers{http.StatusAccepted: exampleUpload(false), http.StatusOK: exampleUpload(true)},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.IdempotencyKeyReused},
	}
}

func (a *API) importRecording(c echo.Context, p auth.Principal) error {
	var form importForm
	if err := routes.DecodeJSON(c, &form); err != nil {
		return err
	}
	key, err := routes.IdempotencyKey(c.Request())
	if err != nil {
		return err
	}
	accepted, err := a.recordings.Import(c.Request().Context(), p, recordings.ImportWish{
		Address: form.URL, Key: key, Title: form.Title, Notes: form.Notes, Participants: form.Participants, MeetingDate: form.MeetingDate,
		Hints: recordings.Hints{
			Language: form.Language, MinSpeakers: form.MinSpeakers, MaxSpeakers: form.MaxSpeakers,
			Hotwords: form.Hotwords, InitialPrompt: form.InitialPrompt, Model: form.Model,
		},
		TagIDs: form.TagIDs, FolderID: form.FolderID,
	})
	if err != nil {
		return err
	}
	if accepted.Replayed {
		return c.JSON(http.StatusOK, uploadedRecordingOf(accepted))
	}
	return c.JSON(http.StatusAccepted, uploadedRecordingOf(accepted))
}
