// Package v1 is the JSON API. routes.go is its table; each file beside it is one noun or verb: it reads a request,
// calls one story, and writes the answer in the contract's form. No rule of the product is here.
package v1

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/speech"
)

// Accounts finds the account that asks.
type Accounts interface {
	Find(ctx context.Context, id int64) (accounts.User, error)
}

// Standing tells how the limits of a request's caller stand.
type Standing interface {
	Standing(c echo.Context) ([]limits.State, error)
}

// Options is what the API needs; all of it is required.
type Options struct {
	Recordings *recordings.Recordings
	Accounts   Accounts
	Limits     Standing
	// Engine describes the speech engine in use.
	Engine speech.Description
	// Version is that of this server.
	Version string
	Now     func() time.Time
}

// API has the handlers.
type API struct {
	recordings *recordings.Recordings
	accounts   Accounts
	limits     Standing
	engine     speech.Description
	version    string
	now        func() time.Time
}

// New makes the API.
func New(o Options) *API {
	return &API{
		recordings: o.Recordings, accounts: o.Accounts, limits: o.Limits, engine: o.Engine,
		version: o.Version, now: o.Now,
	}
}

// Declare adds the rows.
func (a *API) Declare(t *routes.Table) {
	t.Upload("POST", "/api/v1/recordings/upload", auth.Upload, routes.MaxUpload, a.uploadRecording, uploadRecordingOperation())
	t.Token("GET", "/api/v1/recordings", auth.Read, a.listRecordings, listRecordingsOperation())
	t.Token("GET", "/api/v1/recordings/:recording", auth.Read, a.showRecording, showRecordingOperation())
	t.Token("DELETE", "/api/v1/recordings/:recording", auth.Delete, a.deleteRecording, deleteRecordingOperation())
	t.Token("GET", "/api/v1/recordings/:recording/status", auth.Read, a.showStatus, showStatusOperation(), routes.InPlaceOfRead(limits.Status))
	t.Token("GET", "/api/v1/recordings/:recording/transcript", auth.Read, a.showTranscript, showTranscriptOperation())
	t.Token("GET", "/api/v1/recordings/:recording/audio", auth.Read, a.sendAudio, sendAudioOperation(), routes.LongAnswer())
	t.Token("POST", "/api/v1/recordings/:recording/transcribe", auth.Process, a.transcribeRecording, transcribeRecordingOperation())

	t.Token("GET", "/api/v1/capabilities", auth.AnyToken, a.showCapabilities, showCapabilitiesOperation())
	t.Token("GET", "/api/v1/limits", auth.AnyToken, a.showLimits, showLimitsOperation())
	t.Token("GET", "/api/v1/transcription", auth.Read, a.showTranscription, showTranscriptionOperation())
	t.Token("GET", "/api/v1/users/me", auth.Read, a.showUser, showUserOperation())
}
