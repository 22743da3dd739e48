package v1

import (
	"io"
	"mime/multipart"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// uploadForm names the parts of the form; recordings reads them as they come, so that the file is never held.
type uploadForm struct {
	File             multipart.File `formData:"file" required:"true" description:"Audio or video, found by its content."`
	Title            *string        `formData:"title" maxLength:"200"`
	Notes            *string        `formData:"notes"`
	Participants     *string        `formData:"participants" maxLength:"500"`
	MeetingDate      *string        `formData:"meeting_date" description:"A date or date-time of ISO 8601."`
	FileLastModified *string        `formData:"file_last_modified" description:"Milliseconds since 1970, where there is no meeting_date."`
	Language         *string        `formData:"language" maxLength:"35"`
	MinSpeakers      *string        `formData:"min_speakers"`
	MaxSpeakers      *string        `formData:"max_speakers"`
	Hotwords         *string        `formData:"hotwords" maxLength:"10000"`
	InitialPrompt    *string        `formData:"initial_prompt" maxLength:"10000"`
	Model            *string        `formData:"transcription_model" maxLength:"120"`
	TagID            *string        `formData:"tag_id" description:"Or tag_ids[0], tag_ids[1] and so on, at most 100, without a gap; tag_id counts when none of those exists."`
	FolderID         *string        `formData:"folder_id"`
	PromptVariables  *string        `formData:"prompt_variables" description:"A JSON object of texts that fill prompts, at most 50 of 2,000 characters; what is none is ignored."`
	ExternalRefs     *string        `formData:"external_refs" description:"A JSON array of references: objects with system, kind, ref and, if need be, url and label; at most 50."`
	Key              *string        `formData:"idempotency_key" maxLength:"100" description:"Or the header Idempotency-Key."`
	HeaderKey        *string        `header:"Idempotency-Key" maxLength:"100"`
	Strict           *string        `formData:"strict" description:"true refuses tags and folders that there are not, instead of reporting them in ignored."`
}

func uploadRecordingOperation() routes.Operation {
	return routes.Operation{
		Summary: "Upload a recording", Group: routes.GroupRecordings, Request: uploadForm{},
		Notes: "The recording is stored before the answer and transcribed after it. An upload that is sent again with its " +
			"idempotency key, in the header or the form, is answered 200 with `idempotent_replay` once the bytes agree.",
		Answers: routes.Answers{http.StatusAccepted: exampleUpload(false), http.StatusOK: exampleUpload(true)},
		Refusals: []problems.Kind{
			problems.InvalidParameter, problems.InvalidMedia, problems.Conflict, problems.IdempotencyKeyReused,
			problems.StorageFull, problems.StorageUnavailable,
		},
	}
}

func (a *API) uploadRecording(c echo.Context, p auth.Principal, body io.Reader) error {
	boundary, err := routes.FormBoundary(c.Request())
	if err != nil {
		return err
	}
	key, err := routes.IdempotencyKey(c.Request())
	if err != nil {
		return err
	}
	accepted, err := a.recordings.Upload(c.Request().Context(), p, body, boundary, key)
	if err != nil {
		return err
	}
	if accepted.Replayed {
		return c.JSON(http.StatusOK, uploadedRecordingOf(accepted))
	}
	return c.JSON(http.StatusAccepted, uploadedRecordingOf(accepted))
}
