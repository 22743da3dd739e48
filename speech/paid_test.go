package speech_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/speech"
	"github.com/stenometer/stenometer/tests/asrtest"
)

// bound gives the organization a budget.
func (r rig) bound(t *testing.T, budget models.Budget) {
	t.Helper()
	organization := int64(1)
	budget.OrganizationID = &organization
	err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error { return tx.Create(&budget).Error })
	if err != nil {
		t.Fatal(err)
	}
}

func seconds(n int64) models.Budget { return models.Budget{Seconds: &n} }

// month is what was spent and is held.
func (r rig) month(t *testing.T) models.BudgetMonth {
	t.Helper()
	var rows []models.BudgetMonth
	if err := r.db.Read.Where("user_id = 0").Find(&rows).Error; err != nil || len(rows) > 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	return append(rows, models.BudgetMonth{})[0]
}

// cutOff is an answer whose connection is lost in its middle.
func cutOff() asrtest.Reply {
	return asrtest.Reply{Drop: true, Body: `{"text":"` + strings.Repeat("a", 100) + `"}`}
}

// loseHold takes every hold away, as a sweeper does that believes its owner dead.
func (r rig) loseHold(t *testing.T) {
	t.Helper()
	err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
		return tx.Where("1 = 1").Delete(&models.BudgetHold{}).Error
	})
	if err != nil {
		t.Error(err)
	}
}

// H-068: of five parts the third fails once, then for ever. What the service refused costs nothing: a budget of just the
// recording's length is enough, and the ledger tells every attempt.
func TestAFailedPartIsNotPaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failures      int32
		calls, failed int64
	}{"once": {1, 6, 1}, "for ever": {1000, 7, 3}} {
		r := newRig(t, shortParts(20*time.Second))
		r.bound(t, seconds(75))
		var failures atomic.Int32
		hears := r.service.HearsBeeps()
		r.service.Always(func(call asrtest.Call) asrtest.Reply {
			if r.service.Hears(call, 7) && failures.Add(1) <= c.failures {
				return asrtest.Fails(504)
			}
			return hears(call)
		})
		got := r.transcribe(t, r.beeps(t, "a.wav", 15), speech.Request{})
		if calls := int64(len(r.service.Calls())); calls != c.calls || (len(got.Gaps) > 0) != (c.failures > 1) {
			t.Errorf("%s: %d calls, gaps %+v", name, calls, got.Gaps)
		}
		var charged, heard, failed int64
		for _, entry := range r.ledger(t) {
			if entry.Outcome == string(budgets.Failed) {
				failed++
				if entry.ChargedMicros != 0 || entry.AudioSeconds != 0 {
					t.Errorf("%s: a refused call was charged: %+v", name, entry)
				}
			}
			charged += entry.ChargedMicros
			heard += int64(entry.AudioSeconds)
		}
		if entries := int64(len(r.ledger(t))); entries != c.calls || failed != c.failed {
			t.Errorf("%s: %d entries, %d of them failed", name, entries, failed)
		}
		month := r.month(t)
		if c.failures == 1 && heard != 75 || month.Spent.Seconds != heard || month.Spent.Micros != charged || month.Held != (models.Amount{}) {
			t.Errorf("%s: %d s, %d micro-dollars; the month is %+v", name, heard, charged, month)
		}
	}
}

// Rule: a refusal that repeats is not asked for again (H-068). A service that has answered in the detailed form knows it: what
// it refuses then is the audio.
func TestAPartThatIsRefusedForGoodIsAskedForOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, shortParts(20*time.Second))
	hears := r.service.HearsBeeps()
	var refused atomic.Int32
	r.service.Always(func(call asrtest.Call) asrtest.Reply {
		if r.service.Hears(call, 7) {
			refused.Add(1)
			return asrtest.Fails(400)
		}
		return hears(call)
	})
	got := r.transcribe(t, r.beeps(t, "a.wav", 8), speech.Request{})
	if calls := len(r.service.Calls()); refused.Load() != 1 || calls != 3 || len(got.Gaps) != 1 {
		t.Errorf("%d of %d calls were refused, gaps %+v", refused.Load(), calls, got.Gaps)
	}
}

// Every ending of a call is paid as the service may bill it: a refusal and a call that did not reach it cost nothing;
// of everything else nobody knows, and it is paid in full.
func TestWhatACallCosts(t *testing.T) {
	t.Parallel()
	reply := func(reply asrtest.Reply) func(*speech.Options, *asrtest.Server) {
		return func(_ *speech.Options, s *asrtest.Server) {
			s.Always(func(asrtest.Call) asrtest.Reply { return reply })
		}
	}
	elsewhere := func(base string) func(*speech.Options, *asrtest.Server) {
		return func(o *speech.Options, _ *asrtest.Server) { o.BaseURL = base }
	}
	for name, c := range map[string]struct {
		change  func(*speech.Options, *asrtest.Server)
		outcome budgets.Outcome
		paid    int64
	}{
		"an answer":      {reply(asrtest.Plain("yes")), budgets.Done, 5},
		"refused key":    {reply(asrtest.Fails(401)), budgets.Failed, 0},
		"refused size":   {reply(asrtest.Fails(413)), budgets.Failed, 0},
		"busy":           {reply(asrtest.Busy(600)), budgets.Failed, 0},
		"out of order":   {reply(asrtest.Fails(503)), budgets.Failed, 0},
		"gateway's time": {reply(asrtest.Fails(504)), budgets.Failed, 0},
		"a redirect":     {reply(asrtest.Reply{Status: 307, Headers: map[string]string{"Location": "http://127.0.0.1:1/"}}), budgets.Failed, 0},
		"nobody there":   {elsewhere("http://127.0.0.1:1/v1"), budgets.Failed, 0},
		"no such name":   {elsewhere("http://name.invalid/v1"), budgets.Failed, 0},
		"nonsense":       {reply(asrtest.Reply{Body: "<html>"}), budgets.Failed, 5},
		"cut off":        {reply(cutOff()), budgets.Failed, 5},
		"too slow": {func(o *speech.Options, s *asrtest.Server) {
			o.Timeout = 2 * time.Second
			reply(asrtest.Reply{Hold: true})(o, s)
		}, budgets.Failed, 5},
		"its own, shorter":   {reply(asrtest.Reply{Body: `{"text":"yes","duration":0,"usage":{"type":"duration","seconds":0}}`}), budgets.Done, 5},
		"its own, of tokens": {reply(asrtest.Reply{Body: `{"text":"yes","usage":{"type":"tokens","input_tokens":-1}}`}), budgets.Done, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.change)
			_, _ = r.Transcribe(context.Background(), r.beeps(t, "a.wav", 1), speech.Request{})
			entries := r.ledger(t)
			if len(entries) != 1 {
				t.Fatalf("%d entries", len(entries))
			}
			e, month := entries[0], r.month(t)
			if e.Outcome != string(c.outcome) || month.Spent.Seconds != c.paid || int64(e.AudioSeconds) != c.paid || month.Held != (models.Amount{}) {
				t.Errorf("entry %+v, month %+v", e, month)
			}
			if e.Operation != "transcription" || e.Model != "whisper-1" || e.Provider == "" || e.Source != string(budgets.Estimated) || (e.ChargedMicros > 0) != (c.paid > 0) {
				t.Errorf("entry %+v", e)
			}
		})
	}
}

// A file that is gone is no call at the service.
func TestAFaultOfOursIsNotPaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	audio := r.beeps(t, "a.wav", 1)
	audio.Path = filepath.Join(t.TempDir(), "gone.mp3")
	if _, err := r.Transcribe(context.Background(), audio, speech.Request{}); err == nil {
		t.Error("no error")
	}
	if month := r.month(t); month.Spent != (models.Amount{}) || month.Held != (models.Amount{}) {
		t.Errorf("the month is %+v", month)
	}
}

// A caller who leaves is charged for the part that was out, and for none that was not.
func TestACanceledCallIsPaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, shortParts(20*time.Second))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.service.Always(func(asrtest.Call) asrtest.Reply { cancel(); return asrtest.Reply{Hold: true} })
	if _, err := r.Transcribe(ctx, r.beeps(t, "a.wav", 6), speech.Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	entries, month := r.ledger(t), r.month(t)
	if len(entries) != 1 || entries[0].Outcome != string(budgets.Canceled) || month.Spent.Seconds < 12 || month.Spent.Seconds > 18 || month.Held != (models.Amount{}) {
		t.Errorf("entries %+v, month %+v", entries, month)
	}
}

// Without room for all of the length nothing is sent; nor without a purse, or by a model whose price nobody knows.
func TestWithoutRoomNothingIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.bound(t, models.Budget{Micros: new(int64(1000)), Seconds: new(int64(60))}) // ten seconds of whisper-1
	ctx := context.Background()
	for name, c := range map[string]struct {
		audio   speech.Audio
		request speech.Request
	}{
		"too long":             {r.beeps(t, "a.wav", 3), speech.Request{}},
		"longer than it looks": {speech.Audio{Path: r.beeps(t, "b.wav", 1).Path, Length: 10001 * time.Millisecond}, speech.Request{}},
		"without a price":      {r.beeps(t, "c.wav", 1), speech.Request{Model: "of-my-own"}},
	} {
		if err := r.purse.Affords(ctx, r.Priced(c.audio.Length, c.request)); !problems.Is(err, problems.BudgetExceeded) {
			t.Errorf("%s: affords %v", name, err)
		}
		if _, err := r.Transcribe(ctx, c.audio, c.request); !problems.Is(err, problems.BudgetExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Transcriber.Transcribe(ctx, budgets.Purse{}, r.beeps(t, "d.wav", 1), speech.Request{}); err == nil {
		t.Error("without a purse it went on")
	}
	if calls, month := len(r.service.Calls()), r.month(t); calls != 0 || month.Spent != (models.Amount{}) || month.Held != (models.Amount{}) {
		t.Errorf("%d calls, the month is %+v", calls, month)
	}
	r.transcribe(t, r.beeps(t, "e.wav", 1), speech.Request{Model: "gpt-4o-mini-transcribe"})
	if entries := r.ledger(t); len(entries) != 1 || entries[0].Model != "gpt-4o-mini-transcribe" || entries[0].ChargedMicros > 300 {
		t.Errorf("the other model is told as %+v", entries)
	}
}

// The model that is asked is the one that is paid, for each connector.
func TestTheModelThatIsAskedIsPaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options           speech.Options
		request, expected string
	}{
		"whisper takes any":      {speech.Options{BaseURL: "http://a/v1"}, "large-v3", "large-v3"},
		"OpenAI's own":           {speech.Options{APIKey: key, Model: "gpt-4o-transcribe"}, "whisper-1", "whisper-1"},
		"not one of OpenAI's":    {speech.Options{APIKey: key, Model: "gpt-4o-transcribe"}, "large-v3", "gpt-4o-transcribe"},
		"an ASR service takes":   {speech.Options{ASRBaseURL: "http://b"}, "large-v3", "large-v3"},
		"an ASR service decides": {speech.Options{ASRBaseURL: "http://b"}, "", ""},
	} {
		c.options.Client = &http.Client{}
		engine, err := speech.New(c.options)
		if err != nil {
			t.Fatal(err)
		}
		if got := engine.Describe().Asked(speech.Request{Model: c.request}); got != c.expected {
			t.Errorf("%s: %q, want %q", name, got, c.expected)
		}
	}
}

// An attempt that was paid for in vain leaves no room for another: that ends the whole, and no gap is made of it.
func TestRoomThatIsGoneMidwayEndsTheWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t, shortParts(20*time.Second))
	r.bound(t, seconds(30))
	r.service.Script(asrtest.Segments())
	r.service.Always(func(asrtest.Call) asrtest.Reply { return cutOff() })
	_, err := r.Transcribe(context.Background(), r.beeps(t, "a.wav", 6), speech.Request{})
	if !problems.Is(err, problems.BudgetExceeded) {
		t.Errorf("got %v", err)
	}
	if calls, month := len(r.service.Calls()), r.month(t); calls != 2 || month.Spent.Seconds != 30 || month.Held != (models.Amount{}) {
		t.Errorf("%d calls, the month is %+v", calls, month)
	}
}

// Work does not go on without its hold: the call is canceled at the service.
func TestALostHoldEndsTheCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.db, r.purse = fund(t, func(o *budgets.Options) { o.Lease = 300 * time.Millisecond })
	r.service.Always(func(asrtest.Call) asrtest.Reply { r.loseHold(t); return asrtest.Reply{Hold: true} })
	_, err := r.Transcribe(context.Background(), r.beeps(t, "a.wav", 1), speech.Request{})
	if !errors.Is(err, budgets.ErrHoldLost) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.service.Await(ctx, func(s *asrtest.Server) bool { return s.Aborted() == 1 }); err != nil {
		t.Error(err)
	}
}

// Words that came although their call could not be settled are kept; no further call is sent in such a hold, where the
// first would be forgotten.
func TestWordsOfAnUnsettledCallAreKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words int
		lost  bool
	}{"in one piece": {2, false}, "in parts": {6, true}} {
		r := newRig(t, shortParts(20*time.Second))
		hears := r.service.HearsBeeps()
		r.service.Always(func(call asrtest.Call) asrtest.Reply { r.loseHold(t); return hears(call) })
		got, err := r.Transcribe(context.Background(), r.beeps(t, "a.wav", c.words), speech.Request{})
		if errors.Is(err, budgets.ErrHoldLost) != c.lost || !c.lost && len(got.Segments) != c.words {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if calls := len(r.service.Calls()); calls != 1 {
			t.Errorf("%s: %d calls", name, calls)
		}
	}
}

// impatient is the rig with a transcriber that waits for nothing longer than half a second.
func (r rig) impatient(t *testing.T, breaker *outbound.Breaker, longest time.Duration) rig {
	t.Helper()
	engine, err := speech.New(speech.Options{BaseURL: r.service.BaseURL(), APIKey: key, Client: &http.Client{}, MaxLength: longest})
	if err != nil {
		t.Fatal(err)
	}
	r.Transcriber = speech.NewTranscriber(engine, r.media, speech.TranscriberOptions{
		TempDir: r.temp, Backoff: time.Millisecond, MaxWait: 500 * time.Millisecond, Logger: slog.New(slog.DiscardHandler), Breaker: breaker,
	})
	return r
}

// A service that fails time after time is left alone: no call, no charge, and the wait is told. Then one call tries.
func TestAServiceOutOfOrderIsLeftAlone(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	r := newRig(t, nil).impatient(t, outbound.NewBreaker(time.Minute, now), 0)
	audio, ctx := r.beeps(t, "a.wav", 1), context.Background()
	r.service.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Fails(500) })
	for range 5 {
		if _, err := r.Transcribe(ctx, audio, speech.Request{}); providers.Wait(err) != 0 || providers.IsPermanent(err) {
			t.Fatalf("got %v", err)
		}
	}
	r.service.Always(r.service.HearsBeeps())
	_, err := r.Transcribe(ctx, audio, speech.Request{})
	if wait := providers.Wait(err); wait <= 0 || wait > time.Minute {
		t.Errorf("got %v with a wait of %s", err, wait)
	}
	if calls, entries, month := len(r.service.Calls()), len(r.ledger(t)), r.month(t); calls != 5 || entries != 5 || month.Held != (models.Amount{}) {
		t.Errorf("%d calls, %d entries, the month is %+v", calls, entries, month)
	}
	ahead.Store(int64(61 * time.Second))
	r.transcribe(t, audio, speech.Request{})
}

// Once a part is paid for, the rest waits for a busy service: who begins again pays again. Where that was in vain, no
// wait is told, so that the next attempt counts as one.
func TestWhatIsPaidForIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).impatient(t, nil, 20*time.Second)
	hears := r.service.HearsBeeps()
	r.service.Script(asrtest.Segments(), asrtest.Busy(1))
	r.service.Always(hears)
	audio := r.beeps(t, "a.wav", 6)
	if got := r.transcribe(t, audio, speech.Request{}); len(got.Gaps) != 0 || len(r.service.Calls()) != 3 {
		t.Errorf("gaps %+v after %d calls", got.Gaps, len(r.service.Calls()))
	}

	r.service.Always(func(call asrtest.Call) asrtest.Reply {
		if r.service.Hears(call, 0) {
			return cutOff()
		}
		return asrtest.Busy(1)
	})
	_, err := r.Transcribe(context.Background(), audio, speech.Request{})
	var failure *providers.Error
	if !errors.As(err, &failure) || failure.Kind != providers.RateLimited || providers.Wait(err) != 0 {
		t.Errorf("got %v with a wait of %s", err, providers.Wait(err))
	}
}
