package providers_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/providers"
)

// Rule: what a caller is told of a failed provider is whether to come back, and when; what it refused is never the caller's
// matter, and an error of ours stays what it is.
func TestAFailureIsToldToCallers(t *testing.T) {
	t.Parallel()
	away := providers.Retryable(providers.RateLimited, 429, "The service is busy")
	asked := *away
	asked.RetryAfter = 90 * time.Second
	for _, c := range []struct {
		failure *providers.Error
		kind    problems.Kind
		wait    time.Duration
		says    string
	}{
		{away, problems.ProviderUnavailable, 5 * time.Second, "The service is busy (status 429)."},
		{&asked, problems.ProviderUnavailable, 90 * time.Second, "The service is busy (status 429)."},
		{providers.Retryable(providers.TimedOut, 0, "It took too long"), problems.ProviderTimeout, 0, "It took too long."},
		{providers.Permanent(providers.Unauthorized, 401, "It refused the key"), problems.ProviderFailed, 0, "It refused the key (status 401)."},
		{providers.Permanent(providers.Unreachable, 302, "It redirects"), problems.ProviderFailed, 0, "It redirects (status 302)."},
	} {
		told := problems.Of(problems.OfProvider(fmt.Errorf("summarize: %w", c.failure)))
		if told.Kind != c.kind || told.RetryAfter != c.wait || told.Message != c.says || !errors.Is(told, c.failure) {
			t.Errorf("%v is told as %s, %q, after %s", c.failure, told.Kind.Code(), told.Message, told.RetryAfter)
		}
	}
	if other := errors.New("no room"); !errors.Is(problems.OfProvider(other), other) || problems.Of(problems.OfProvider(other)).Kind != problems.Internal {
		t.Errorf("an error of ours is told as %v", problems.OfProvider(other))
	}
}

// Rule: only a provider that may still answer is waited for.
func TestAWaitIsForWhatMayBeMended(t *testing.T) {
	t.Parallel()
	later, never := providers.Retryable(providers.RateLimited, 429, "Busy"), providers.Permanent(providers.Unpaid, 429, "No credit")
	later.RetryAfter, never.RetryAfter = time.Minute, time.Minute
	if providers.Wait(later) != time.Minute || providers.IsPermanent(later) {
		t.Errorf("%v: a wait of %s", later, providers.Wait(later))
	}
	if providers.Wait(never) != 0 || !providers.IsPermanent(fmt.Errorf("ask: %w", never)) {
		t.Errorf("%v: a wait of %s", never, providers.Wait(never))
	}
}

// Rule: a text is cut by characters, never inside one.
func TestCut(t *testing.T) {
	t.Parallel()
	for most, want := range []string{"", "ä", "äö", "äöü", "äöü"} {
		if got := providers.Cut("äöü", most); got != want {
			t.Errorf("%d characters of it are %q", most, got)
		}
	}
}
