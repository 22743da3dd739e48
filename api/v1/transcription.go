package v1

import (
	"cmp"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/routes"
)

type transcriptionInfo struct {
	Connector    string                    `json:"connector"`
	Capabilities transcriptionCapabilities `json:"capabilities"`
	Models       []transcriptionModel      `json:"models"`
	DefaultModel *string                   `json:"default_model"`
}

type transcriptionCapabilities struct {
	Diarization         bool `json:"diarization"`
	SpeakerCountControl bool `json:"speaker_count_control"`
	Hotwords            bool `json:"hotwords"`
	InitialPrompt       bool `json:"initial_prompt"`
	Timestamps          bool `json:"timestamps"`
	LanguageDetection   bool `json:"language_detection"`
	Chunking            bool `json:"chunking"`
}

// transcriptionModel is a model that a request may name, as an administrator listed it.
type transcriptionModel struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

func showTranscriptionOperation() routes.Operation {
	return routes.Operation{
		Summary: "Describe the speech engine in use", Group: routes.GroupServer,
		Answers: routes.Answers{http.StatusOK: exampleTranscriptionInfo()},
	}
}

func (a *API) showTranscription(c echo.Context, _ auth.Principal) error {
	can := a.engine.Capabilities
	form := transcriptionInfo{
		Connector: a.engine.Connector,
		Capabilities: transcriptionCapabilities{
			Diarization: can.Diarization, SpeakerCountControl: can.SpeakerCountControl, Hotwords: can.Hotwords,
			InitialPrompt: can.InitialPrompt, Timestamps: can.Timestamps, LanguageDetection: can.LanguageDetection,
			Chunking: can.Chunking,
		},
		Models: []transcriptionModel{},
	}
	for _, name := range a.recordings.SpeechModelsVisible() {
		form.Models = append(form.Models, transcriptionModel{name, name})
	}
	if model := cmp.Or(a.recordings.DefaultSpeechModel(), a.engine.Model); model != "" {
		form.DefaultModel = &model
	}
	return c.JSON(http.StatusOK, form)
}
