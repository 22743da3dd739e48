package v1

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

const summaryQueued = "The summary was queued."

// appendMode says what a custom prompt is to those that stand already; every other word is replace, as the contract
// has it.
const appendMode = "append"

type summaryRequest struct {
	CustomPrompt    *string           `json:"custom_prompt" maxLength:"10000" description:"What the summary is to be, in place of what the tags, the folder or the account say."`
	PromptMode      *string           `json:"prompt_mode" description:"append puts custom_prompt behind those; every other word replaces them."`
	PromptVariables map[string]string `json:"prompt_variables" nullable:"true" description:"At most 50 texts of 2,000 characters, which fill {{name}} in prompts, before the recording's own."`
}

func summarizeRecordingOperation() routes.Operation {
	return routes.Operation{
		Summary: "Summarize a recording again", Group: routes.GroupProcessing,
		Request: summaryRequest{
			CustomPrompt: new("List what was decided, and by whom, for {{customer}}."), PromptVariables: map[string]string{"customer": "Analytical Engines"},
		},
		Notes: "The present summary and events are dropped at once, and the status is `SUMMARIZING` until the new ones are there; without " +
			"a transcript of 10 characters or more, or while the recording is being processed, nothing changes and the answer is 400; nothing " +
			"changes of a summary that is approved, and the answer is 409. " +
			"A transcript that is longer than the server gives to a model is worked through in parts; what is beyond is left out, and the " +
			"summary ends by saying so. Every member of the body, and the body itself, may be left out.",
		Answers:  routes.Answers{http.StatusOK: queuedTranscription{true, 119, recordings.StatusQueued, summaryQueued}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.InvalidState, problems.Conflict, problems.ModelUnavailable, problems.InsufficientPermission},
	}
}

func (a *API) summarizeRecording(c echo.Context, p auth.Principal, purse budgets.Purse) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	var body summaryRequest
	if err := routes.DecodeOptionalJSON(c, &body); err != nil {
		return err
	}
	told := recordings.Instructions{Variables: body.PromptVariables}
	// A blank prompt says nothing, as it does on tags and folders.
	if body.CustomPrompt != nil && strings.TrimSpace(*body.CustomPrompt) != "" {
		told.Prompt = body.CustomPrompt
	}
	told.Append = body.PromptMode != nil && *body.PromptMode == appendMode
	job, err := a.recordings.Summarize(c.Request().Context(), p, purse, id, told)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, queuedTranscription{true, job, recordings.StatusQueued, summaryQueued})
}

type regeneratedTitle struct {
	Success   bool              `json:"success"`
	Title     *string           `json:"title"`
	Recording uploadedRecording `json:"recording"`
}

func regenerateTitleOperation() routes.Operation {
	return routes.Operation{
		Summary: "Have a model name a recording", Group: routes.GroupProcessing,
		Notes: "The request waits for the model. The title replaces the present one, whoever gave that. " +
			"The recording stands as an upload's answer shows it, with its transcript and events.",
		Answers:  routes.Answers{http.StatusOK: exampleRegeneratedTitle()},
		Refusals: []problems.Kind{problems.InvalidState, problems.InsufficientPermission},
	}
}

func (a *API) regenerateTitle(c echo.Context, p auth.Principal, purse budgets.Purse) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	if err := routes.IgnoreBody(c); err != nil {
		return err
	}
	titled, err := a.recordings.RegenerateTitle(c.Request().Context(), p, purse, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, regeneratedTitleOf(titled))
}

func regeneratedTitleOf(titled recordings.Titled) regeneratedTitle {
	form := uploadedRecordingOf(titled.Uploaded)
	form.Ignored, form.IdempotentReplay = nil, false
	form.Transcription, form.Events = titled.Transcription, eventsOf(titled.Events)
	return regeneratedTitle{Success: true, Title: form.Title, Recording: form}
}

type identifiedSpeakers struct {
	Success    bool              `json:"success"`
	SpeakerMap map[string]string `json:"speaker_map" nullable:"true"`
	LeftOut    *string           `json:"left_out" description:"What of a long transcript no model has seen; null for nothing."`
}

func identifySpeakersOperation() routes.Operation {
	return routes.Operation{
		Summary: "Have a model suggest who the speakers are", Group: routes.GroupProcessing,
		Notes: "The request waits for the model. The keys are the speakers' labels, the values names, or `\"\"` where the transcript does not " +
			"tell. They are suggestions: nothing is stored until speakers are assigned. For a token without the scope `read` no model is asked, " +
			"and `speaker_map` is null.",
		Answers:  routes.Answers{http.StatusOK: identifiedSpeakers{true, map[string]string{"SPEAKER_00": "Ada Lovelace", "SPEAKER_01": ""}, nil}},
		Refusals: []problems.Kind{problems.InvalidState},
	}
}

func (a *API) identifySpeakers(c echo.Context, p auth.Principal, purse budgets.Purse) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	if err := routes.IgnoreBody(c); err != nil {
		return err
	}
	found, err := a.recordings.IdentifySpeakers(c.Request().Context(), p, purse, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, identifiedSpeakers{true, found.Names, found.LeftOut})
}
