package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

type autoSummarizationUpdate struct {
	Enabled *bool `json:"enabled" required:"true" nullable:"false"`
}

type autoSummarizationUpdateResult struct {
	Success           bool `json:"success"`
	AutoSummarization bool `json:"auto_summarization"`
}

func setAutoSummarizationOperation() routes.Operation {
	return routes.Operation{
		Summary: "Turn automatic summaries on or off", Group: routes.GroupAccount, Request: autoSummarizationUpdate{Enabled: new(true)},
		Notes:    "Unless it is turned off, a recording is summarized as soon as it has its transcript; until then its status is `SUMMARIZING`.",
		Answers:  routes.Answers{http.StatusOK: autoSummarizationUpdateResult{true, true}},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) setAutoSummarization(c echo.Context, p auth.Principal) error {
	var body autoSummarizationUpdate
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	if err := a.accounts.SetAutoSummarization(c.Request().Context(), p.UserID(), *body.Enabled); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, autoSummarizationUpdateResult{Success: true, AutoSummarization: *body.Enabled})
}
