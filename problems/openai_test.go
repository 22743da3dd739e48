package problems_test

import (
	"reflect"
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

// The object says what a refusal on API v1 says, under the names that OpenAI's clients read: the field is its param.
func TestARefusalHasTheFormOfOpenAI(t *testing.T) {
	t.Parallel()
	got := problems.OpenAIError(problems.PayloadTooLarge, "Too much.", map[string]any{"field": "messages", "max_items": 3})
	want := map[string]any{"error": map[string]any{
		"message": "Too much.", "type": "invalid_request_error", "param": "messages", "code": "payload_too_large", "max_items": 3,
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	plain, _ := problems.OpenAIError(problems.Internal, "Internal error.", nil)["error"].(map[string]any)
	if param, there := plain["param"]; !there || param != nil {
		t.Errorf("param is %v of what is about no field", param)
	}
}
