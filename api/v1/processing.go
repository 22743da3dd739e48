package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

type processingUpdate struct {
	SummaryPrompt  routes.Optional[string] `json:"summary_prompt" maxLength:"10000" description:"What summaries are to be where no tag, folder or request says it; null for none."`
	OutputLanguage routes.Optional[string] `json:"output_language" maxLength:"50" description:"What models write in; null for that of the transcript."`
	ExtractEvents  *bool                   `json:"extract_events" description:"Whether appointments are looked for with each summary."`
}

type processingSettings struct {
	Success        bool    `json:"success"`
	SummaryPrompt  *string `json:"summary_prompt"`
	OutputLanguage *string `json:"output_language"`
	ExtractEvents  bool    `json:"extract_events"`
}

func setProcessingOperation() routes.Operation {
	return routes.Operation{
		Summary: "Change how the account's recordings are worked on", Group: routes.GroupAccount,
		Request: processingUpdate{
			SummaryPrompt: routes.Given("Begin with what was decided."), OutputLanguage: routes.Given("English"), ExtractEvents: new(true),
		},
		Notes:    "What is left out stays. The answer, and the account's preferences, show what holds then.",
		Answers:  routes.Answers{http.StatusOK: processingSettings{true, new("Begin with what was decided."), new("English"), true}},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) setProcessing(c echo.Context, p auth.Principal) error {
	var body processingUpdate
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	user, err := a.accounts.SetProcessing(c.Request().Context(), p.UserID(), accounts.Processing{
		SummaryPrompt:  accounts.Text{Given: body.SummaryPrompt.Set, Value: body.SummaryPrompt.Pointer()},
		OutputLanguage: accounts.Text{Given: body.OutputLanguage.Set, Value: body.OutputLanguage.Pointer()},
		ExtractEvents:  body.ExtractEvents,
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, processingSettings{true, user.SummaryPrompt, user.OutputLanguage, user.ExtractEvents})
}
