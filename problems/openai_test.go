package problems_test

import (
	"testing"

	"github.com/stenometer/stenometer/problems"
)

// The type of OpenAI's error object says whose fault it was, for every kind.
func TestEveryKindHasATypeOfOpenAI(t *testing.T) {
	t.Parallel()
	for kind, want := range map[problems.Kind]string{
		problems.InvalidToken: "authentication_error", problems.BudgetExceeded: "insufficient_quota",
		problems.InsufficientScope: "permission_error", problems.AccountRateLimited: "rate_limit_error",
		problems.StreamLimitReached: "rate_limit_error", problems.InvalidParameter: "invalid_request_error",
		problems.PayloadTooLarge: "invalid_request_error", problems.ProviderFailed: "server_error",
		problems.IdleTimeout: "server_error", problems.Internal: "server_error", {}: "server_error",
	} {
		if got := kind.OpenAIType(); got != want {
			t.Errorf("%q is of type %q, want %q", kind.Code(), got, want)
		}
	}
}
