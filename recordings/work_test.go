package recordings_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/speech"
)

var errService = errors.New("the service is out of order")

// An upload is transcribed: measured by decoding, stored as segments within the length, told once.
func TestTranscription(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		r.start()
		r.engine.script(func(_ context.Context, _ int, audio speech.Audio, request speech.Request) (speech.Answer, error) {
			if got := audio.Length.Seconds(); got < 1.9 || got > 2.1 || audio.Info.Container != "wav" || request.Language != "de" {
				t.Errorf("the engine was handed %+v, %+v", audio, request)
			}
			answer := says("hello")
			far := 99.0
			answer.Segments = append(answer.Segments, speech.Segment{Start: answer.Segments[0].End, End: &far, Text: "world"})
			return answer, nil
		})
		id := r.upload(wav(2, 1), "language", "de").Recording.ID
		row := r.await(id, recordings.StatusCompleted)
		if row.AudioDuration == nil || *row.AudioDuration < 1.9 || *row.AudioDuration > 2.1 || row.CompletedAt == nil || row.WorkToken != "" || row.JobID != 0 || !row.AICharged {
			t.Errorf("the row is %+v", row)
		}
		transcript, err := r.recordings.Transcript(context.Background(), r.owner, id)
		if err != nil {
			t.Fatal(err)
		}
		if len(transcript.Segments) != 2 || *transcript.Segments[1].End > *row.AudioDuration || *transcript.Segments[0].Speaker != "SPEAKER_00" || transcript.Segments[1].Speaker != nil {
			t.Errorf("the transcript is %+v", transcript)
		}
		if events := r.events(id); events["recording.created"] != 1 || events["recording.transcription.started"] != 1 || events["recording.transcription.completed"] != 1 || len(events) != 3 {
			t.Errorf("events are %v", events)
		}
		page, err := r.recordings.List(context.Background(), r.owner, recordings.Filter{})
		if err != nil || len(page.Recordings) != 1 || !page.Recordings[0].HasTranscript {
			t.Errorf("the list shows %+v, %v", page, err)
		}
		detail, err := r.recordings.Find(context.Background(), r.owner, id, true)
		if err != nil || *detail.Transcription != "[SPEAKER_00]: hello\nworld" {
			t.Errorf("the detail shows %+v, %v", detail, err)
		}
	})
}

// Nobody speaking is a result, not a failure; so is text without times.
func TestSilenceAndPlainText(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	r.start()
	r.engine.script(func(context.Context, int, speech.Audio, speech.Request) (speech.Answer, error) {
		return speech.Answer{}, nil
	})
	silent := r.upload(wav(1, 1)).Recording.ID
	r.await(silent, recordings.StatusCompleted)
	transcript, err := r.recordings.Transcript(context.Background(), r.owner, silent)
	if err != nil || len(transcript.Segments) != 0 || transcript.PlainText() != "" {
		t.Errorf("silence gave %+v, %v", transcript, err)
	}
	detail, err := r.recordings.Find(context.Background(), r.owner, silent, true)
	if err != nil || detail.Transcription != nil {
		t.Errorf("silence shows %v, %v", detail.Transcription, err)
	}
	r.engine.script(func(context.Context, int, speech.Audio, speech.Request) (speech.Answer, error) {
		return speech.Answer{Text: "just words"}, nil
	})
	plain := r.upload(wav(1, 2)).Recording.ID
	r.await(plain, recordings.StatusCompleted)
	transcript, err = r.recordings.Transcript(context.Background(), r.owner, plain)
	if err != nil || transcript.Kind != recordings.Plain || transcript.Raw != "just words" {
		t.Errorf("plain text gave %+v, %v", transcript, err)
	}
	_, err = transcript.SRT()
	expect(t, err, problems.NoTimings)
}

// A failure is tried again later and told only when it is given up; the start is told once, the audio stays, and
// the owner may try again.
func TestFailures(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		r.start()
		r.engine.script(func(_ context.Context, call int, _ speech.Audio, _ speech.Request) (speech.Answer, error) {
			if call == 1 {
				return speech.Answer{}, errService
			}
			return says("at last"), nil
		})
		second := r.upload(wav(1, 1)).Recording.ID
		r.await(second, recordings.StatusCompleted)
		if events := r.events(second); r.engine.called() != 2 || events["recording.transcription.started"] != 1 || events["recording.transcription.failed"] != 0 {
			t.Errorf("after %d calls the events are %v", r.engine.called(), events)
		}

		r.engine.script(func(context.Context, int, speech.Audio, speech.Request) (speech.Answer, error) {
			return speech.Answer{}, errService
		})
		before := r.engine.called()
		never := r.upload(wav(1, 2)).Recording.ID
		row := r.await(never, recordings.StatusFailed)
		if calls := r.engine.called() - before; calls != 3 {
			t.Errorf("it was given up after %d attempts, want 3", calls)
		}
		if row.ErrorCode == nil || *row.ErrorCode != "internal" || row.ErrorMessage == nil || row.AudioDeletedAt != nil || row.JobID != 0 {
			t.Errorf("the row is %+v", row)
		}
		if events := r.events(never); events["recording.transcription.failed"] != 1 || events["recording.transcription.started"] != 1 {
			t.Errorf("events are %v", events)
		}
		progress, err := r.recordings.Status(context.Background(), r.owner, never)
		if err != nil || progress.ErrorMessage == nil || progress.QueuePosition != nil {
			t.Errorf("the status is %+v, %v", progress, err)
		}

		r.engine.script(nil)
		if _, err := r.recordings.Transcribe(context.Background(), r.owner, r.purse, never, recordings.Hints{}); err != nil {
			t.Fatal(err)
		}
		if row := r.await(never, recordings.StatusCompleted); row.ErrorCode != nil || row.ErrorMessage != nil {
			t.Errorf("the reason stays: %+v", row)
		}
	})
}

// A file that is gone from the storage fails at once, with its reason.
func TestAudioThatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	id := r.upload(wav(1, 1)).Recording.ID
	row, _ := r.row(id)
	if err := os.Remove(filepath.Join(r.folder, "files", row.StorageKey)); err != nil {
		t.Fatal(err)
	}
	r.start()
	if row := r.await(id, recordings.StatusFailed); *row.ErrorCode != "audio_missing" || r.engine.called() != 0 {
		t.Errorf("the row is %+v after %d calls", row, r.engine.called())
	}
	_, err := r.recordings.OpenAudio(context.Background(), r.owner, id)
	expect(t, err, problems.NotFound)
}

// A transcription that waits or runs cannot be started again, of racing requests one wins, and the old transcript
// is gone at once.
func TestTranscribeAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		ctx := context.Background()
		id := r.upload(wav(1, 1), "hotwords", "kept").Recording.ID
		_, err := r.recordings.Transcribe(ctx, r.owner, r.purse, id, recordings.Hints{})
		expect(t, err, problems.InvalidState)
		r.start()
		r.await(id, recordings.StatusCompleted)
		r.stop()

		long := string(make([]byte, 40))
		_, err = r.recordings.Transcribe(ctx, r.owner, r.purse, id, recordings.Hints{Language: &long})
		expect(t, err, problems.InvalidParameter)
		language := "fr"
		var won atomic.Int64
		var racing sync.WaitGroup
		for range 8 {
			racing.Go(func() {
				_, err := r.recordings.Transcribe(ctx, r.owner, r.purse, id, recordings.Hints{Language: &language})
				switch {
				case err == nil:
					won.Add(1)
				case !problems.Is(err, problems.InvalidState):
					t.Errorf("a loser got %v", err)
				}
			})
		}
		racing.Wait()
		row, _ := r.row(id)
		if won.Load() != 1 || row.Status != recordings.StatusQueued || *row.Language != "fr" || *row.Hotwords != "kept" || !row.AICharged {
			t.Errorf("%d requests won and left %+v", won.Load(), row)
		}
		_, err = r.recordings.Transcript(ctx, r.owner, id)
		expect(t, err, problems.NotFound)
		if position, err := r.recordings.Status(ctx, r.owner, id); err != nil || position.QueuePosition == nil || *position.QueuePosition != 1 {
			t.Errorf("the status is %+v, %v", position, err)
		}
	})
}

// Uploads are charged one unit of the AI limits by their job, which waits for room and does not fail by it.
func TestAILimitsMakeWorkWait(t *testing.T) {
	t.Parallel()
	const window = 2 * time.Second
	r := newRig(t, sqliteURL(t), "", func(s *settings) { s.ai = []limits.Rate{{Period: window, Limit: 1}} })
	began := make(chan time.Time, 2)
	r.engine.script(func(context.Context, int, speech.Audio, speech.Request) (speech.Answer, error) {
		began <- time.Now()
		return says("x"), nil
	})
	first, second := r.upload(wav(1, 1)).Recording.ID, r.upload(wav(1, 2)).Recording.ID
	start := time.Now()
	r.start()
	for _, id := range []int64{first, second} {
		r.await(id, recordings.StatusCompleted)
		if events := r.events(id); events["recording.transcription.failed"] != 0 {
			t.Errorf("recording %d failed by a limit: %v", id, events)
		}
	}
	if <-began; (<-began).Sub(start) < window {
		t.Error("the second did not wait for room")
	}
}

// A retry charges nothing more: two uploads of which one is tried twice fit into two units.
func TestARetryChargesNothingMore(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", func(s *settings) { s.ai = []limits.Rate{{Period: time.Hour, Limit: 2}} })
	r.engine.script(func(_ context.Context, call int, _ speech.Audio, _ speech.Request) (speech.Answer, error) {
		if call == 1 {
			return speech.Answer{}, errService
		}
		return says("x"), nil
	})
	r.start()
	for seed := range 2 {
		r.await(r.upload(wav(1, seed)).Recording.ID, recordings.StatusCompleted)
	}
	if r.engine.called() != 3 {
		t.Errorf("%d calls, want 3", r.engine.called())
	}
}

// At most so many recordings of one organization are at work at once, however short a slot lives without being
// renewed; another organization's are not held up.
func TestSlotsPerOrganization(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ life, work time.Duration }{
		"given back": {time.Hour, 100 * time.Millisecond}, "renewed": {time.Second, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, sqliteURL(t), "", func(s *settings) { s.slots, s.recordings.SlotLife = 1, test.life })
			var mu sync.Mutex
			atWork, most := 0, 0
			r.engine.script(func(ctx context.Context, _ int, _ speech.Audio, request speech.Request) (speech.Answer, error) {
				if request.Hotwords == "other" {
					return says("x"), nil
				}
				mu.Lock()
				atWork++
				most = max(most, atWork)
				mu.Unlock()
				select {
				case <-time.After(test.work):
				case <-ctx.Done():
				}
				mu.Lock()
				atWork--
				mu.Unlock()
				return says("x"), ctx.Err()
			})
			var ids []int64
			for n := range 3 {
				ids = append(ids, r.upload(wav(1, n)).Recording.ID)
			}
			other, err := r.send(r.principal(r.account("other"), "full"), "a.wav", wav(1, 9), "hotwords", "other")
			if err != nil {
				t.Fatal(err)
			}
			r.start()
			r.await(other.Recording.ID, recordings.StatusCompleted)
			for _, id := range ids {
				r.await(id, recordings.StatusCompleted)
			}
			mu.Lock()
			defer mu.Unlock()
			if most != 1 {
				t.Errorf("%d recordings of one organization were at work at once", most)
			}
		})
	}
}

// A worker whose recording was claimed by another, or went away without a word, stops and stores nothing.
func TestAFencedWorkerFinishesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		working, stopped := make(chan struct{}), make(chan struct{})
		r.engine.script(func(ctx context.Context, _ int, _ speech.Audio, _ speech.Request) (speech.Answer, error) {
			close(working)
			<-ctx.Done()
			close(stopped)
			return says("too late"), nil // an engine that does not mind being canceled
		})
		r.start()
		id := r.upload(wav(1, 1)).Recording.ID
		<-working
		if row, _ := r.row(id); row.Status != recordings.StatusProcessing || row.WorkToken == "" {
			t.Errorf("at work the row is %+v", row)
		}
		err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
			return tx.Model(&models.Recording{}).Where("id = ?", id).UpdateColumn("work_token", "another worker's").Error
		})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-stopped:
		case <-time.After(patience):
			t.Fatal("the fenced worker goes on")
		}
		r.stop()
		row, _ := r.row(id)
		if row.Status != recordings.StatusProcessing || row.WorkToken != "another worker's" {
			t.Errorf("the fenced worker wrote %+v", row)
		}
		if events := r.events(id); events["recording.transcription.completed"] != 0 {
			t.Errorf("events are %v", events)
		}
	})
}

// A process that stops gives its work back; the next one finishes it, once.
func TestWorkGoesOnInAnotherProcess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		first := newRig(t, url, "", nil)
		working := make(chan struct{})
		first.engine.script(func(ctx context.Context, _ int, _ speech.Audio, _ speech.Request) (speech.Answer, error) {
			close(working)
			<-ctx.Done()
			return speech.Answer{}, ctx.Err()
		})
		first.start()
		id := first.upload(wav(1, 1)).Recording.ID
		<-working
		first.stop()
		if row, _ := first.row(id); row.Status != recordings.StatusProcessing {
			t.Errorf("after the stop it is %s", row.Status)
		}
		second := newRig(t, url, first.folder, nil)
		second.start()
		second.await(id, recordings.StatusCompleted)
		events := second.events(id)
		if events["recording.transcription.started"] != 1 || events["recording.transcription.completed"] != 1 || events["recording.transcription.failed"] != 0 {
			t.Errorf("events are %v", events)
		}
	})
}

// A storage that is not a folder of this machine: the file is fetched for the probe and for the work, and no copy
// stays.
func TestRemoteStorage(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", func(s *settings) { s.recordings.LocalPath = nil })
	r.start()
	id := r.upload(wav(1, 1)).Recording.ID
	r.await(id, recordings.StatusCompleted)
	r.until("only the stored file is left", func() bool { return len(r.left()) == 1 })
	_, err := r.send(r.owner, "a.mp3", []byte("no sound"))
	expect(t, err, problems.InvalidMedia)
	if left := r.left(); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
