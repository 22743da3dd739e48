package routes_test

import (
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/streams"
)

// A row that may take several calls of a model knows who its caller is by now, also when it does not stream: what was
// narrowed is less, what has ended is refused, and what cannot be told is no permission.
func TestAnAnswerKnowsItsCallerOfNow(t *testing.T) {
	t.Parallel()
	var token string
	h := open(t, plan{declare: func(table *routes.Table, h *house) {
		table.Answer("POST", "/api/v1/recordings/:recording/chat", auth.Process, budgets.Text,
			func(c echo.Context, p auth.Principal, _ budgets.Purse, _ streams.Opener) error {
				ctx := c.Request().Context()
				if now, err := p.Present(ctx); err != nil || !now.MayRead() || now.UserID() != p.UserID() {
					t.Errorf("at first it is %v, %v", now.Scopes(), err)
				}
				h.finder.Change(token, func(token *auth.Token) { token.Scopes = auth.ParseScopes("process") })
				if now, err := p.Present(ctx); err != nil || now.MayRead() || !p.MayRead() {
					t.Errorf("narrowed it is %v, %v", now.Scopes(), err)
				}
				h.finder.Change(token, func(token *auth.Token) { token.Scopes = auth.ParseScopes("read") })
				if _, err := p.Present(ctx); !problems.Is(err, problems.InsufficientScope) {
					t.Errorf("without the row's scope: %v", err)
				}
				h.finder.Change(token, func(token *auth.Token) { token.Revoked = true })
				if _, err := p.Present(ctx); !problems.Is(err, problems.InvalidToken) {
					t.Errorf("revoked: %v", err)
				}
				return c.NoContent(http.StatusNoContent)
			}, said)
	}})
	token = h.token(1, "read process")
	if response := h.post(t, token, "{}"); response.StatusCode != http.StatusNoContent {
		t.Errorf("answered %d", response.StatusCode)
	}
}
