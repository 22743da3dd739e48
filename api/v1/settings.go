package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

type autoSummarizationBody struct {
	Enabled *bool `json:"enabled" required:"true" nullable:"false"`
}

type autoSummarizationSet struct {
	Success           bool `json:"success"`
	AutoSummarization bool `json:"auto_summarization"`
}

func setAutoSummarizationOperation() routes.Operation {
	return routes.Operation{
		Summary: "Choose whether recordings are summarized by themselves", Group: routes.GroupAccount, Request: autoSummarizationBody{},
		Answers:  routes.Answers{http.StatusOK: autoSummarizationSet{}},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) setAutoSummarization(c echo.Context, p auth.Principal) error {
	var body autoSummarizationBody
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	if err := a.accounts.SetAutoSummarization(c.Request().Context(), p.UserID(), *body.Enabled); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, autoSummarizationSet{Success: true, AutoSummarization: *body.Enabled})
}
