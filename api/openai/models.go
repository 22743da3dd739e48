package openai

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/completions"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// model is one that clients may name. Whose it is stays the operator's matter.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created" description:"Always 0: nobody here knows."`
	OwnedBy string `json:"owned_by"`
}

type modelList struct {
	Object string  `json:"object"`
	Data   []model `json:"data"`
}

type modelPath struct {
	Model string `path:"model" json:"-" minLength:"1" maxLength:"200" description:"The name of a model."`
}

func modelOf(name string) model { return model{ID: name, Object: "model", OwnedBy: "stenometer"} }

func listModelsOperation() routes.Operation {
	return routes.Operation{
		Summary: "List the models for OpenAI clients", Group: routes.GroupOpenAI,
		Notes: "The names that `POST /v1/chat/completions` and `POST /v1/audio/transcriptions` take: `TEXT_MODEL_NAME` and " +
			"`TEXT_MODELS_ALLOWED`, and the models of the speech engine.",
		Answers: routes.Answers{http.StatusOK: modelList{"list", []model{modelOf("gpt-4o-mini"), modelOf("whisper-1")}}},
	}
}

func (a *API) listModels(c echo.Context, _ auth.Principal) error {
	list := modelList{Object: "list", Data: []model{}}
	for _, name := range a.names() {
		list.Data = append(list.Data, modelOf(name))
	}
	return c.JSON(http.StatusOK, list)
}

func showModelOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show a model for OpenAI clients", Group: routes.GroupOpenAI, Request: modelPath{},
		Answers:  routes.Answers{http.StatusOK: modelOf("gpt-4o-mini")},
		Refusals: []problems.Kind{problems.ModelNotFound},
	}
}

func (a *API) showModel(c echo.Context, _ auth.Principal) error {
	name, err := url.PathUnescape(c.Param("model")) // a name with a slash comes escaped
	if names := a.names(); err != nil || !slices.Contains(names, name) {
		return completions.UnknownModel(names)
	}
	return c.JSON(http.StatusOK, modelOf(name))
}

// names are all models, of text and of speech.
func (a *API) names() []string {
	names := a.completions.Models()
	for _, name := range a.recordings.SpeechModels() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
