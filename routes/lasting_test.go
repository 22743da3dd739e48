package routes_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/routes"
)

// Rule: a row whose body may take hours to come tells its story who the caller is by then: one that was let in before it was
// revoked or disabled may not go on.
func TestAFileIsItsCallersAsItIsWhenItIsHere(t *testing.T) {
	t.Parallel()
	var token string
	takes := func(h *house) func(c echo.Context, p auth.Principal, body io.Reader) error {
		return func(c echo.Context, p auth.Principal, body io.Reader) error {
			if _, err := io.Copy(io.Discard, body); err != nil {
				return err
			}
			if _, err := p.Present(c.Request().Context()); err != nil {
				return err
			}
			h.finder.Change(token, func(token *auth.Token) { token.OwnerDisabled = true })
			_, err := p.Present(c.Request().Context())
			return err
		}
	}
	h := open(t, plan{declare: func(table *routes.Table, h *house) {
		take := takes(h)
		table.Upload("POST", "/api/v1/recordings/upload", auth.Upload, routes.MaxUpload, budgets.Later(budgets.Transcription), take, said)
		table.Hearing("POST", "/v1/audio/transcriptions", auth.Process, routes.MaxUpload, budgets.Transcription,
			func(c echo.Context, p auth.Principal, _ budgets.Purse, body io.Reader) error { return take(c, p, body) }, said)
	}})
	for _, path := range []string{"/api/v1/recordings/upload", "/v1/audio/transcriptions"} {
		token = h.token(1, "full")
		request := httptest.NewRequest(http.MethodPost, path, strings.NewReader("sound"))
		request.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		h.table.Handler().ServeHTTP(answer, request)
		if answer.Code != http.StatusUnauthorized || !strings.Contains(answer.Body.String(), "invalid_token") {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
}
