package recordings_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// A summary that a job starts is charged one unit of the AI limits, which it waits for; one that a request asked for, and
// was charged for, charges none.
func TestSummariesAreChargedOnce(t *testing.T) {
	t.Parallel()
	const window = 2 * time.Second
	r, model := newTextRig(t, sqliteURL(t), "", func(s *settings) { s.ai = []limits.Rate{{Period: window, Limit: 1}} })
	r.engine.script(long)
	start := time.Now()
	r.start()
	id := r.upload(wav(1, 1)).Recording.ID
	if r.await(id, recordings.StatusCompleted); time.Since(start) < window {
		t.Error("the summary did not wait for room")
	}
	if told := r.events(id); told["recording.summary.failed"] != 0 {
		t.Errorf("a limit failed it: %v", told)
	}
	r.stop()
	hourly, _ := newTextRig(t, sqliteURL(t), "", func(s *settings) { s.ai = []limits.Rate{{Period: time.Hour, Limit: 1}} })
	hourly.start()
	for range 2 {
		id := hourly.talk(2)
		if _, err := hourly.recordings.Summarize(context.Background(), hourly.owner, hourly.purse, id, recordings.Instructions{}); err != nil {
			t.Fatal(err)
		}
		hourly.await(id, recordings.StatusCompleted)
	}
	if len(model.Calls()) == 0 {
		t.Error("no summary was made")
	}
}

// Of summaries that are asked for at once one is queued; the others are refused (H-010).
func TestOfRacingSummariesOneIsQueued(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, _ := newTextRig(t, url, "", nil)
		id := r.talk(2)
		var won atomic.Int64
		var racing sync.WaitGroup
		for range 8 {
			racing.Go(func() {
				_, err := r.recordings.Summarize(context.Background(), r.owner, r.purse, id, recordings.Instructions{})
				switch {
				case err == nil:
					won.Add(1)
				case !problems.Is(err, problems.InvalidState):
					t.Errorf("a loser got %v", err)
				}
			})
		}
		racing.Wait()
		if won.Load() != 1 {
			t.Errorf("%d summaries were queued", won.Load())
		}
	})
}

// A title that somebody types while a recording is summarized stays, and so does a summary.
func TestWhatIsTypedMeanwhileStays(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", nil)
	model.Always(answers("Good.", "A model's", ""))
	resume := model.Pause()
	r.start()
	id, other := r.talk(2), r.talk(2)
	r.texts(id, map[string]any{"title": "Recording - x.wav"})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, id := range []int64{id, other} {
		if _, err := r.recordings.Summarize(ctx, r.owner, r.purse, id, recordings.Instructions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := model.Await(ctx, func(s *llmtest.Server) bool { return s.InFlight() == 2 }); err != nil {
		t.Fatal(err)
	}
	if _, err := r.recordings.Patch(ctx, r.owner, id, nil, recordings.Patch{Title: recordings.Edit[string]{Given: true, Value: ptr("Recording - mine")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.recordings.Patch(ctx, r.owner, other, nil, recordings.Patch{Summary: recordings.Edit[string]{Given: true, Value: ptr("Mine.")}}); err != nil {
		t.Fatal(err)
	}
	resume()
	if row := r.await(other, recordings.StatusCompleted); given(row.Summary) != "Mine." {
		t.Errorf("the summary is %q", given(row.Summary))
	}
	if row := r.await(id, recordings.StatusCompleted); given(row.Title) != "Recording - mine" || !row.TitleByUser || given(row.Summary) != "Good." {
		t.Errorf("the row is %+v", row)
	}
}

// A worker whose recording was claimed by another stops, cancels its call, and stores nothing.
func TestAFencedSummaryIsNotStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newTextRig(t, url, "", nil)
		model.Script(llmtest.Reply{Hold: true})
		r.start()
		id := r.talk(2)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := r.recordings.Summarize(ctx, r.owner, r.purse, id, recordings.Instructions{}); err != nil {
			t.Fatal(err)
		}
		if err := model.Await(ctx, func(s *llmtest.Server) bool { return s.InFlight() == 1 }); err != nil {
			t.Fatal(err)
		}
		r.texts(id, map[string]any{"work_token": "another worker's"})
		if err := model.Await(ctx, func(s *llmtest.Server) bool { return s.Aborted() == 1 }); err != nil {
			t.Fatal("the fenced worker goes on")
		}
		r.stop()
		if row, _ := r.row(id); row.Status != recordings.StatusSummarizing || row.WorkToken != "another worker's" || row.Summary != nil {
			t.Errorf("the fenced worker wrote %+v", row)
		}
		if told := r.events(id); len(told) != 0 {
			t.Errorf("events are %v", told)
		}
	})
}

// A summary that is there when the server stops is stored, without the title that was still asked for: the next process
// does not pay for it again.
func TestAStopKeepsTheSummaryThatIsThere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newTextRig(t, url, "", nil)
		model.Script(llmtest.Says("They spoke of the garden."), llmtest.Reply{Hold: true})
		r.start()
		id := r.talk(3)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _, err := r.recordings.Summarize(ctx, r.owner, r.purse, id, recordings.Instructions{}); err != nil {
			t.Fatal(err)
		}
		if err := model.Await(ctx, func(s *llmtest.Server) bool { return len(s.Calls()) == 2 }); err != nil {
			t.Fatal(err)
		}
		r.stop()
		if row, _ := r.row(id); row.Status != recordings.StatusCompleted || given(row.Summary) != "They spoke of the garden." {
			t.Errorf("it is %s with the summary %q", row.Status, given(row.Summary))
		}
	})
}
