package recordings_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/speech"
)

// aCentASecond prices the scripted engine's models, but one.
const aCentASecond = "currency: USD\naudio: [{provider: scripted, model: m, per_minute: 0.6}, {model: dear, per_minute: 6}]\n"

// bound replaces the budget of the owner's organization, or of the owner.
func (r *rig) bound(budget models.Budget) {
	r.t.Helper()
	owner := "organization_id"
	id := r.user.OrganizationID
	if budget.UserID != nil {
		owner, id, *budget.UserID = "user_id", r.user.ID, r.user.ID
	} else {
		budget.OrganizationID = &id
	}
	err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
		if err := tx.Where(owner+" = ?", id).Delete(&models.Budget{}).Error; err != nil {
			return err
		}
		return tx.Create(&budget).Error
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// month is what the organization has spent and held.
func (r *rig) month() (month models.BudgetMonth) {
	r.t.Helper()
	var rows []models.BudgetMonth
	if err := r.db.Read.Where("organization_id = ? AND user_id = 0", r.user.OrganizationID).Find(&rows).Error; err != nil {
		r.t.Fatal(err)
	}
	return append(rows, month)[0]
}

// ledger is what the calls for a recording were charged.
func (r *rig) ledger(id int64) (entries []models.LedgerEntry) {
	r.t.Helper()
	if err := r.db.Read.Where("recording_id = ?", id).Order("id").Find(&entries).Error; err != nil {
		r.t.Fatal(err)
	}
	return entries
}

// H-002: of eight uploads of four seconds under a budget of ten, two reach the service, whatever comes first. The others
// are kept and say why; nothing restarts by itself; with more money they can be started again.
func TestEightUploadsUnderABudgetForTwo(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) {
			s.prices, s.slots, s.jobs.MaxWorkers = aCentASecond, 8, 8
			s.jobs.RetryBase = time.Hour // whatever is tried again is not done when this test is
		})
		r.bound(models.Budget{Micros: new(int64(100_000))})
		decided := make(chan struct{})
		r.engine.script(func(ctx context.Context, _ int, _ speech.Audio, _ speech.Request) (speech.Answer, error) {
			select {
			case <-decided:
			case <-ctx.Done():
			}
			return says("x"), ctx.Err()
		})
		var ids []int64
		for seed := range 8 {
			ids = append(ids, r.upload(wav(4, seed)).Recording.ID)
		}
		count := func(status string) (found []int64) {
			for _, id := range ids {
				if row, _ := r.row(id); row.Status == status {
					found = append(found, id)
				}
			}
			return found
		}
		r.start()
		r.until("six were refused", func() bool {
			if month := r.month(); month.Spent.Micros+month.Held.Micros > 100_000 {
				t.Fatalf("beyond the budget: %+v", month)
			}
			return len(count(recordings.StatusFailed)) == 6
		})
		close(decided)
		r.until("two are done", func() bool { return len(count(recordings.StatusCompleted)) == 2 })
		r.until("nothing is held", func() bool { return r.month().Held == models.Amount{} })
		if month := r.month(); r.engine.called() != 2 || month.Spent.Seconds != 8 || month.Spent.Micros > 100_000 {
			t.Errorf("%d calls reached the service; the month is %+v", r.engine.called(), month)
		}
		failed := count(recordings.StatusFailed)
		r.refused(failed[0])
		ctx := context.Background()
		_, err := r.recordings.Transcribe(ctx, r.owner, r.purse, failed[0], recordings.Hints{})
		problem := expect(t, err, problems.BudgetExceeded)
		if problem.RetryAfter != 0 || problem.Fields["budget"] != 0.1 {
			t.Errorf("started again without room: %+v", problem)
		}
		r.refused(failed[0])

		r.bound(models.Budget{Micros: new(int64(1_000_000))})
		for _, id := range failed {
			r.refused(id) // and none has begun by itself
			if _, err := r.recordings.Transcribe(ctx, r.owner, r.purse, id, recordings.Hints{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range failed {
			if row := r.await(id, recordings.StatusCompleted); row.ErrorCode != nil || row.ErrorMessage != nil {
				t.Errorf("the reason stays: %+v", row)
			}
		}
	})
}

// refused requires a recording that was refused for money: FAILED, told why in words with figures, its audio kept, and
// no job for it.
func (r *rig) refused(id int64) {
	r.t.Helper()
	row, _ := r.row(id)
	if row.Status != recordings.StatusFailed || row.JobID != 0 || row.AudioDeletedAt != nil || row.ErrorCode == nil || *row.ErrorCode != "budget_exceeded" ||
		row.ErrorMessage == nil || !strings.Contains(*row.ErrorMessage, "budget") {
		r.t.Errorf("the recording is %+v", row)
	}
	audio, err := r.recordings.OpenAudio(context.Background(), r.owner, id)
	if err != nil {
		r.t.Error(err)
	} else if err := audio.Close(); err != nil {
		r.t.Error(err)
	}
}

// The ledger tells who, by which credential, what for, at which price; every attempt is a call of its own.
func TestWhatTheLedgerTells(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", func(s *settings) { s.prices = aCentASecond })
	r.engine.script(func(_ context.Context, call int, _ speech.Audio, _ speech.Request) (speech.Answer, error) {
		if call == 1 {
			return speech.Answer{}, &providers.Error{Kind: providers.ServiceFault, Status: 503}
		}
		return says("x"), nil
	})
	r.start()
	id := r.upload(wav(2, 1)).Recording.ID
	r.await(id, recordings.StatusCompleted)
	r.until("nothing is held", func() bool { return r.month().Held == models.Amount{} })
	entries := r.ledger(id)
	if len(entries) != 2 || entries[0].Outcome != string(budgets.Failed) || entries[0].ChargedMicros != 0 {
		t.Fatalf("the ledger is %+v", entries)
	}
	e := entries[1]
	if e.Outcome != string(budgets.Done) || e.OrganizationID != r.user.OrganizationID || e.UserID != r.user.ID || *e.TokenID != r.owner.TokenID() ||
		e.Operation != "transcription" || e.Provider != "scripted" || e.Model != "m" || e.Price != "0.6 USD per minute" || e.AudioSeconds != 2 || e.ChargedMicros < 20_000 || e.ChargedMicros > 20_100 {
		t.Errorf("the entry is %+v", e)
	}
	if month := r.month(); month.Spent.Micros != e.ChargedMicros || month.Spent.Seconds != 2 || month.Spent.Tokens != 0 {
		t.Errorf("the month is %+v", month)
	}
}

// Under a budget a model whose price nobody knows transcribes nothing, and is not tried again; without one it does.
func TestAModelWithoutPrice(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", func(s *settings) { s.prices = aCentASecond })
	r.start()
	free := r.upload(wav(1, 1), "transcription_model", "of-my-own").Recording.ID
	r.await(free, recordings.StatusCompleted)
	r.bound(models.Budget{Micros: new(int64(1_000_000))})
	refused := r.upload(wav(1, 2), "transcription_model", "of-my-own").Recording.ID
	row := r.await(refused, recordings.StatusFailed)
	r.refused(refused)
	if r.engine.called() != 1 || !strings.Contains(*row.ErrorMessage, "of-my-own") || len(r.ledger(refused)) != 0 {
		t.Errorf("%d calls; the row is %+v", r.engine.called(), row)
	}
	if _, err := r.recordings.Transcribe(context.Background(), r.owner, r.purse, refused, recordings.Hints{Model: new("m")}); err != nil {
		t.Fatal(err)
	}
	r.await(refused, recordings.StatusCompleted)
}

// Seconds of audio are a budget too, the account's as well as the organization's; tokens bound no audio.
func TestABudgetOfSeconds(t *testing.T) {
	t.Parallel()
	for name, budget := range map[string]models.Budget{
		"organization": {Seconds: new(int64(3)), Tokens: new(int64(0))},
		"account":      {UserID: new(int64), Seconds: new(int64(3)), Tokens: new(int64(0))},
	} {
		r := newRig(t, sqliteURL(t), "", nil)
		r.bound(budget)
		r.start()
		r.await(r.upload(wav(2, 1)).Recording.ID, recordings.StatusCompleted)
		second := r.upload(wav(2, 2)).Recording.ID
		r.await(second, recordings.StatusFailed)
		r.refused(second)
		if r.engine.called() != 1 {
			t.Errorf("%s: %d calls", name, r.engine.called())
		}
		_, err := r.recordings.Transcribe(context.Background(), r.owner, r.purse, second, recordings.Hints{})
		if problem := expect(t, err, problems.BudgetExceeded); problem.Fields["scope"] != name || problem.Fields["spent"] != int64(2) || problem.Fields["budget"] != int64(3) {
			t.Errorf("%s: %+v", name, problem)
		}
	}
}

// A new transcription for which there is no room is refused before anything is changed: the old transcript stays. What
// counts is the model that would be asked, and in a batch each recording for itself.
func TestTranscribeWithoutRoomChangesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) { s.prices = aCentASecond })
		r.start()
		short, long := r.upload(wav(1, 1)).Recording.ID, r.upload(wav(4, 2)).Recording.ID
		for _, id := range []int64{short, long} {
			r.await(id, recordings.StatusCompleted)
		}
		r.until("nothing is held", func() bool { return r.month().Held == models.Amount{} })
		r.bound(models.Budget{Micros: new(r.month().Spent.Micros + 20_000)}) // two seconds
		ctx := context.Background()
		unchanged := func(id int64) {
			t.Helper()
			transcript, err := r.recordings.Transcript(ctx, r.owner, id)
			if row, _ := r.row(id); err != nil || len(transcript.Segments) != 1 || row.Status != recordings.StatusCompleted || row.JobID != 0 {
				t.Errorf("the recording is %+v with %+v, %v", row, transcript, err)
			}
		}
		_, err := r.recordings.Transcribe(ctx, r.owner, r.purse, long, recordings.Hints{})
		expect(t, err, problems.BudgetExceeded)
		unchanged(long)
		_, err = r.recordings.Transcribe(ctx, r.owner, r.purse, short, recordings.Hints{Model: new("dear")})
		expect(t, err, problems.BudgetExceeded)
		unchanged(short)
		_, err = r.recordings.Transcribe(ctx, r.principal(r.account("other"), "full"), r.purse, short, recordings.Hints{Model: new("dear")})
		expect(t, err, problems.NotFound)
		outcomes, err := r.recordings.TranscribeBatch(ctx, r.owner, r.purse, []int64{long, short})
		if err != nil || outcomes[0].Err == nil || outcomes[0].Err.Kind != problems.BudgetExceeded || outcomes[1].Err != nil {
			t.Fatalf("the batch came to %+v, %v", outcomes, err)
		}
		unchanged(long)
		r.await(short, recordings.StatusCompleted)
	})
}

// Of a batch as many are queued as there is room for together; the others keep their transcripts.
func TestABatchIsQueuedAsFarAsTheBudgetGoes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) { s.prices = aCentASecond })
		r.start()
		var ids []int64
		for i := range 4 {
			ids = append(ids, r.upload(wav(1, i+1)).Recording.ID)
		}
		for _, id := range ids {
			r.await(id, recordings.StatusCompleted)
		}
		r.until("nothing is held", func() bool { return r.month().Held == models.Amount{} })
		r.bound(models.Budget{Micros: new(r.month().Spent.Micros + 20_000)}) // two seconds
		outcomes, err := r.recordings.TranscribeBatch(t.Context(), r.owner, r.purse, ids)
		if err != nil {
			t.Fatal(err)
		}
		for i, outcome := range outcomes {
			r.await(ids[i], recordings.StatusCompleted)
			if refused := outcome.Err != nil && outcome.Err.Kind == problems.BudgetExceeded; refused != (i >= 2) || (outcome.JobID == 0) != (i >= 2) {
				t.Errorf("number %d came to %+v", i, outcome)
			}
		}
	})
}

// A service that says for how long it is busy is waited for by the job, and that burns no attempt; but not for ever.
func TestABusyServiceIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ahead  time.Duration
		status string
	}{"waited for": {0, recordings.StatusCompleted}, "not for ever": {25 * time.Hour, recordings.StatusFailed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, sqliteURL(t), "", func(s *settings) {
				s.speech.MaxWait = 10 * time.Millisecond
				s.recordings.Now = func() time.Time { return time.Now().Add(c.ahead) }
			})
			var mu sync.Mutex // protects calls
			var calls []time.Time
			r.engine.script(func(_ context.Context, call int, _ speech.Audio, _ speech.Request) (speech.Answer, error) {
				mu.Lock()
				calls = append(calls, time.Now())
				mu.Unlock()
				if call <= 4 { // more often than a job is tried
					return speech.Answer{}, &providers.Error{Kind: providers.RateLimited, Status: 429, RetryAfter: time.Second}
				}
				return says("x"), nil
			})
			id := r.upload(wav(1, 1)).Recording.ID
			r.start()
			row := r.await(id, c.status)
			if c.status == recordings.StatusFailed {
				if row.ErrorCode == nil || *row.ErrorCode == "internal" {
					t.Errorf("the row is %+v", row)
				}
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for i := 1; i < len(calls); i++ {
				if calls[i].Sub(calls[i-1]) < time.Second {
					t.Errorf("call %d came %s after the one before", i, calls[i].Sub(calls[i-1]))
				}
			}
			if len(calls) != 5 || r.month().Spent.Seconds != 1 {
				t.Errorf("%d calls; the month is %+v", len(calls), r.month())
			}
		})
	}
}
