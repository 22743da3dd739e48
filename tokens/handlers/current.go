package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// currentTokenForm is a token that looks at itself.
type currentTokenForm struct {
	ID         int64    `json:"id"`
	Name       string   `json:"name"`
	Scopes     []string `json:"scopes"`
	CreatedAt  string   `json:"created_at"`
	ExpiresAt  *string  `json:"expires_at"`
	LastUsedAt *string  `json:"last_used_at"`
	Via        auth.Via `json:"via"`
	// RateLimits are what the owner wants less for this token; null without any.
	RateLimits map[string]string `json:"rate_limits" nullable:"true"`
}

func currentOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show the token of this request", Group: routes.GroupTokens,
		Answers: routes.Answers{http.StatusOK: exampleCurrentToken()}, Refusals: []problems.Kind{problems.NotFound},
	}
}

func (h *Handlers) current(c echo.Context, p auth.Principal) error {
	if p.TokenID() == 0 {
		return noToken()
	}
	token, err := h.tokens.Current(c.Request().Context(), p.UserID(), p.TokenID())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, currentTokenForm{
		ID: token.ID, Name: token.Name, Scopes: token.Scopes.Names(), CreatedAt: routes.Micro(token.CreatedAt),
		ExpiresAt: routes.MicroOrNull(token.ExpiresAt), LastUsedAt: routes.MicroOrNull(token.LastUsedAt), Via: p.Via(),
		RateLimits: token.RateLimits.Written(),
	})
}

func revokeCurrentOperation() routes.Operation {
	return routes.Operation{
		Summary: "Revoke the token of this request", Group: routes.GroupTokens,
		Answers: routes.Answers{http.StatusOK: tokenRevocation{revokedSentence}}, Refusals: []problems.Kind{problems.NotFound},
	}
}

func (h *Handlers) revokeCurrent(c echo.Context, p auth.Principal) error {
	if p.TokenID() == 0 {
		return noToken()
	}
	if err := h.tokens.Revoke(c.Request().Context(), p.UserID(), p.TokenID()); err != nil {
		return err
	}
	return revoked(c)
}

// noToken is the answer to a session, which is no token.
func noToken() error {
	return problems.New(problems.NotFound, "The request came with a session, not with a token.")
}
