package llm_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// clock stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newBrokenRig(t *testing.T) (*rig, *clock) {
	c := &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
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
		r.fails(llm.ServiceFault)
	}
	problem := expect(t, llm.Problem(r.fails(llm.Unreachable)), problems.ProviderUnavailable)
	if problem.RetryAfter != 5*time.Second {
		t.Errorf("the caller is told to wait %s", problem.RetryAfter)
	}
	r.called(5)
	if lines := r.ledger(); len(lines) != 5 {
		t.Errorf("the ledger has %d lines", len(lines))
	}
	clock.pass(5 * time.Second)
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
	r.fails(llm.RateLimited)
	clock.pass(29 * time.Second)
	if failure := r.fails(llm.Unreachable); failure.RetryAfter != time.Second {
		t.Errorf("the wait is %s", failure.RetryAfter)
	}
	r.called(1)
	clock.pass(time.Second)
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
		r.fails(llm.Refused)
	}
	r.called(8)
}
