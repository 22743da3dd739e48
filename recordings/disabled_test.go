package recordings_test

import (
	"context"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/speech"
)

// disable switches an account off, or on again, as an administrator does.
func (r *rig) disable(user models.User, off bool) {
	r.t.Helper()
	var at *time.Time
	if off {
		at = new(time.Now())
	}
	err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
		return tx.Model(&models.User{}).Where("id = ?", user.ID).UpdateColumn("disabled_at", at).Error
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// blocked makes the engine wait until its context is over; began and ended tell of it.
func (r *rig) blocked() (began, ended chan time.Time) {
	began, ended = make(chan time.Time, 9), make(chan time.Time, 9)
	r.engine.script(func(ctx context.Context, _ int, _ speech.Audio, _ speech.Request) (speech.Answer, error) {
		began <- time.Now()
		<-ctx.Done()
		ended <- time.Now()
		return speech.Answer{}, ctx.Err()
	})
	return began, ended
}

func receive(t testing.TB, what string, from <-chan time.Time) {
	t.Helper()
	select {
	case <-from:
	case <-time.After(patience):
		t.Fatalf("%s: waited in vain", what)
	}
}

// Rule (H-039): work for a disabled account is cancelled, the provider's call too, and what waits does not begin. The
// recordings fail with account_disabled, nothing stays held, and after the account is enabled they can be started again.
func TestWorkForADisabledAccountStops(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) { s.slots, s.prices = 1, aCentASecond })
		r.grant(1_000_000)
		began, ended := r.blocked()
		r.start()
		working := r.upload(wav(1, 1)).Recording.ID
		receive(t, "the work begins", began)
		waiting := r.upload(wav(1, 2)).Recording.ID
		r.disable(r.user, true)
		receive(t, "the call ends", ended)
		for _, id := range []int64{working, waiting} {
			row := r.await(id, recordings.StatusFailed)
			if row.ErrorCode == nil || *row.ErrorCode != "account_disabled" || row.JobID != 0 {
				t.Errorf("recording %d failed as %+v", id, row)
			}
		}
		if calls := r.engine.called(); calls != 1 {
			t.Errorf("the engine was called %d times, want once", calls)
		}
		r.until("the hold is settled", func() bool { return r.month().Held == models.Amount{} })
		if calls := r.ledger(working); len(calls) != 1 || calls[0].Outcome != string(budgets.Canceled) {
			t.Errorf("the ledger tells %+v", calls)
		}
		r.disable(r.user, false)
		r.engine.script(nil)
		if _, err := r.recordings.Transcribe(context.Background(), r.owner, r.purse, waiting, recordings.Hints{}); err != nil {
			t.Fatal(err)
		}
		r.await(waiting, recordings.StatusCompleted)
	})
}

// Rule (H-001, H-039): an administrator's retry of a job that gave up goes by the state of its recording: it begins anew
// once, and not while the account is disabled, nor when its owner was faster. Other organizations' jobs do not exist.
func TestRetryingAJobThatGaveUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", func(s *settings) { s.prices = aCentASecond })
		r.grant(1_000_000)
		began, ended := r.blocked()
		r.start()
		id := r.upload(wav(1, 1)).Recording.ID
		receive(t, "the work begins", began)
		r.disable(r.user, true)
		receive(t, "the call ends", ended)
		r.await(id, recordings.StatusFailed)
		job := r.gaveUp(1)[0]
		if job.RecordingID != id || job.Code != "account_disabled" || job.Kind != "transcribe_recording" || job.UserID != r.user.ID {
			t.Errorf("the list shows %+v", job)
		}
		r.engine.script(nil)
		expect(t, r.recordings.RetryJob(ctx, r.user.OrganizationID, job.ID), problems.InvalidState)
		r.disable(r.user, false)
		stranger := r.account("stranger").OrganizationID
		expect(t, r.recordings.RetryJob(ctx, stranger, job.ID), problems.NotFound)
		expect(t, r.recordings.DiscardJob(ctx, stranger, job.ID), problems.NotFound)
		if list, total, err := r.jobs.ListGivenUp(ctx, stranger, 10, 0); err != nil || total != 0 || len(list) != 0 {
			t.Errorf("strangers see %v, %d, %v", list, total, err)
		}
		if err := r.recordings.RetryJob(ctx, r.user.OrganizationID, job.ID); err != nil {
			t.Fatal(err)
		}
		expect(t, r.recordings.RetryJob(ctx, r.user.OrganizationID, job.ID), problems.NotFound)
		r.await(id, recordings.StatusCompleted)
		r.gaveUp(0)
		if held := r.month().Held; held != (models.Amount{}) {
			t.Errorf("%+v stays held", held)
		}
		if calls := r.ledger(id); len(calls) != 2 {
			t.Errorf("the ledger tells %+v", calls)
		}
	})
}

// Rule (H-001): a job that gave up is not begun anew where its owner has started the recording again; what was discarded
// is gone.
func TestAnOldJobIsNotBegunAnew(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		// Nobody watches: what begins goes through.
		r := newRig(t, url, "", func(s *settings) { s.prices, s.recordings.WatchEvery = aCentASecond, time.Hour })
		r.grant(1_000_000)
		r.start()
		r.disable(r.user, true)
		id := r.upload(wav(1, 1)).Recording.ID
		r.await(id, recordings.StatusFailed)
		job := r.gaveUp(1)[0]
		r.disable(r.user, false)
		if _, err := r.recordings.Transcribe(ctx, r.owner, r.purse, id, recordings.Hints{}); err != nil {
			t.Fatal(err)
		}
		r.await(id, recordings.StatusCompleted)
		expect(t, r.recordings.RetryJob(ctx, 0, job.ID), problems.InvalidState)
		if calls := r.engine.called(); calls != 1 {
			t.Errorf("the engine was called %d times, want once", calls)
		}
		if err := r.recordings.DiscardJob(ctx, 0, job.ID); err != nil {
			t.Fatal(err)
		}
		r.gaveUp(0)
		expect(t, r.recordings.DiscardJob(ctx, 0, job.ID), problems.NotFound)
	})
}

// Rule (H-001): a summary that its owner has asked for again, and got, is not made over by the job that gave up before.
func TestAnOldSummaryIsNotBegunAnew(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r, model := newTextRig(t, sqliteURL(t), "", nil)
	model.Always(answers("They agreed.", "Title", "{}"))
	r.start()
	id := r.talk(3)
	summarize := func(status string) {
		t.Helper()
		if _, err := r.recordings.Summarize(ctx, r.owner, r.purse, id, recordings.Instructions{}); err != nil {
			t.Fatal(err)
		}
		r.await(id, status)
	}
	r.disable(r.user, true)
	summarize(recordings.StatusFailed)
	job := r.gaveUp(1)[0]
	r.disable(r.user, false)
	summarize(recordings.StatusCompleted)
	expect(t, r.recordings.RetryJob(ctx, 0, job.ID), problems.InvalidState)
	if row, _ := r.row(id); given(row.Summary) != "They agreed." || row.Status != recordings.StatusCompleted {
		t.Errorf("the row is %+v", row)
	}
}

// gaveUp waits until so many jobs of the owner's organization have given up, and lists them.
func (r *rig) gaveUp(many int) []jobs.GivenUp {
	r.t.Helper()
	var list []jobs.GivenUp
	r.until("the jobs that gave up", func() bool {
		var total int64
		var err error
		if list, total, err = r.jobs.ListGivenUp(context.Background(), r.user.OrganizationID, 10, 0); err != nil {
			r.t.Fatal(err)
		}
		return len(list) == many && total == int64(many)
	})
	return list
}
