package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/tokens"
)

// noun is how a token stands in a path.
const noun = "token"

// tokenForm is a token on the wire.
type tokenForm struct {
	ID         int64    `json:"id"`
	Name       string   `json:"name"`
	CreatedAt  string   `json:"created_at"`
	LastUsedAt *string  `json:"last_used_at"`
	ExpiresAt  *string  `json:"expires_at"`
	Revoked    bool     `json:"revoked"`
	Scopes     []string `json:"scopes"`
	// RateLimits are what the owner wants less for this token; null without any.
	RateLimits map[string]string `json:"rate_limits" nullable:"true"`
	// Token is the plaintext, in the one answer that shows it.
	Token string `json:"token,omitempty"`
}

func formOf(token tokens.Token, plaintext string) tokenForm {
	return tokenForm{
		ID: token.ID, Name: token.Name, CreatedAt: routes.Naive(token.CreatedAt),
		LastUsedAt: routes.NaiveOrNull(token.LastUsedAt), ExpiresAt: routes.NaiveOrNull(token.ExpiresAt),
		Revoked: token.Revoked, Scopes: token.Scopes.Names(), RateLimits: token.RateLimits.Written(), Token: plaintext,
	}
}

type tokenList struct {
	Tokens []tokenForm `json:"tokens"`
}

const revokedSentence = "The token was revoked."

type tokenRevocation struct {
	Message string `json:"message"`
}

func listOperation() routes.Operation {
	return routes.Operation{
		Summary: "List the account's tokens", Group: routes.GroupTokens, Answers: routes.Answers{http.StatusOK: tokenList{[]tokenForm{exampleToken("")}}},
	}
}

func (h *Handlers) list(c echo.Context, p auth.Principal) error {
	list, err := h.tokens.List(c.Request().Context(), p.UserID())
	if err != nil {
		return err
	}
	answers := make([]tokenForm, 0, len(list))
	for _, token := range list {
		answers = append(answers, formOf(token, ""))
	}
	return c.JSON(http.StatusOK, tokenList{answers})
}

type newToken struct {
	Name          *string                            `json:"name" maxLength:"100" example:"n8n"`
	ExpiresInDays *int64                             `json:"expires_in_days" minimum:"0" description:"0 never expires."`
	Scopes        routes.Optional[[]string]          `json:"scopes" nullable:"false" description:"Absent is a full token."`
	RateLimits    routes.Optional[map[string]string] `json:"rate_limits" description:"What is wanted less for this token, by category."`
}

func createOperation() routes.Operation {
	return routes.Operation{
		Summary: "Create a token", Notes: "The plaintext is in this one answer.", Group: routes.GroupTokens,
		Request: exampleNewToken(), Answers: routes.Answers{http.StatusCreated: exampleToken(examplePlaintext)},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.TokenLimitReached},
	}
}

func (h *Handlers) create(c echo.Context, p auth.Principal) error {
	var body newToken
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	var days int64
	if body.ExpiresInDays != nil {
		days = *body.ExpiresInDays
	}
	scopes, err := scopesOf(body.Scopes)
	if err != nil {
		return err
	}
	plaintext, token, err := h.tokens.Create(c.Request().Context(), tokens.Wish{
		UserID: p.UserID(), Name: body.Name, Scopes: scopes, ExpiresInDays: days, RateLimits: rateLimitsOf(body.RateLimits),
		OverHTTP: true, By: p.TokenID(),
	})
	if err != nil {
		return err
	}
	auth.AddDecision(c, token.Charged)
	return showOnce(c, http.StatusCreated, token, plaintext)
}

type tokenUpdate struct {
	Name       *string                            `json:"name" maxLength:"100"`
	Scopes     routes.Optional[[]string]          `json:"scopes" nullable:"false" description:"A subset of the present ones."`
	RateLimits routes.Optional[map[string]string] `json:"rate_limits"`
}

func alterOperation() routes.Operation {
	return routes.Operation{
		Summary: "Rename a token, narrow its scopes, or lower its limits", Group: routes.GroupTokens,
		Request: exampleTokenUpdate(), Answers: routes.Answers{http.StatusOK: exampleToken("")},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (h *Handlers) alter(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	var body tokenUpdate
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	if body.Name != nil && *body.Name == "" {
		body.Name = nil // the contract reads an empty name as none
	}
	if body.Name == nil && !body.Scopes.Set && !body.RateLimits.Set {
		return problems.New(problems.InvalidParameter, "Give name, scopes or rate_limits.")
	}
	scopes, err := scopesOf(body.Scopes)
	if err != nil {
		return err
	}
	token, err := h.tokens.Alter(c.Request().Context(), p.UserID(), id, tokens.Change{
		Name: body.Name, Scopes: scopes, RateLimits: rateLimitsOf(body.RateLimits), By: p.TokenID(),
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, formOf(token, ""))
}

type tokenRotation struct {
	OverlapHours *int64 `json:"overlap_hours" minimum:"0" maximum:"168" description:"How long the old token still works."`
}

func rotateOperation() routes.Operation {
	return routes.Operation{
		Summary: "Rotate a token", Notes: "Makes a new token of the same name, scopes and limits, and ends the old one.",
		Group: routes.GroupTokens, Request: tokenRotation{new(int64(24))}, Answers: routes.Answers{http.StatusCreated: exampleToken(examplePlaintext)},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict},
	}
}

func (h *Handlers) rotate(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	var body tokenRotation
	if err := routes.DecodeOptionalJSON(c, &body); err != nil {
		return err
	}
	var hours int64
	if body.OverlapHours != nil {
		hours = *body.OverlapHours
	}
	plaintext, token, err := h.tokens.Rotate(c.Request().Context(), p.UserID(), id, hours, p.TokenID())
	if err != nil {
		return err
	}
	return showOnce(c, http.StatusCreated, token, plaintext)
}

func revokeOperation() routes.Operation {
	return routes.Operation{
		Summary: "Revoke a token", Group: routes.GroupTokens, Answers: routes.Answers{http.StatusOK: tokenRevocation{revokedSentence}},
	}
}

func (h *Handlers) revoke(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	if err := h.tokens.Revoke(c.Request().Context(), p.UserID(), id); err != nil {
		return err
	}
	return revoked(c)
}

func revoked(c echo.Context) error {
	return c.JSON(http.StatusOK, tokenRevocation{revokedSentence})
}

// showOnce answers with a plaintext, which nothing on the way may keep.
func showOnce(c echo.Context, status int, token tokens.Token, plaintext string) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(status, formOf(token, plaintext))
}

// scopesOf gives the names that were sent. Only an absent field is nil, which means full: null is refused, lest a
// client's lost variable make a token that may do everything.
func scopesOf(sent routes.Optional[[]string]) ([]string, error) {
	if sent.Null {
		return nil, problems.New(problems.InvalidParameter, "scopes must be an array of strings.")
	}
	if sent.Set && sent.Value == nil {
		return []string{}, nil
	}
	return sent.Value, nil
}

// rateLimitsOf gives what was sent. An absent field is nil, which leaves what there is; null and an empty object
// want none.
func rateLimitsOf(sent routes.Optional[map[string]string]) map[string]string {
	if sent.Null {
		return map[string]string{}
	}
	return sent.Value
}
