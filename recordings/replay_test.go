package recordings_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// An upload that is sent again with its key makes nothing: the first one's recording is the answer, as it is now,
// whatever its fields say this time.
func TestAnUploadWithAKeyIsKeptOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		first := r.upload(wav(1, 1), "idempotency_key", " k ", "title", "First")
		again := r.upload(wav(1, 1), "idempotency_key", "k", "title", "Second", "strict", "true", "folder_id", "99")
		if first.Replayed || !again.Replayed || again.Recording.ID != first.Recording.ID || *again.Recording.Title != "First" {
			t.Errorf("first %+v, again %+v", first.Recording, again.Recording)
		}
		if r.recordingCount() != 1 || len(r.stored()) != 1 || r.events(first.Recording.ID)["recording.created"] != 1 {
			t.Errorf("%d recordings, files %v, events %v", r.recordingCount(), r.stored(), r.events(first.Recording.ID))
		}
	})
}

// A key is for one file. Another file under it is refused and leaves nothing; without a key, and with that of another
// account, everything is kept.
func TestAKeyOfAnUploadIsForOneFile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		r.upload(wav(1, 1), "idempotency_key", "k")
		other := wav(1, 2)
		if _, err := r.send(r.owner, "talk.wav", other, "idempotency_key", "k"); !problems.Is(err, problems.IdempotencyKeyReused) {
			t.Errorf("another file: %v", err)
		}
		if len(r.stored()) != 1 {
			t.Errorf("files %v", r.stored())
		}
		stranger := r.principal(r.account("stranger"), "full")
		for _, fields := range [][]string{{"idempotency_key", "k"}, {"idempotency_key", "k"}, {"idempotency_key", " "}} {
			if _, err := r.send(stranger, "talk.wav", other, fields...); err != nil {
				t.Fatal(err)
			}
		}
		if r.recordingCount() != 3 {
			t.Errorf("%d recordings, want the owner's one and the stranger's two", r.recordingCount())
		}
	})
}

// A key that is too long, or another than the header's, is refused; one that the header alone has counts.
func TestTheKeyOfAnUploadIsChecked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		for _, test := range []struct{ header, field string }{{"", strings.Repeat("k", 101)}, {"a", "b"}} {
			body, boundary := formWith(t, "talk.wav", wav(1, 1), "idempotency_key", test.field)
			if _, err := r.recordings.Upload(t.Context(), r.owner, body, boundary, test.header); !problems.Is(err, problems.InvalidParameter) {
				t.Errorf("header %q, field %q: %v", test.header, test.field, err)
			}
		}
		for range 2 {
			body, boundary := formWith(t, "talk.wav", wav(1, 1))
			if _, err := r.recordings.Upload(t.Context(), r.owner, body, boundary, "a"); err != nil {
				t.Fatal(err)
			}
		}
		if r.recordingCount() != 1 {
			t.Errorf("%d recordings, want 1", r.recordingCount())
		}
	})
}

// A deleted recording takes its key along: the next upload with it is a first one.
func TestTheKeyOfAnUploadDiesWithItsRecording(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		first := r.upload(wav(1, 1), "idempotency_key", "k")
		if err := r.recordings.Delete(t.Context(), r.owner, first.Recording.ID); err != nil {
			t.Fatal(err)
		}
		if next := r.upload(wav(1, 1), "idempotency_key", "k"); next.Replayed || next.Recording.ID == first.Recording.ID {
			t.Errorf("next %+v", next.Recording)
		}
	})
}

// Of many first uploads at once with one key exactly one is kept, and all are told of it.
func TestUploadsAtOnceWithOneKeyMakeOneRecording(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		var told sync.Map
		var racers sync.WaitGroup
		for range 6 {
			racers.Go(func() {
				accepted, err := r.send(r.owner, "talk.wav", wav(1, 1), "idempotency_key", "k")
				if err != nil {
					t.Error(err)
					return
				}
				told.Store(accepted.Recording.ID, true)
			})
		}
		racers.Wait()
		ids := 0
		told.Range(func(any, any) bool { ids++; return true })
		if ids != 1 || r.recordingCount() != 1 || len(r.stored()) != 1 {
			t.Errorf("%d ids told, %d recordings, files %v", ids, r.recordingCount(), r.stored())
		}
	})
}

// The same of a request to summarize: a second attempt finds the job, also when the summary is there by then (H-010).
func TestASummaryIsQueuedOncePerRequest(t *testing.T) {
	t.Parallel()
	r, _ := newTextRig(t, sqliteURL(t), "", nil)
	id := r.talk(3)
	claim := func() context.Context {
		t.Helper()
		claim, err := r.keys.Claim(t.Context(), r.user.ID, "k", strings.Repeat("a", 64), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		return idempotency.With(t.Context(), claim)
	}
	job, err := r.recordings.Summarize(claim(), r.owner, r.purse, id, recordings.Instructions{})
	if err != nil {
		t.Fatal(err)
	}
	r.rest(id, recordings.StatusCompleted)
	again, err := r.recordings.Summarize(claim(), r.owner, r.purse, id, recordings.Instructions{})
	if row, _ := r.row(id); err != nil || again != job || row.Status != recordings.StatusCompleted {
		t.Errorf("job %d, then %d, %v: the recording is %s", job, again, err, row.Status)
	}
}

// A request to transcribe whose process died between the job and the answer finds its job when it is sent again,
// also when that one has ended by then: nothing is transcribed and paid for twice.
func TestATranscriptionIsQueuedOncePerRequest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		id := r.upload(wav(1, 1)).Recording.ID
		r.rest(id, recordings.StatusCompleted)
		claim := func() context.Context {
			t.Helper()
			claim, err := r.keys.Claim(t.Context(), r.user.ID, "k", strings.Repeat("a", 64), id, 0)
			if err != nil {
				t.Fatal(err)
			}
			return idempotency.With(t.Context(), claim)
		}
		job, err := r.recordings.Transcribe(claim(), r.owner, r.purse, id, recordings.Hints{})
		if err != nil {
			t.Fatal(err)
		}
		r.rest(id, recordings.StatusCompleted)
		again, err := r.recordings.Transcribe(claim(), r.owner, r.purse, id, recordings.Hints{})
		if err != nil || again != job {
			t.Errorf("job %d, then %d, %v", job, again, err)
		}
		if row, _ := r.row(id); row.Status != recordings.StatusCompleted {
			t.Errorf("the recording is %s again", row.Status)
		}
	})
}
