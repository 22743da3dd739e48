package routes_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/routes"
)

// A paid row whose caller has nothing left is refused 402 before its handler, and says that waiting does not help; a
// row that pays later is let in.
func TestAPaidRowIsRefusedWhenNothingIsLeft(t *testing.T) {
	t.Parallel()
	reached := 0
	h := open(t, plan{declare: func(t *routes.Table, _ *house) {
		t.Paid("POST", "/api/v1/recordings/:recording/transcribe", auth.Process, budgets.Transcription,
			func(c echo.Context, _ auth.Principal, purse budgets.Purse) error {
				reached++
				if err := purse.Open(c.Request().Context(), budgets.Transcription); err != nil {
					return err
				}
				return c.NoContent(http.StatusNoContent)
			}, said)
		t.Token("PUT", "/api/v1/recordings/:recording/speakers", auth.Write, func(c echo.Context, _ auth.Principal) error {
			return c.NoContent(http.StatusNoContent)
		}, said, routes.Later(budgets.Later(budgets.Text)))
	}})
	poor, rich := bearer(h.token(9, "full")), bearer(h.token(1, "full"))
	refused := h.call("POST", "/api/v1/recordings/1/transcribe", poor)
	if refused.StatusCode != http.StatusPaymentRequired || reached != 0 {
		t.Fatalf("answered %d, the handler was reached %d times", refused.StatusCode, reached)
	}
	if refused.Header.Get("Retry-After") != "" || refused.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("the headers are %v", refused.Header)
	}
	for _, member := range []string{`"code":"budget_exceeded"`, `"spent":0`, `"held":0`, `"budget":0`, `"resets_at":"`} {
		if !strings.Contains(refused.text, member) {
			t.Errorf("%s lacks %s", refused.text, member)
		}
	}
	if answer := h.call("PUT", "/api/v1/recordings/1/speakers", poor); answer.StatusCode != http.StatusNoContent {
		t.Errorf("a row that pays later answered %d", answer.StatusCode)
	}
	if answer := h.call("POST", "/api/v1/recordings/1/transcribe", rich); answer.StatusCode != http.StatusNoContent {
		t.Errorf("who has money was answered %d: %s", answer.StatusCode, answer.text)
	}
}
