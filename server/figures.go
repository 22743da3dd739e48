package server

import (
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
)

// loginFailuresPerMinute bounds failed attempts at one account from one address. It is no setting: fewer would lock
// people out for a typing error, more would help nobody but who guesses.
const loginFailuresPerMinute = 5

// figures are the rates in force for every plan. A plan that is missing here is a panic at the start.
func figures(cfg *config.Config) auth.Figures {
	return auth.Figures{
		limits.TokenRead:      cfg.TokenRateRead,
		limits.TokenWrite:     cfg.TokenRateWrite,
		limits.TokenProcess:   cfg.TokenRateProcess,
		limits.AccountRead:    cfg.UserRateRead,
		limits.AccountWrite:   cfg.UserRateWrite,
		limits.AccountProcess: cfg.UserRateProcess,
		limits.UserAI:         perMinute(cfg.AIPerUserPerMinute),
		limits.OrganizationAI: perMinute(cfg.AIPerOrgPerMinute),
		limits.AddressAI:      perMinute(cfg.AIPerIPPerMinute),
		limits.Status:         cfg.StatusRate,
		limits.TokenCreate:    cfg.TokenCreateRate,
		limits.TokenChange:    cfg.TokenChangeRate,
		limits.SessionAddress: cfg.SessionRate,
		limits.PublicAddress:  cfg.SessionRate,
		limits.Login:          cfg.LoginRate,
		limits.LoginFailures:  perMinute(loginFailuresPerMinute),
		limits.Register:       cfg.RegisterRate,
		limits.AuthFailures:   cfg.AuthFailureRate,
	}
}

// perMinute is a figure that is configured as a bare number; 0 is none.
func perMinute(requests int) []limits.Rate {
	if requests == 0 {
		return nil
	}
	return []limits.Rate{{Limit: int64(requests), Period: time.Minute}}
}
