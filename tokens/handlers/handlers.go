// Package handlers lets an account manage its API tokens over HTTP, and a token look at itself and end itself.
package handlers

import (
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/tokens"
)

// Handlers answers the token routes.
type Handlers struct{ tokens *tokens.Tokens }

// New makes the handlers.
func New(store *tokens.Tokens) *Handlers { return &Handlers{tokens: store} }

// Declare lists the routes.
func (h *Handlers) Declare(t *routes.Table) {
	t.Account("GET", "/api/tokens", h.list, listOperation())
	t.Account("POST", "/api/tokens", h.create, createOperation(), routes.OwnLimit(limits.TokenCreate))
	t.Account("PATCH", "/api/tokens/:token", h.alter, alterOperation(), routes.Limit(limits.TokenChange))
	t.Account("DELETE", "/api/tokens/:token", h.revoke, revokeOperation(), routes.Limit(limits.TokenChange))
	t.Account("POST", "/api/tokens/:token/rotate", h.rotate, rotateOperation(), routes.Limit(limits.TokenChange))
	t.Token("GET", "/api/v1/tokens/current", auth.AnyToken, h.current, currentOperation())
	t.Token("DELETE", "/api/v1/tokens/current", auth.AnyToken, h.revokeCurrent, revokeCurrentOperation())
}
