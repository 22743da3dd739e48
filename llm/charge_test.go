package llm_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// The prompt of these tests has 30 bytes, which are guessed to be 10 tokens; "Fine, that is it." has 17: 6 tokens.
const (
	prompt = "What did they agree on at last"
	says   = "Fine, that is it."
)

// Reported usage counts when it can be believed, an explicit nothing included; everything else is guessed from the
// prompt and the text that came, and marked.
func TestCallIsChargedAtWhatItUsed(t *testing.T) {
	t.Parallel()
	guessed := models.LedgerEntry{Outcome: "done", Source: "estimated", InputTokens: 10, OutputTokens: 6, ChargedMicros: 70}
	with := func(usage string) llmtest.Reply {
		reply := llmtest.Says(says)
		reply.Usage = usage
		return reply
	}
	for name, c := range map[string]struct {
		reply llmtest.Reply
		want  models.LedgerEntry
	}{
		"reported":         {llmtest.Says(says).Using(12, 7), models.LedgerEntry{Outcome: "done", Source: "reported", InputTokens: 12, OutputTokens: 7, ChargedMicros: 82}},
		"reported zero":    {llmtest.Says(says).Using(0, 0), models.LedgerEntry{Outcome: "done", Source: "reported"}},
		"none":             {llmtest.Says(says).WithoutUsage(), guessed},
		"null":             {with(`null`), guessed},
		"counts of null":   {with(`{"prompt_tokens":null,"completion_tokens":null}`), guessed},
		"one count":        {with(`{"prompt_tokens":12}`), guessed},
		"negative":         {llmtest.Says(says).Using(-5, 7), guessed},
		"above the hold":   {llmtest.Says(says).Using(12, 200), guessed},
		"huge":             {llmtest.Says(says).Using(1<<62, 1<<62), guessed},
		"beyond 64 bits":   {with(`{"prompt_tokens":99999999999999999999999,"completion_tokens":1e400}`), guessed},
		"fractions":        {with(`{"prompt_tokens":1.5,"completion_tokens":0.5}`), guessed},
		"strings":          {with(`{"prompt_tokens":"12","completion_tokens":"7"}`), guessed},
		"a list":           {with(`[1,2]`), guessed},
		"cut at the cap":   {llmtest.Reply{Body: `{"choices":[{"finish_reason":"length","message":{"content":"Fine"}}]}`}, models.LedgerEntry{Outcome: "done", Source: "estimated", InputTokens: 10, OutputTokens: 100, ChargedMicros: 1010}},
		"longer than held": {llmtest.Says(strings.Repeat("long ", 200)).WithoutUsage(), models.LedgerEntry{Outcome: "done", Source: "estimated", InputTokens: 10, OutputTokens: 100, ChargedMicros: 1010}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			r.model.Script(c.reply)
			if _, err := r.ask(request(prompt)); err != nil {
				t.Fatal(err)
			}
			r.charged(r.line(), c.want)
		})
	}
}

// A refusal and a connection that never was cost nothing; whatever a provider worked on is charged.
func TestFailedCallIsCharged(t *testing.T) {
	t.Parallel()
	free := models.LedgerEntry{Outcome: "failed", Source: "reported"}
	read := models.LedgerEntry{Outcome: "failed", Source: "estimated", InputTokens: 10, ChargedMicros: 10}
	reading := func(output int64) models.LedgerEntry {
		entry := read
		entry.OutputTokens, entry.ChargedMicros = output, 10+10*output
		return entry
	}
	dropped := llmtest.Sends(`{"choices":[{"message":{"content":"a long answer"}}]}    `)
	dropped.Drop = true
	for name, c := range map[string]struct {
		reply llmtest.Reply
		kind  providers.Kind
		want  models.LedgerEntry
	}{
		"redirect":           {llmtest.Reply{Status: http.StatusFound, Headers: map[string]string{"Location": "/v1/other"}}, providers.Unreachable, free},
		"bad request":        {llmtest.Fails(http.StatusBadRequest), providers.Refused, free},
		"key refused":        {llmtest.Fails(http.StatusUnauthorized), providers.Unauthorized, free},
		"forbidden":          {llmtest.Fails(http.StatusForbidden), providers.Unauthorized, free},
		"unpaid":             {llmtest.Fails(http.StatusPaymentRequired), providers.Unpaid, free},
		"unknown":            {llmtest.Fails(http.StatusNotFound), providers.WrongModel, free},
		"too large":          {llmtest.Fails(http.StatusRequestEntityTooLarge), providers.TooLarge, free},
		"busy":               {llmtest.Busy(2), providers.RateLimited, free},
		"out of credit":      {llmtest.Reply{Status: http.StatusTooManyRequests, Body: `{"error":{"code":"insufficient_quota"}}`}, providers.Unpaid, free},
		"fault":              {llmtest.Fails(http.StatusInternalServerError), providers.ServiceFault, free},
		"gateway timeout":    {llmtest.Fails(http.StatusGatewayTimeout), providers.TimedOut, free},
		"cut":                {llmtest.Reply{Cut: true}, providers.Unreachable, read},
		"cut in the answer":  {dropped, providers.Unreachable, reading(10)},
		"error in a success": {llmtest.Sends(`{"error":{"message":"PROVIDER-SECRET queue full"}}`), providers.ServiceFault, read},
		"no choices":         {llmtest.Sends(`{"choices":[]}`), providers.Unreadable, read},
		"null":               {llmtest.Sends(`null`), providers.Unreadable, read},
		"null content":       {llmtest.Sends(`{"choices":[{"message":{"content":null}}]}`), providers.Unreadable, read},
		"html":               {llmtest.Sends(`<html>no</html>`), providers.Unreadable, reading(5)},
		"broken JSON":        {llmtest.Sends(`{"choices":[{"mess`), providers.Unreadable, reading(6)},
		"declined":           {llmtest.Sends(`{"choices":[{"message":{"refusal":"no"}}]}`), providers.Refused, read},
		"reported, empty":    {llmtest.Says(" ").Using(11, 3), providers.Unreadable, models.LedgerEntry{Outcome: "failed", Source: "reported", InputTokens: 11, OutputTokens: 3, ChargedMicros: 41}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			r.model.Script(c.reply)
			_, err := r.ask(request(prompt))
			var failure *providers.Error
			if !errors.As(err, &failure) || failure.Kind != c.kind {
				t.Fatalf("got %v, want a failure of kind %s", err, c.kind)
			}
			r.discreet(err)
			r.charged(r.line(), c.want)
			r.called(1)
		})
	}
}

func (r *rig) charged(got, want models.LedgerEntry) {
	r.t.Helper()
	if got.Outcome != want.Outcome || got.Source != want.Source || got.InputTokens != want.InputTokens ||
		got.OutputTokens != want.OutputTokens || got.ChargedMicros != want.ChargedMicros {
		r.t.Errorf("the ledger has %s, %s, %d in, %d out, %d micro-dollars; want %s, %s, %d, %d, %d",
			got.Outcome, got.Source, got.InputTokens, got.OutputTokens, got.ChargedMicros,
			want.Outcome, want.Source, want.InputTokens, want.OutputTokens, want.ChargedMicros)
	}
}

func TestCallThatNeverConnectedIsFree(t *testing.T) {
	t.Parallel()
	closed := llmtest.New(t)
	closed.Close()
	r := newRig(t, func(s *settings) { s.options.BaseURL = closed.BaseURL() })
	failure := r.fails(providers.Unreachable)
	if failure.Permanent || providers.IsPermanent(failure) {
		t.Error("a provider that is away is not away for good")
	}
	r.charged(r.line(), models.LedgerEntry{Outcome: "failed", Source: "reported"})
}

// The caller who leaves takes the call along, at once, and pays for what was read.
func TestCallerWhoLeavesCancelsTheCallAndIsCharged(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) { s.adapter.Attempts = 3 })
	r.model.Script(llmtest.Reply{Hold: true})
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := r.adapter.Ask(ctx, r.purse, request(prompt))
		ended <- err
	}()
	r.await(patience, "the call arrives", func(s *llmtest.Server) bool { return s.InFlight() == 1 })
	leave()
	r.await(time.Second, "the call is canceled", func(s *llmtest.Server) bool { return s.Aborted() == 1 })
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	r.charged(r.line(), models.LedgerEntry{Outcome: "canceled", Source: "estimated", InputTokens: 10, ChargedMicros: 10})
	r.called(1)
}

// A call whose hold is gone ends: nobody pays for what comes of it.
func TestCallEndsWithItsHold(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) { s.lease = 300 * time.Millisecond })
	r.model.Script(llmtest.Reply{Hold: true})
	ended := make(chan error, 1)
	go func() {
		_, err := r.ask(request(prompt))
		ended <- err
	}()
	r.await(patience, "the call arrives", func(s *llmtest.Server) bool { return s.InFlight() == 1 })
	r.write(func(tx *gorm.DB) error { return tx.Exec("DELETE FROM budget_holds").Error })
	r.await(patience, "the call is canceled", func(s *llmtest.Server) bool { return s.Aborted() == 1 })
	if err := <-ended; !errors.Is(err, budgets.ErrHoldLost) {
		t.Errorf("got %v, want that the hold is gone", err)
	}
}

// An answer that is far too long is not read to its end, and charged at no more than was held.
func TestAnswerIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.model.Script(llmtest.Sends(`{"choices":[{"message":{"content":"` + strings.Repeat("x", 9<<20) + `"}}]}`))
	r.fails(providers.Unreadable)
	if line := r.line(); line.OutputTokens != 100 || line.ChargedMicros > line.HeldMicros {
		t.Errorf("%d tokens at %d micro-dollars, of %d held", line.OutputTokens, line.ChargedMicros, line.HeldMicros)
	}
}
