package v1

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// usageForm is a month in money. Sums are US dollars, to the micro-dollar.
type usageForm struct {
	Month    string   `json:"month" example:"2026-03"`
	TimeZone string   `json:"time_zone"`
	Currency string   `json:"currency"`
	ResetsAt string   `json:"resets_at"`
	Scope    string   `json:"scope" enum:"own,organization"`
	GroupBy  []string `json:"group_by"`
	// Account is how the caller's own month stands; Organization is null for whose role may not see it.
	Account      standingForm  `json:"account"`
	Organization *standingForm `json:"organization"`
	// Holds is how many pieces of work are under way for which money is held.
	Holds      int64             `json:"holds"`
	Entries    []usageEntry      `json:"entries"`
	Pagination routes.Pagination `json:"pagination"`
}

// standingForm is how a month stands. Budget and Left are null where nothing is bounded.
type standingForm struct {
	Spent  float64  `json:"spent"`
	Held   float64  `json:"held"`
	Budget *float64 `json:"budget"`
	Left   *float64 `json:"left"`
	Alerts []int    `json:"alerts"`
	// Tokens are of text models, AudioSeconds of speech engines.
	Tokens       countForm `json:"tokens"`
	AudioSeconds countForm `json:"audio_seconds"`
}

type countForm struct {
	Spent  int64  `json:"spent"`
	Held   int64  `json:"held"`
	Budget *int64 `json:"budget"`
	Left   *int64 `json:"left"`
}

// usageEntry is what the calls of one group came to. What is not grouped by is null.
type usageEntry struct {
	Day       *string `json:"day"`
	Operation *string `json:"operation"`
	Model     *string `json:"model"`
	Provider  *string `json:"provider"`
	TokenID   *int64  `json:"token_id"`
	// TokenName is null where the token is gone.
	TokenName      *string `json:"token_name"`
	Calls          int64   `json:"calls"`
	InputTokens    int64   `json:"input_tokens"`
	OutputTokens   int64   `json:"output_tokens"`
	AudioSeconds   float64 `json:"audio_seconds"`
	Charged        float64 `json:"charged"`
	EstimatedCalls int64   `json:"estimated_calls"`
	UnknownCalls   int64   `json:"unknown_calls"`
}

type usageQuery struct {
	Month   *string `query:"month" description:"A month such as 2026-03; the present one by itself."`
	Scope   *string `query:"scope" enum:"own,organization" description:"own by itself; organization takes a role that may manage_team_billing."`
	GroupBy *string `query:"group_by" maxLength:"100" description:"A list of day, operation, model and token, with commas; all of them by itself."`
	Page    *int    `query:"page" description:"From 1; brought into bounds."`
	PerPage *int    `query:"per_page" description:"1 to 100, 25 by itself; brought into bounds."`
}

func showUsageOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show what was spent", Group: routes.GroupAccount, Request: usageQuery{},
		Notes: "The month is that of the organization's time zone. Calls whose figures no provider reported are `estimated_calls`; among them " +
			"`unknown_calls` ended with their process and were charged in full. The budgets are those of now, whatever the month.",
		Answers: routes.Answers{http.StatusOK: exampleUsage()}, Refusals: []problems.Kind{problems.InvalidParameter, problems.InsufficientPermission},
	}
}

func (a *API) showUsage(c echo.Context, p auth.Principal) error {
	ctx, query := c.Request().Context(), c.QueryParams()
	asked, err := a.readUsage(ctx, query, p)
	if err != nil {
		return err
	}
	answer := usageForm{
		Month: asked.Month.Name, TimeZone: asked.Month.Zone, Currency: "USD", ResetsAt: routes.Micro(asked.Month.ResetsAt),
		Scope: "own", GroupBy: []string{}, Entries: []usageEntry{},
	}
	if asked.UserID == 0 {
		answer.Scope = "organization"
	}
	for _, grouping := range budgets.Groupings() {
		if asked.By[grouping] {
			answer.GroupBy = append(answer.GroupBy, string(grouping))
		}
	}
	if err := a.stand(ctx, p, asked.Month, &answer); err != nil {
		return err
	}
	if answer.Holds, err = a.budgets.Holds(ctx, asked.OrganizationID, asked.UserID); err != nil {
		return err
	}
	sums, total, err := a.budgets.Ledger(ctx, asked)
	if err != nil {
		return err
	}
	for _, sum := range sums {
		answer.Entries = append(answer.Entries, usageEntryOf(sum))
	}
	answer.Pagination = routes.PaginationOf(asked.Page, asked.PerPage, total)
	return c.JSON(http.StatusOK, answer)
}

// stand fills in how the months of the account and, for who may see it, of the organization stand.
func (a *API) stand(ctx context.Context, p auth.Principal, month budgets.Month, answer *usageForm) error {
	own, err := a.budgets.State(ctx, p.OrganizationID(), p.UserID(), month)
	if err != nil {
		return err
	}
	answer.Account = standingFormOf(own)
	if !p.May(auth.ManageTeamBilling) {
		return nil
	}
	whole, err := a.budgets.State(ctx, p.OrganizationID(), 0, month)
	if err != nil {
		return err
	}
	answer.Organization = new(standingFormOf(whole))
	return nil
}

// readUsage reads what is asked for, of the caller's own organization always.
func (a *API) readUsage(ctx context.Context, query url.Values, p auth.Principal) (budgets.LedgerQuery, error) {
	asked := budgets.LedgerQuery{
		OrganizationID: p.OrganizationID(), UserID: p.UserID(),
		Page:    routes.Within(query.Get("page"), 1, math.MaxInt32),
		PerPage: routes.Within(query.Get("per_page"), recordings.DefaultPerPage, recordings.MaxPerPage),
	}
	switch query.Get("scope") {
	case "", "own":
	case "organization":
		if err := p.Permit(auth.ManageTeamBilling); err != nil {
			return asked, err //nolint:wrapcheck // the refusal is the answer
		}
		asked.UserID = 0
	default:
		return asked, problems.New(problems.InvalidParameter, "scope must be own or organization.")
	}
	var err error
	if asked.By, err = groupings(query.Get("group_by")); err != nil {
		return asked, err
	}
	asked.Month, err = a.budgets.Month(ctx, p.OrganizationID(), query.Get("month"))
	return asked, err
}

// groupings are those that a list names; all of them where it names none.
func groupings(list string) (map[budgets.Grouping]bool, error) {
	named := map[budgets.Grouping]bool{}
	for word := range strings.SplitSeq(list, ",") {
		grouping := budgets.Grouping(strings.TrimSpace(word))
		switch {
		case grouping == "":
		case !slices.Contains(budgets.Groupings(), grouping):
			return nil, problems.New(problems.InvalidParameter, "group_by must be a list of day, operation, model and token, with commas.")
		default:
			named[grouping] = true
		}
	}
	if len(named) > 0 {
		return named, nil
	}
	for _, grouping := range budgets.Groupings() {
		named[grouping] = true
	}
	return named, nil
}

func standingFormOf(state budgets.State) standingForm {
	return standingForm{
		Spent: budgets.Dollars(state.Money.Spent), Held: budgets.Dollars(state.Money.Held),
		Budget: budgets.DollarsOrNone(state.Money.Budget), Left: budgets.DollarsOrNone(state.Money.Left()), Alerts: state.Alerted,
		Tokens: countFormOf(state.Tokens), AudioSeconds: countFormOf(state.Seconds),
	}
}

func countFormOf(standing budgets.Standing) countForm {
	return countForm{standing.Spent, standing.Held, standing.Budget, standing.Left()}
}

func usageEntryOf(sum budgets.LedgerSum) usageEntry {
	return usageEntry{
		Day: sum.Day, Operation: sum.Operation, Model: sum.Model, Provider: sum.Provider, TokenID: sum.TokenID, TokenName: sum.TokenName,
		Calls: sum.Calls, InputTokens: sum.InputTokens, OutputTokens: sum.OutputTokens, AudioSeconds: sum.AudioSeconds,
		Charged: budgets.Dollars(sum.ChargedMicros), EstimatedCalls: sum.Estimated, UnknownCalls: sum.Unknown,
	}
}
