package handlers

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/tokens"
)

// noun is how a token stands in a path.
const noun = "token"

// answer is a token on the wire.
type answer struct {
	ID         int64    `json:"id"`
	Name       string   `json:"name"`
	CreatedAt  string   `json:"created_at"`
	LastUsedAt *string  `json:"last_used_at"`
	ExpiresAt  *string  `json:"expires_at"`
	Revoked    bool     `json:"revoked"`
	Scopes     []string `json:"scopes"`
	// RateLimits are what the owner wants less for this token; null without any.
	RateLimits map[string]string `json:"rate_limits"`
	// Token is the plaintext, in the one answer that shows it.
	Token string `json:"token,omitempty"`
}

func answerOf(token tokens.Token, plaintext string) answer {
	return answer{
		ID: token.ID, Name: token.Name, CreatedAt: routes.Naive(token.CreatedAt),
		LastUsedAt: routes.NaiveOrNull(token.LastUsedAt), ExpiresAt: routes.NaiveOrNull(token.ExpiresAt),
		Revoked: token.Revoked, Scopes: token.Scopes.Names(), RateLimits: token.RateLimits.Written(), Token: plaintext,
	}
}

func (h *Handlers) list(c echo.Context, p auth.Principal) error {
	list, err := h.tokens.List(c.Request().Context(), p.UserID())
	if err != nil {
		return err
	}
	answers := make([]answer, 0, len(list))
	for _, token := range list {
		answers = append(answers, answerOf(token, ""))
	}
	return c.JSON(http.StatusOK, map[string]any{"tokens": answers})
}

func (h *Handlers) create(c echo.Context, p auth.Principal) error {
	var body struct {
		Name          *string         `json:"name"`
		ExpiresInDays json.RawMessage `json:"expires_in_days"`
		Scopes        json.RawMessage `json:"scopes"`
		RateLimits    json.RawMessage `json:"rate_limits"`
	}
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	days, err := wholeNumber("expires_in_days", body.ExpiresInDays)
	if err != nil {
		return err
	}
	scopes, err := scopesOf(body.Scopes)
	if err != nil {
		return err
	}
	limits, err := rateLimitsOf(body.RateLimits)
	if err != nil {
		return err
	}
	plaintext, token, err := h.tokens.Create(c.Request().Context(), tokens.Wish{
		UserID: p.UserID(), Name: body.Name, Scopes: scopes, ExpiresInDays: days, RateLimits: limits,
		OverHTTP: true, By: p.TokenID(),
	})
	if err != nil {
		return err
	}
	auth.AddDecision(c, token.Charged)
	return showOnce(c, http.StatusCreated, token, plaintext)
}

func (h *Handlers) alter(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	var body struct {
		Name       *string         `json:"name"`
		Scopes     json.RawMessage `json:"scopes"`
		RateLimits json.RawMessage `json:"rate_limits"`
	}
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	if body.Name != nil && *body.Name == "" {
		body.Name = nil // the contract reads an empty name as none
	}
	if body.Name == nil && body.Scopes == nil && body.RateLimits == nil {
		return problems.New(problems.InvalidParameter, "Give name, scopes or rate_limits.")
	}
	scopes, err := scopesOf(body.Scopes)
	if err != nil {
		return err
	}
	limits, err := rateLimitsOf(body.RateLimits)
	if err != nil {
		return err
	}
	token, err := h.tokens.Alter(c.Request().Context(), p.UserID(), id, tokens.Change{
		Name: body.Name, Scopes: scopes, RateLimits: limits, By: p.TokenID(),
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answerOf(token, ""))
}

func (h *Handlers) rotate(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	var body struct {
		OverlapHours json.RawMessage `json:"overlap_hours"`
	}
	if err := routes.DecodeOptionalJSON(c, &body); err != nil {
		return err
	}
	hours, err := wholeNumber("overlap_hours", body.OverlapHours)
	if err != nil {
		return err
	}
	plaintext, token, err := h.tokens.Rotate(c.Request().Context(), p.UserID(), id, hours, p.TokenID())
	if err != nil {
		return err
	}
	return showOnce(c, http.StatusCreated, token, plaintext)
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
	return c.JSON(http.StatusOK, map[string]string{"message": "The token was revoked."})
}

// showOnce answers with a plaintext, which nothing on the way may keep.
func showOnce(c echo.Context, status int, token tokens.Token, plaintext string) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(status, answerOf(token, plaintext))
}

// wholeNumber reads a JSON integer; what is absent or null is 0. true, text and fractions are refused.
func wholeNumber(field string, raw json.RawMessage) (int64, error) {
	if raw == nil || isNull(raw) {
		return 0, nil
	}
	number, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0, problems.New(problems.InvalidParameter, "%s must be a whole number.", field)
	}
	return number, nil
}

// scopesOf reads an array of strings. Only an absent field is nil, which means full: null is refused, lest a
// client's lost variable make a token that may do everything.
func scopesOf(raw json.RawMessage) ([]string, error) {
	if raw == nil {
		return nil, nil
	}
	names := []string{}
	if isNull(raw) || json.Unmarshal(raw, &names) != nil {
		return nil, problems.New(problems.InvalidParameter, "scopes must be an array of strings.")
	}
	return names, nil
}

// rateLimitsOf reads an object of strings. An absent field is nil, which leaves what there is; null and an empty
// object want none.
func rateLimitsOf(raw json.RawMessage) (map[string]string, error) {
	if raw == nil {
		return nil, nil
	}
	written := map[string]string{}
	if !isNull(raw) && json.Unmarshal(raw, &written) != nil {
		return nil, problems.New(problems.InvalidParameter,
			`rate_limits must be an object such as {"read": "60 per minute"}, with read, write and process, or null.`)
	}
	return written, nil
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(raw, []byte("null")) }
