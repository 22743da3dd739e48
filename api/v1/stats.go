package v1

import (
	"context"
	"fmt"
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

type statsForm struct {
	Recordings    recordingStats     `json:"recordings"`
	Storage       storageStats       `json:"storage"`
	Queue         queueStats         `json:"queue"`
	Tokens        tokenStats         `json:"tokens"`
	Transcription transcriptionStats `json:"transcription"`
	Activity      activityStats      `json:"activity"`
	// Users is there for scope=all alone.
	Users *accountStats `json:"users,omitempty"`
}

type recordingStats struct {
	Total      int64 `json:"total"`
	Completed  int64 `json:"completed"`
	Processing int64 `json:"processing"`
	Pending    int64 `json:"pending"`
	Failed     int64 `json:"failed"`
}

type storageStats struct {
	UsedBytes int64  `json:"used_bytes"`
	UsedHuman string `json:"used_human" example:"23.9 KB"`
}

type queueStats struct {
	JobsQueued     int64 `json:"jobs_queued"`
	JobsProcessing int64 `json:"jobs_processing"`
}

// tokenStats and transcriptionStats are what the account used this month of what it may.
type tokenStats struct {
	UsedThisMonth int64    `json:"used_this_month"`
	Budget        *int64   `json:"budget"`
	Percentage    *float64 `json:"percentage"`
}

type transcriptionStats struct {
	UsedThisMonthSeconds int64    `json:"used_this_month_seconds"`
	UsedThisMonthMinutes int64    `json:"used_this_month_minutes"`
	BudgetSeconds        *int64   `json:"budget_seconds"`
	BudgetMinutes        *int64   `json:"budget_minutes"`
	Percentage           *float64 `json:"percentage"`
	EstimatedCost        float64  `json:"estimated_cost"`
}

type activityStats struct {
	RecordingsToday   int64   `json:"recordings_today"`
	LastTranscription *string `json:"last_transcription"`
}

// accountStats counts accounts; those are active that have uploaded in the last 30 days.
type accountStats struct {
	Total  int64 `json:"total"`
	Active int64 `json:"active"`
}

type statsQuery struct {
	Scope *string `query:"scope" description:"user, which other words are read as; all is for administrators of the instance."`
}

func showStatsOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show the account's statistics", Group: routes.GroupAccount, Request: statsQuery{},
		Notes: "Today begins at midnight in the organization's time zone, and so does the month. `estimated_cost` is what the month's audio cost, " +
			"in US dollars. With `scope=all` the figures are those of all accounts, nothing is bounded, and `users` is there besides; of tokens " +
			"only those that were made for administration may ask.",
		Answers: routes.Answers{http.StatusOK: exampleStats()}, Refusals: []problems.Kind{problems.InsufficientPermission},
	}
}

func (a *API) showStats(c echo.Context, p auth.Principal) error {
	if c.QueryParam("scope") == "all" {
		return a.showStatsOfAll(c, p)
	}
	stats, err := a.recordings.Stats(c.Request().Context(), p)
	if err != nil {
		return err
	}
	form := statsFormOf(stats)
	if err := a.countUse(c.Request().Context(), p, &form); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, form)
}

// showStatsOfAll shows the figures of all accounts to whom the story lets see them.
func (a *API) showStatsOfAll(c echo.Context, p auth.Principal) error {
	ctx := c.Request().Context()
	all, err := a.recordings.StatsOfAll(ctx, p)
	if err != nil {
		return err
	}
	month, err := a.budgets.Month(ctx, p.OrganizationID(), "")
	if err != nil {
		return err
	}
	used, err := a.budgets.Everywhere(ctx, month)
	if err != nil {
		return err
	}
	form := statsFormOf(all.Stats)
	form.Tokens.UsedThisMonth = used.Tokens
	form.Transcription = transcriptionStats{
		UsedThisMonthSeconds: used.Seconds, UsedThisMonthMinutes: used.Seconds / 60, EstimatedCost: dollarsRounded(used.Audio),
	}
	form.Users = &accountStats{all.Accounts, all.Active}
	return c.JSON(http.StatusOK, form)
}

// dollarsRounded is a sum in US dollars to the hundredth of a cent, as the contract has it.
func dollarsRounded(micros int64) float64 { return math.Round(budgets.Dollars(micros)*1e4) / 1e4 }

// countUse fills in what the account used this month of tokens and audio.
func (a *API) countUse(ctx context.Context, p auth.Principal, form *statsForm) error {
	month, err := a.budgets.Month(ctx, p.OrganizationID(), "")
	if err != nil {
		return err
	}
	state, err := a.budgets.State(ctx, p.OrganizationID(), p.UserID(), month)
	if err != nil {
		return err
	}
	charged, err := a.budgets.AudioCharged(ctx, p.OrganizationID(), p.UserID(), month)
	if err != nil {
		return err
	}
	form.Tokens = tokenStats{UsedThisMonth: state.Tokens.Spent, Budget: state.Tokens.Budget, Percentage: percentage(state.Tokens)}
	form.Transcription = transcriptionStats{
		UsedThisMonthSeconds: state.Seconds.Spent, UsedThisMonthMinutes: state.Seconds.Spent / 60,
		BudgetSeconds: state.Seconds.Budget, Percentage: percentage(state.Seconds), EstimatedCost: dollarsRounded(charged),
	}
	if budget := state.Seconds.Budget; budget != nil {
		form.Transcription.BudgetMinutes = new(*budget / 60)
	}
	return nil
}

// percentage is how much of a budget is used, to one decimal; null without one.
func percentage(standing budgets.Standing) *float64 {
	switch {
	case standing.Budget == nil:
		return nil
	case *standing.Budget == 0:
		return new(100.0)
	}
	return new(math.Round(float64(standing.Spent)/float64(*standing.Budget)*1000) / 10)
}

func statsFormOf(stats recordings.Stats) statsForm {
	return statsForm{
		Recordings: recordingStats{
			Total: stats.Total, Completed: stats.Completed, Processing: stats.Processing, Pending: stats.Pending, Failed: stats.Failed,
		},
		Storage:  storageStats{UsedBytes: stats.AudioBytes, UsedHuman: humanBytes(stats.AudioBytes)},
		Queue:    queueStats{JobsQueued: stats.Pending, JobsProcessing: stats.Processing},
		Activity: activityStats{RecordingsToday: stats.Today, LastTranscription: routes.NaiveOrNull(stats.LastTranscription)},
	}
}

// humanBytes writes a size for people, in steps of 1024: "0.0 B", "23.9 KB".
func humanBytes(size int64) string {
	value, unit := float64(size), 0
	units := []string{"B", "KB", "MB", "GB", "TB", "PB"}
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
