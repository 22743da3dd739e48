package llm_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/tests/clocktest"
	"github.com/stenometer/stenometer/tests/llmtest"
)

func newBrokenRig(t *testing.T) (*rig, *clocktest.Clock) {
	c := clocktest.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	r := newRig(t, func(s *settings) { s.adapter.Breaker = outbound.NewBreaker(5*time.Second, c.Now) })
	return r, c
}

// A provider that fails five times in a row is left alone: calls meanwhile cost nothing and are told how long to wait.
// Then one call tries.
func TestProviderThatFailsIsLeftAlone(t *testing.T) {
	t.Parallel()
	r, clock := newBrokenRig(t)
	for range 5 {
		r.model.Script(llmtest.Fails(http.StatusBadGateway))
		r.fails(providers.ServiceFault)
	}
	problem := expect(t, problems.OfProvider(r.fails(providers.Unreachable)), problems.ProviderUnavailable)
	if problem.RetryAfter != 5*time.Second {
		t.Errorf("the caller is told to wait %s", problem.RetryAfter)
	}
	r.called(5)
	if lines := r.ledger(); len(lines) != 5 {
		t.Errorf("the ledger has %d lines", len(lines))
	}
	clock.Advance(5 * time.Second)
	for range 2 {
		if _, err := r.ask(request(prompt)); err != nil {
			t.Error(err)
		}
	}
	r.called(7)
}

// A provider that says how long it is busy is left alone for so long, from the first time on.
func TestBusyProviderIsLeftAlone(t *testing.T) {
	t.Parallel()
	r, clock := newBrokenRig(t)
	r.model.Script(llmtest.Busy(30))
	r.fails(providers.RateLimited)
	clock.Advance(29 * time.Second)
	if failure := r.fails(providers.Unreachable); failure.RetryAfter != time.Second {
		t.Errorf("the wait is %s", failure.RetryAfter)
	}
	r.called(1)
	clock.Advance(time.Second)
	if _, err := r.ask(request(prompt)); err != nil {
		t.Error(err)
	}
}

// Refusals of single requests are answers: they say nothing against the provider.
func TestRefusalsDoNotPauseTheProvider(t *testing.T) {
	t.Parallel()
	r, _ := newBrokenRig(t)
	for range 8 {
		r.model.Script(llmtest.Fails(http.StatusBadRequest))
		r.fails(providers.Refused)
	}
	r.called(8)
}
