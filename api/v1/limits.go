package v1

import (
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
)

// limitForm is how one limit stands. The two times are null when nothing is counted.
type limitForm struct {
	Name          string `json:"name"`
	Scope         string `json:"scope"`
	Limit         int64  `json:"limit"`
	WindowSeconds int64  `json:"window_seconds"`
	Remaining     int64  `json:"remaining"`
	// NextAt is when Remaining next grows, WholeAt when nothing is counted any more.
	NextAt  *string `json:"next_at"`
	WholeAt *string `json:"whole_at"`
}

type limitList struct {
	Limits []limitForm `json:"limits"`
}

func showLimitsOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show the caller's rate limits", Group: routes.GroupServer, Answers: routes.Answers{http.StatusOK: exampleLimits()},
	}
}

func (a *API) showLimits(c echo.Context, _ auth.Principal) error {
	states, err := a.limits.Standing(c)
	if err != nil {
		return err
	}
	now := a.now()
	answer := limitList{Limits: []limitForm{}}
	for i, state := range states {
		form := limitForm{
			Name: limits.ShownName(states, i), Scope: state.Plan.Subject.String(), Limit: state.Context.Limit,
			WindowSeconds: int64(math.Ceil(state.Rate.Period.Seconds())), Remaining: state.Context.Remaining,
		}
		if state.Whole > 0 {
			next, whole := now.Add(state.Next), now.Add(state.Whole)
			form.NextAt, form.WholeAt = routes.MicroOrNull(&next), routes.MicroOrNull(&whole)
		}
		answer.Limits = append(answer.Limits, form)
	}
	return c.JSON(http.StatusOK, answer)
}
