package v1

import (
	"mime/multipart"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// recorderForm names the parts of a phone recorder's form; recordings reads them as they come.
type recorderForm struct {
	Secret   string         `formData:"secret" required:"true" maxLength:"512" description:"A token that is full or has the scope upload. Before the file nothing is stored of a file whose sender is not let in."`
	File     multipart.File `formData:"file" description:"Audio or video, found by its content. Without it, and without any other field, the request is a test of the connection."`
	FileName *string        `formData:"file_name" description:"In place of the file's own name; 180 characters of its last part count."`
	Date     *string        `formData:"date" description:"Seconds or milliseconds since 1970; what is neither is ignored."`
	Duration *string        `formData:"duration" description:"Taken and not used: the length is measured."`
	Note     *string        `formData:"note" description:"Kept as the notes of the recording."`
}

// recorderTest is the answer to a good secret alone.
type recorderTest struct {
	Status         string `json:"status"`
	ConnectionTest bool   `json:"connection_test"`
}

// recordedRecording is the answer to a recorder: that of an upload, which says each time whether it is a replay.
type recordedRecording struct {
	uploadedRecording
	IdempotentReplay bool `json:"idempotent_replay"`
}

func recordedRecordingOf(recorded recordings.Recorded) recordedRecording {
	form := recordedRecording{uploadedRecordingOf(recorded.Uploaded), recorded.Replayed}
	form.Ignored = nil // a recorder asks for no tags and no folder
	return form
}

func recordOperation() routes.Operation {
	example := recordedRecording{exampleUpload(false), false}
	example.Ignored = nil
	return routes.Operation{
		Summary: "Upload from a phone recorder", Group: routes.GroupRecordings, Request: recorderForm{},
		Notes: "For recorders that keep a token in a field of their form. The same file with the same name, note and date is one " +
			"recording however often it is sent. Before a byte is read the address is charged for what is declared.",
		Answers:  routes.Answers{http.StatusOK: routes.OneOf{example, recorderTest{"ok", true}}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.InvalidMedia, problems.StorageFull, problems.StorageUnavailable},
	}
}

func (a *API) record(c echo.Context, late auth.Late) error {
	boundary, err := routes.FormBoundary(c.Request())
	if err != nil {
		return err
	}
	recorded, err := a.recordings.Record(c.Request().Context(), c.Request().Body, boundary, late.Admit)
	if err != nil {
		return err
	}
	if recorded.Test {
		return c.JSON(http.StatusOK, recorderTest{"ok", true})
	}
	return c.JSON(http.StatusOK, recordedRecordingOf(recorded))
}
