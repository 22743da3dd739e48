// Package openai speaks OpenAI's wire, so that any client of it works against this server by its address alone. It reads
// a request, calls one story, and writes the answer in that form. No rule of the product is here.
package openai

import (
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/completions"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// Options is what the API needs; all of it is required.
type Options struct {
	Completions *completions.Completions
	Recordings  *recordings.Recordings
	Now         func() time.Time
}

// API has the handlers.
type API struct {
	completions *completions.Completions
	recordings  *recordings.Recordings
	now         func() time.Time
}

// New makes the API.
func New(o Options) *API {
	return &API{completions: o.Completions, recordings: o.Recordings, now: o.Now}
}

// Declare adds the rows.
func (a *API) Declare(t *routes.Table) {
	t.Token("GET", "/v1/models", auth.AnyToken, a.listModels, listModelsOperation())
	t.Token("GET", "/v1/models/:model", auth.AnyToken, a.showModel, showModelOperation())
	t.Answer("POST", "/v1/chat/completions", auth.Process, budgets.Text, a.complete, completeOperation())
	t.Hearing("POST", "/v1/audio/transcriptions", auth.Process, routes.MaxUpload, budgets.Transcription, a.transcribe, transcribeOperation())
}
