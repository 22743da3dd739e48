package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// textQuery is what a request for the notes or the summary may carry.
type textQuery struct {
	ifNoneMatch
}

type recordingNotes struct {
	Notes    *string `json:"notes"`
	HasNotes bool    `json:"has_notes"`
}

func showNotesOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show the notes of a recording", Group: routes.GroupRecordings, Request: textQuery{},
		Answers: routes.Answers{http.StatusOK: recordingNotes{new(exampleNotes), true}, http.StatusNotModified: routes.Nothing{}},
	}
}

func (a *API) showNotes(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	r, err := a.recordings.Show(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	return answerTagged(c, tagNotes, id, r.UpdatedAt, recordingNotes{r.Notes, r.Notes != nil && *r.Notes != ""})
}

type notesUpdate struct {
	onlyIfMatch
	Notes routes.Optional[string] `json:"notes" description:"At most 1,048,576 bytes of UTF-8; null takes the notes away. It must be given."`
}

type notesUpdateResult struct {
	Success bool    `json:"success"`
	Notes   *string `json:"notes"`
}

func replaceNotesOperation() routes.Operation {
	return routes.Operation{
		Summary: "Replace the notes of a recording", Group: routes.GroupRecordings, Request: notesUpdate{Notes: routes.Given(exampleNotes)},
		Answers:  routes.Answers{http.StatusOK: notesUpdateResult{true, new(exampleNotes)}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.PreconditionFailed},
	}
}

func (a *API) replaceNotes(c echo.Context, p auth.Principal) error {
	var body notesUpdate
	r, err := a.replaceText(c, p, "notes", &body, func() (routes.Optional[string], recordings.Patch) {
		return body.Notes, recordings.Patch{Notes: edit(body.Notes)}
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, notesUpdateResult{true, r.Notes})
}

type recordingSummary struct {
	Summary    *string `json:"summary"`
	HasSummary bool    `json:"has_summary"`
	approvalForm
}

func showSummaryOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show the summary of a recording", Group: routes.GroupRecordings, Request: textQuery{},
		Answers: routes.Answers{http.StatusOK: recordingSummary{new(exampleSummary), true, exampleApproval()}, http.StatusNotModified: routes.Nothing{}},
	}
}

func (a *API) showSummary(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	r, err := a.recordings.Show(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	return answerTagged(c, tagSummary, id, r.UpdatedAt, recordingSummary{r.Summary, r.Summary != nil && *r.Summary != "", approvalFormOf(r)})
}

type summaryUpdate struct {
	onlyIfMatch
	Summary routes.Optional[string] `json:"summary" description:"At most 1,048,576 bytes of UTF-8; null takes the summary away. It must be given."`
}

type summaryUpdateResult struct {
	Success bool    `json:"success"`
	Summary *string `json:"summary"`
}

func replaceSummaryOperation() routes.Operation {
	return routes.Operation{
		Summary: "Replace the summary of a recording", Group: routes.GroupRecordings, Request: summaryUpdate{Summary: routes.Given(exampleSummary)},
		Answers:  routes.Answers{http.StatusOK: summaryUpdateResult{true, new(exampleSummary)}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.PreconditionFailed, problems.InsufficientPermission},
	}
}

func (a *API) replaceSummary(c echo.Context, p auth.Principal) error {
	var body summaryUpdate
	r, err := a.replaceText(c, p, "summary", &body, func() (routes.Optional[string], recordings.Patch) {
		return body.Summary, recordings.Patch{Summary: edit(body.Summary)}
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, summaryUpdateResult{true, r.Summary})
}

// replaceText decodes the body and makes the change that read finds in it; the text must be there, if only as null.
func (a *API) replaceText(
	c echo.Context, p auth.Principal, name string, body any, read func() (routes.Optional[string], recordings.Patch),
) (recordings.Recording, error) {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return recordings.Recording{}, err
	}
	if err := routes.DecodeJSON(c, body); err != nil {
		return recordings.Recording{}, err
	}
	sent, patch := read()
	if !sent.Set {
		return recordings.Recording{}, problems.New(problems.InvalidParameter, "%s must be given.", name)
	}
	match, err := ifMatch(c, id)
	if err != nil {
		return recordings.Recording{}, err
	}
	return a.recordings.Patch(c.Request().Context(), p, id, match, patch) //nolint:wrapcheck // the story's error is the answer
}
