package server

import (
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
)

const (
	// loginFailuresPerMinute bounds failed attempts at one account from one address. It is no setting: fewer would
	// lock people out for a typing error, more would help nobody but who guesses.
	loginFailuresPerMinute = 5
	// recorderUnitsPerMinute is the room of one address for recorders, in MiB; the largest upload that says no size
	// weighs all of it.
	recorderUnitsPerMinute = 520
)

// figure is the configured rates of one plan and the variable that they come from, "" where they are no setting.
type figure struct {
	plan     *limits.Plan
	variable string
	rates    []limits.Rate
	// twice is the variable that the default is twice the value of.
	twice string
}

// figureTable is where every plan's configured rates come from.
func figureTable(cfg *config.Config) []figure {
	return []figure{
		{plan: limits.TokenRead, variable: "API_TOKEN_RATE_LIMIT_READ", rates: cfg.TokenRateRead},
		{plan: limits.TokenWrite, variable: "API_TOKEN_RATE_LIMIT_WRITE", rates: cfg.TokenRateWrite},
		{plan: limits.TokenProcess, variable: "API_TOKEN_RATE_LIMIT_PROCESS", rates: cfg.TokenRateProcess},
		{plan: limits.AccountRead, variable: "API_USER_RATE_LIMIT_READ", rates: cfg.UserRateRead, twice: "API_TOKEN_RATE_LIMIT_READ"},
		{plan: limits.AccountWrite, variable: "API_USER_RATE_LIMIT_WRITE", rates: cfg.UserRateWrite, twice: "API_TOKEN_RATE_LIMIT_WRITE"},
		{plan: limits.AccountProcess, variable: "API_USER_RATE_LIMIT_PROCESS", rates: cfg.UserRateProcess, twice: "API_TOKEN_RATE_LIMIT_PROCESS"},
		{plan: limits.OrganizationAI, variable: "RATE_LIMIT_AI_PER_ORG_PER_MINUTE", rates: perMinute(cfg.AIPerOrgPerMinute)},
		{plan: limits.UserAI, variable: "RATE_LIMIT_AI_PER_USER_PER_MINUTE", rates: perMinute(cfg.AIPerUserPerMinute)},
		{plan: limits.AddressAI, variable: "RATE_LIMIT_AI_PER_IP_PER_MINUTE", rates: perMinute(cfg.AIPerIPPerMinute)},
		{plan: limits.Status, variable: "API_STATUS_RATE_LIMIT", rates: cfg.StatusRate},
		{plan: limits.Search, variable: "API_SEARCH_RATE_LIMIT", rates: cfg.SearchRate},
		{plan: limits.Import, variable: "IMPORT_RATE_LIMIT", rates: cfg.ImportRate},
		{plan: limits.TokenCreate, variable: "API_TOKEN_CREATE_RATE_LIMIT", rates: cfg.TokenCreateRate},
		{plan: limits.TokenChange, variable: "API_TOKEN_CHANGE_RATE_LIMIT", rates: cfg.TokenChangeRate},
		{plan: limits.SessionAddress, variable: "SESSION_RATE_LIMIT", rates: cfg.SessionRate},
		{plan: limits.PublicAddress, variable: "SESSION_RATE_LIMIT", rates: cfg.SessionRate},
		{plan: limits.Recorder, rates: perMinute(recorderUnitsPerMinute)},
		{plan: limits.Login, variable: "LOGIN_RATE_LIMIT", rates: cfg.LoginRate},
		{plan: limits.LoginFailures, rates: perMinute(loginFailuresPerMinute)},
		{plan: limits.Register, variable: "REGISTER_RATE_LIMIT", rates: cfg.RegisterRate},
		{plan: limits.AuthFailures, variable: "AUTH_FAILURE_RATE_LIMIT", rates: cfg.AuthFailureRate},
	}
}

// figures are the configured rates of every plan. A plan that is missing in the table is a panic at the start.
func figures(cfg *config.Config) limits.Figures {
	rates := make(limits.Figures)
	for _, figure := range figureTable(cfg) {
		rates[figure.plan] = figure.rates
	}
	return rates
}

// source says where the configured rates come from.
func (f figure) source(cfg *config.Config) string {
	switch {
	case f.variable == "":
		return "fixed"
	case cfg.IsSet(f.variable):
		return f.variable
	case f.twice != "" && cfg.IsSet(f.twice) && cfg.IsOff(f.twice):
		return "twice the default of " + f.twice + ", which is off"
	case f.twice != "" && cfg.IsSet(f.twice):
		return "twice " + f.twice
	}
	return "default of " + f.variable
}

// perMinute is a figure that is configured as a bare number; 0 is none.
func perMinute(requests int) []limits.Rate {
	if requests == 0 {
		return nil
	}
	return []limits.Rate{{Limit: int64(requests), Period: time.Minute}}
}
