package admin

import (
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// memberBudget is what is stored for an account; null bounds nothing beyond the organization's budget.
type memberBudget struct {
	UserID               int64    `json:"user_id"`
	MonthlyUSD           *float64 `json:"monthly_usd"`
	Tokens               *int64   `json:"monthly_tokens"`
	TranscriptionSeconds *int64   `json:"monthly_transcription_seconds"`
	Currency             string   `json:"currency"`
}

type memberBudgetUpdate struct {
	MonthlyUSD           routes.Optional[float64] `json:"monthly_usd" minimum:"0" maximum:"1000000000" description:"US dollars, rounded to the micro-dollar; null bounds nothing."`
	Tokens               routes.Optional[int64]   `json:"monthly_tokens" minimum:"0" maximum:"1000000000000" description:"Tokens of text models; null bounds nothing."`
	TranscriptionSeconds routes.Optional[int64]   `json:"monthly_transcription_seconds" minimum:"0" maximum:"10000000000" description:"Seconds of audio; null bounds nothing."`
}

func exampleMemberBudget() memberBudget {
	return memberBudget{7, new(5.0), new(int64(200_000)), nil, "USD"}
}

func showUserBudgetOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show an account's budget", Group: routes.GroupAdministration, Answers: routes.Answers{http.StatusOK: exampleMemberBudget()},
	}
}

func (a *API) showUserBudget(c echo.Context, p auth.Principal) error {
	user, err := a.user(c, p)
	if err != nil {
		return err
	}
	stored, err := a.Budgets.Stored(c.Request().Context(), budgets.Subject{UserID: user.ID})
	if err != nil {
		return err
	}
	return answerUserBudget(c, user.ID, stored)
}

func setUserBudgetOperation() routes.Operation {
	return routes.Operation{
		Summary: "Set an account's budget", Group: routes.GroupAdministration,
		Request: memberBudgetUpdate{MonthlyUSD: routes.Given(5.0), Tokens: routes.Given(int64(200_000))},
		Notes:   "What is absent stays. It holds from the next call on, besides the organization's budget. The answer is what is stored.",
		Answers: routes.Answers{http.StatusOK: exampleMemberBudget()}, Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) setUserBudget(c echo.Context, p auth.Principal) error {
	user, err := a.changedUser(c, p)
	if err != nil {
		return err
	}
	var body memberBudgetUpdate
	if err := routes.DecodeStrictJSON(c, &body); err != nil {
		return err
	}
	var changes []budgets.Change
	if body.MonthlyUSD.Set {
		changes = append(changes, budgets.SetMicros(microsOf(body.MonthlyUSD.Pointer())))
	}
	if body.Tokens.Set {
		changes = append(changes, budgets.SetTokens(body.Tokens.Pointer()))
	}
	if body.TranscriptionSeconds.Set {
		changes = append(changes, budgets.SetSeconds(body.TranscriptionSeconds.Pointer()))
	}
	if len(changes) == 0 {
		return problems.New(problems.InvalidParameter, "Give monthly_usd, monthly_tokens or monthly_transcription_seconds: a number, or null for none.")
	}
	stored, err := a.Budgets.Set(c.Request().Context(), budgets.Subject{UserID: user.ID}, changes...)
	if err != nil {
		return err
	}
	return answerUserBudget(c, user.ID, stored)
}

func answerUserBudget(c echo.Context, user int64, stored budgets.Stored) error {
	return c.JSON(http.StatusOK, memberBudget{user, budgets.DollarsOrNone(stored.Micros), stored.Tokens, stored.Seconds, "USD"})
}

// microsOf rounds dollars to micro-dollars.
func microsOf(dollars *float64) *int64 {
	if dollars == nil {
		return nil
	}
	return new(int64(math.Round(*dollars * 1e6)))
}
