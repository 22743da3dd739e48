package speech_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/speech"
	"github.com/stenometer/stenometer/tests/asrtest"
)

// shortParts makes the engine state a bound of so many seconds, with a service that hears beeps and refuses more.
func shortParts(longest time.Duration) func(*speech.Options, *asrtest.Server) {
	return func(o *speech.Options, s *asrtest.Server) {
		o.MaxLength = longest
		s.Always(asrtest.RefusesLongerThan(longest, s.HearsBeeps()))
	}
}

// H-067: forty minutes against a model that takes ten: every word is there once, at its time, in its order.
func TestLongAudioIsSplitAtPauses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("forty minutes of audio take a while to compress")
	}
	r := newRig(t, shortParts(600*time.Second))
	const words = 40 * 60 / 5
	got := r.transcribe(t, r.beeps(t, "long.wav", words), speech.Request{})
	checkBeeps(t, got, 0, words)
	if len(got.Gaps) != 0 {
		t.Errorf("gaps %+v", got.Gaps)
	}
	calls := r.service.Calls()
	if len(calls) != 5 {
		t.Errorf("%d parts, want 5", len(calls))
	}
	for i, call := range calls {
		if call.Length > 600*time.Second || call.Size > 25<<20 || call.FileType != "audio/mpeg" || call.FileName != "audio.mp3" {
			t.Errorf("part %d: %+v", i, call)
		}
	}
}

// checkBeeps requires the words [from, to), each once and within half a second of where it was put.
func checkBeeps(t *testing.T, got speech.Transcript, from, to int) {
	t.Helper()
	var heard []speech.Segment
	for _, s := range got.Segments {
		if n := beep(s.Text); n >= from && n < to {
			heard = append(heard, s)
		}
	}
	if len(heard) != to-from {
		t.Fatalf("%d of %d words", len(heard), to-from)
	}
	for i, s := range heard {
		n := from + i
		want := float64(n)*5 + 2.5
		if s.Text != asrtest.Beep(n) || math.Abs(*s.Start-want) > 0.5 || math.Abs(*s.End-want-0.6) > 0.5 {
			t.Fatalf("word %d is %q at %.2f-%.2f, want %q at %.2f", n, s.Text, *s.Start, *s.End, asrtest.Beep(n), want)
		}
	}
}

func beep(text string) int {
	for n := range 1000 {
		if asrtest.Beep(n) == text {
			return n
		}
	}
	return -1
}

// A part that fails once is tried again, alone.
func TestFailedPartIsRetriedAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, shortParts(20*time.Second))
	failed := false
	hears := r.service.HearsBeeps()
	r.service.Always(func(call asrtest.Call) asrtest.Reply {
		if !failed && r.service.Hears(call, 5) {
			failed = true
			return asrtest.Fails(504)
		}
		return hears(call)
	})
	audio := r.beeps(t, "a.wav", 12)
	got := r.transcribe(t, audio, speech.Request{})
	checkBeeps(t, got, 0, 12)
	if len(got.Gaps) != 0 || !failed {
		t.Errorf("gaps %+v, failed %v", got.Gaps, failed)
	}
	if calls := len(r.service.Calls()); calls != 5 {
		t.Errorf("%d calls, want 4 parts and one extra attempt", calls)
	}
}

// A part that keeps failing is a stated gap; the rest is complete. A permanent refusal is not tried again.
func TestPartThatKeepsFailingIsAGap(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails asrtest.Reply
		calls int
	}{
		"504 for ever":  {asrtest.Fails(504), 4 - 1 + 3},
		"413 permanent": {asrtest.Fails(413), 4},
	} {
		r := newRig(t, shortParts(20*time.Second))
		hears := r.service.HearsBeeps()
		r.service.Always(func(call asrtest.Call) asrtest.Reply {
			if r.service.Hears(call, 5) {
				return c.fails
			}
			return hears(call)
		})
		got := r.transcribe(t, r.beeps(t, "a.wav", 12), speech.Request{})
		if len(got.Gaps) != 1 {
			t.Fatalf("%s: gaps %+v", name, got.Gaps)
		}
		gap := got.Gaps[0]
		if gap.Start > 5*5+2.5 || gap.End < 5*5+3 || gap.End-gap.Start > 20 || gap.Reason == "" || strings.Contains(gap.Reason, "SECRET") {
			t.Errorf("%s: gap %+v", name, gap)
		}
		checkBeeps(t, got, 0, int(gap.Start/5))
		checkBeeps(t, got, int(math.Ceil(gap.End/5)), 12)
		if calls := len(r.service.Calls()); calls != c.calls {
			t.Errorf("%s: %d calls, want %d", name, calls, c.calls)
		}
	}
}

// When nothing succeeds the whole call fails, early, with the service's error; what is about the account ends at once.
func TestServiceThatIsDownFailsTheWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t, shortParts(20*time.Second))
	audio := r.beeps(t, "a.wav", 20)
	for _, c := range []struct {
		status, calls int
		retryable     bool
	}{{503, 2 * 3, true}, {401, 1, false}} {
		before := len(r.service.Calls())
		r.service.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Fails(c.status) })
		_, err := r.Transcribe(context.Background(), audio, speech.Request{})
		var failure *providers.Error
		if !errors.As(err, &failure) || failure.Status != c.status || failure.Permanent == c.retryable {
			t.Errorf("%d: %v", c.status, err)
		}
		if calls := len(r.service.Calls()) - before; calls != c.calls {
			t.Errorf("%d: %d calls, want %d", c.status, calls, c.calls)
		}
	}
}

// A wait that the service asks for is kept when it is short, and passed on when it is not.
func TestRetryAfterIsRespected(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	audio := r.beeps(t, "a.wav", 1)
	r.service.Script(asrtest.Busy(1))
	started := time.Now()
	r.transcribe(t, audio, speech.Request{})
	if waited := time.Since(started); waited < time.Second {
		t.Errorf("waited %s of 1s", waited)
	}
	r.service.Script(asrtest.Busy(600))
	_, err := r.Transcribe(context.Background(), audio, speech.Request{})
	var failure *providers.Error
	if !errors.As(err, &failure) || failure.RetryAfter != 600*time.Second {
		t.Errorf("got %v", err)
	}
	if calls := len(r.service.Calls()); calls != 3 {
		t.Errorf("%d calls, want 3", calls)
	}
}

// A recording in one piece is attempted once: its retries belong to the job.
func TestWholeRecordingIsAttemptedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.service.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Fails(500) })
	if _, err := r.Transcribe(context.Background(), r.beeps(t, "a.wav", 1), speech.Request{}); err == nil {
		t.Fatal("no error")
	}
	if calls := len(r.service.Calls()); calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
}

func TestWhatTheEngineDoesNotTakeIsConverted(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for name, info := range map[string]media.Info{
		"a container":     {Container: "amr", Codec: "amrnb", MIME: "audio/amr", Extension: ".amr"},
		"a codec":         {Container: "ogg", Codec: "opus", MIME: "audio/ogg", Extension: ".ogg"},
		"moving pictures": {Container: "mp4", Codec: "aac", MIME: "video/mp4", Extension: ".mp4", HasVideo: true},
	} {
		audio := r.beeps(t, "a.wav", 1)
		audio.Info = info
		r.transcribe(t, audio, speech.Request{})
		calls := r.service.Calls()
		if last := calls[len(calls)-1]; last.FileType != "audio/mpeg" || last.Length < 4*time.Second {
			t.Errorf("%s was sent as %+v", name, last)
		}
	}
}

// A service that refuses the file as it is gets it once more as WAV, which everything decodes.
func TestRefusedFormatIsConvertedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.service.Always(func(call asrtest.Call) asrtest.Reply {
		if call.FileType != "audio/wav" {
			return asrtest.Fails(415)
		}
		return asrtest.Plain("WAV it is.")
	})
	audio := r.beeps(t, "a.mp3", 1)
	if got := r.transcribe(t, audio, speech.Request{}); got.Text != "WAV it is." {
		t.Errorf("transcript %+v", got)
	}
	if calls := len(r.service.Calls()); calls != 2 {
		t.Errorf("%d calls, want 2", calls)
	}
	r.service.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Fails(415) })
	_, err := r.Transcribe(context.Background(), audio, speech.Request{})
	if !providers.IsPermanent(err) {
		t.Errorf("got %v", err)
	}
	if calls := len(r.service.Calls()); calls != 4 {
		t.Errorf("%d calls, want 4", calls)
	}
}

// Speakers of different parts are different until somebody says otherwise.
func TestSpeakersOfPartsStayApart(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *speech.Options, s *asrtest.Server) {
		*o = asrOptions(s)
		o.ASRDiarize, o.MaxLength = true, 20*time.Second
	})
	r.service.Always(func(asrtest.Call) asrtest.Reply {
		return asrtest.Segments(
			asrtest.Segment{Start: 0, End: 1, Text: "a", Speaker: "SPEAKER_01"},
			asrtest.Segment{Start: 1, End: 2, Text: "b", Speaker: "SPEAKER_00"},
			asrtest.Segment{Start: 2, End: 3, Text: "c", Speaker: "SPEAKER_01"},
		)
	})
	got := r.transcribe(t, r.beeps(t, "a.wav", 6), speech.Request{})
	var labels []string
	for _, s := range got.Segments {
		labels = append(labels, s.Label)
	}
	if want := []string{"SPEAKER_01", "SPEAKER_00", "SPEAKER_01", "SPEAKER_02", "SPEAKER_03", "SPEAKER_02"}; !reflect.DeepEqual(labels, want) {
		t.Errorf("labels %v, want %v", labels, want)
	}
}

func TestNoSpeechIsAnEmptyTranscript(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	audio := r.beeps(t, "a.wav", 1)
	for _, body := range []string{`{"text":""}`, `{"text":" ","segments":[]}`, `{"segments":[{"start":0,"end":1,"text":" "}]}`} {
		r.service.Script(asrtest.Reply{Body: body})
		got := r.transcribe(t, audio, speech.Request{})
		if got.Kind != speech.KindSegments || got.Text != "" || len(got.Segments) != 0 || len(got.Gaps) != 0 {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

// A full disk, or any fault of ours, is not told as the service's.
func TestOwnFaultsAreNoServiceErrors(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	audio := r.beeps(t, "a.wav", 1)
	audio.Path = filepath.Join(t.TempDir(), "gone.mp3")
	_, err := r.Transcribe(context.Background(), audio, speech.Request{})
	var failure *providers.Error
	if err == nil || errors.As(err, &failure) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
