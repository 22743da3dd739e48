package recordings_test

import (
	"context"
	"testing"
	"time"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/speech"
)

// A recording can be deleted in every state: its rows go, its media goes, the work on it stops and frees its slot,
// what it cost is settled, and the deletion is told (H-069).
func TestDeleteInEveryState(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) { s.slots, s.recordings.SlotLife = 1, time.Hour })
		working, stopped := make(chan struct{}, 1), make(chan struct{}, 1)
		r.engine.script(func(ctx context.Context, _ int, _ speech.Audio, request speech.Request) (speech.Answer, error) {
			switch request.Hotwords {
			case "block":
				working <- struct{}{}
				<-ctx.Done()
				stopped <- struct{}{}
				return speech.Answer{}, ctx.Err()
			case "fail":
				return speech.Answer{}, errService
			}
			return says("x"), nil
		})
		ctx := context.Background()
		queued := r.upload(wav(1, 1)).Recording.ID
		if err := r.recordings.Delete(ctx, r.owner, queued); err != nil {
			t.Fatalf("delete while queued: %v", err)
		}
		r.start()
		completed := r.upload(wav(1, 2)).Recording.ID
		r.await(completed, recordings.StatusCompleted)
		failed := r.upload(wav(1, 3), "hotwords", "fail").Recording.ID
		r.await(failed, recordings.StatusFailed)
		running := r.upload(wav(1, 4), "hotwords", "block").Recording.ID
		select {
		case <-working:
		case <-time.After(patience):
			t.Fatal("the work did not begin")
		}
		for _, id := range []int64{completed, failed, running} {
			if err := r.recordings.Delete(ctx, r.owner, id); err != nil {
				t.Errorf("delete %d: %v", id, err)
			}
		}
		select {
		case <-stopped:
		case <-time.After(patience):
			t.Fatal("the work goes on")
		}
		for _, id := range []int64{queued, completed, failed, running} {
			if _, ok := r.row(id); ok {
				t.Errorf("recording %d is still there", id)
			}
			if events := r.events(id); events["recording.deleted"] != 1 {
				t.Errorf("events of %d are %v", id, events)
			}
			expect(t, r.recordings.Delete(ctx, r.owner, id), problems.NotFound)
		}
		r.until("the media is gone", func() bool { return len(r.left()) == 0 })
		var transcripts int64
		if err := r.db.Read.Model(&models.Transcript{}).Count(&transcripts).Error; err != nil || transcripts != 0 {
			t.Errorf("%d transcripts are left, %v", transcripts, err)
		}
		// The call that was out is paid, nothing stays held, and the slot is free.
		r.until("the hold is settled", func() bool { return r.month().Held == models.Amount{} })
		if calls := r.ledger(running); len(calls) != 1 || calls[0].Outcome != string(budgets.Canceled) || calls[0].AudioSeconds != 1 {
			t.Errorf("the ledger tells %+v", calls)
		}
		r.await(r.upload(wav(1, 5)).Recording.ID, recordings.StatusCompleted)
	})
}
