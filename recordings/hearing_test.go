package recordings_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/speech"
)

// hearingRig hears recordings of five seconds at most.
func hearingRig(t *testing.T, change func(*settings)) *rig {
	t.Helper()
	return newRig(t, sqliteURL(t), "", func(s *settings) {
		s.recordings.HearingMax, s.recordings.HearingTimeout = 5*time.Second, patience
		if change != nil {
			change(s)
		}
	})
}

// hear sends a file with fields before it.
func (r *rig) hear(file []byte, fields ...string) (recordings.Heard, error) {
	r.t.Helper()
	body, boundary := formWith(r.t, "talk.wav", file, fields...)
	return r.recordings.Hear(context.Background(), r.owner, r.purse, body, boundary)
}

// What is said in a file is told, with its length as decoded, and neither file nor recording stays.
func TestAFileIsHeardAndNotKept(t *testing.T) {
	t.Parallel()
	r := hearingRig(t, nil)
	heard, err := r.hear(wav(2, 1), "model", "m", "response_format", "verbose_json", "language", "German", "prompt", "bees")
	if err != nil {
		t.Fatal(err)
	}
	if heard.Text != "hello" || len(heard.Segments) != 1 || heard.Length != 2*time.Second || heard.Format != "verbose_json" || *heard.Language != "en" {
		t.Errorf("heard %+v", heard)
	}
	if left := r.left(); len(left) != 0 || r.recordingCount() != 0 {
		t.Errorf("there stay %v and %d recordings", left, r.recordingCount())
	}
}

// Every refusal comes before the engine hears anything, and leaves nothing: what the fields before a file say is judged
// before the file is read.
func TestWhatIsNotHeardLeavesNothing(t *testing.T) {
	t.Parallel()
	r := hearingRig(t, nil)
	unread := io.MultiReader(strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nother\r\n--x\r\n"+
		"Content-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n"+strings.Repeat("x", 8<<10)),
		&stopping{after: 0, err: errors.New("the file was read")})
	_, err := r.recordings.Hear(context.Background(), r.owner, r.purse, unread, "x")
	expect(t, err, problems.ModelNotFound)
	for name, c := range map[string]struct {
		file   []byte
		fields []string
		want   problems.Kind
	}{
		"too long":            {wav(6, 1), []string{"model", "m"}, problems.PayloadTooLarge},
		"too large":           {make([]byte, 10<<20+1), []string{"model", "m"}, problems.PayloadTooLarge},
		"no sound":            {[]byte("to be or not to be"), []string{"model", "m"}, problems.InvalidMedia},
		"empty":               {nil, []string{"model", "m"}, problems.InvalidMedia},
		"no model":            {wav(1, 1), nil, problems.InvalidParameter},
		"a zero character":    {wav(1, 1), []string{"model", "m", "language", "e\x00n"}, problems.InvalidParameter},
		"no text":             {wav(1, 1), []string{"model", "m", "prompt", "\xff"}, problems.InvalidParameter},
		"subtitles of no use": {wav(1, 1), []string{"model", "m", "response_format", "srt"}, problems.NoTimings},
	} {
		_, err := r.hear(c.file, c.fields...)
		if !problems.Is(err, c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want.Code())
		}
	}
	if left := r.left(); len(left) != 0 || r.engine.called() != 0 {
		t.Errorf("there stay %v, and the engine heard %d", left, r.engine.called())
	}
}

// With no length allowed nothing is read and no model is there; a full disk takes no file; an engine that is too slow is
// left, and its wait is the provider's.
func TestHearingHasBounds(t *testing.T) {
	t.Parallel()
	off := hearingRig(t, func(s *settings) { s.recordings.HearingMax = 0 })
	_, err := off.recordings.Hear(context.Background(), off.owner, off.purse, &stopping{after: 0, err: errors.New("it was read")}, "x")
	expect(t, err, problems.FeatureDisabled)
	if names := off.recordings.SpeechModels(); names != nil {
		t.Errorf("models are listed: %v", names)
	}
	full := hearingRig(t, func(s *settings) { s.recordings.Free = func() (int64, error) { return 1<<20 - 1, nil } })
	_, err = full.hear(wav(1, 1), "model", "m")
	expect(t, err, problems.StorageFull)
	slow := hearingRig(t, func(s *settings) { s.recordings.HearingTimeout = 2 * time.Second })
	slow.engine.script(func(ctx context.Context, _ int, _ speech.Audio, _ speech.Request) (speech.Answer, error) {
		if end, bounded := ctx.Deadline(); !bounded || time.Until(end) > 2*time.Second {
			return speech.Answer{}, errors.New("nothing ends it in time")
		}
		<-ctx.Done()
		return speech.Answer{}, ctx.Err()
	})
	_, err = slow.hear(wav(1, 1), "model", "m")
	expect(t, err, problems.ProviderTimeout)
	for _, r := range []*rig{off, full, slow} {
		if left := r.left(); len(left) != 0 {
			t.Errorf("there stay %v", left)
		}
	}
}

// A service's failure is told in our words, with its wait.
func TestAFailedHearingIsTold(t *testing.T) {
	t.Parallel()
	r := hearingRig(t, func(s *settings) { s.speech.MaxWait = time.Millisecond })
	r.engine.script(func(context.Context, int, speech.Audio, speech.Request) (speech.Answer, error) {
		return speech.Answer{}, &providers.Error{Kind: providers.RateLimited, Status: 429, RetryAfter: 7 * time.Second}
	})
	_, err := r.hear(wav(1, 1), "model", "m")
	if problem := expect(t, err, problems.ProviderUnavailable); problem.RetryAfter != 7*time.Second {
		t.Errorf("the wait is %v", problem.RetryAfter)
	}
}

// Rule: what is heard for a credential that ended while the file came costs nothing, and stays nowhere.
func TestNothingIsHeardForWhoIsOut(t *testing.T) {
	t.Parallel()
	r := hearingRig(t, nil)
	caller, end := r.ending()
	body, boundary := formWith(t, "talk.wav", wav(2, 1), "model", "m")
	_, err := r.recordings.Hear(t.Context(), caller, r.purse, io.MultiReader(doing{end}, body), boundary)
	expect(t, err, problems.InvalidToken)
	if left := r.left(); len(left) != 0 {
		t.Errorf("there stays %v", left)
	}
}

// Rule: an upload whose credential ended while it came is not taken.
func TestAnUploadOfWhoIsOutIsNotKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		caller, end := r.ending()
		body, boundary := formWith(t, "talk.wav", wav(2, 1))
		_, err := r.recordings.Upload(t.Context(), caller, io.MultiReader(doing{end}, body), boundary, "")
		expect(t, err, problems.InvalidToken)
		if left := r.left(); len(left) != 0 || r.recordingCount() != 0 {
			t.Errorf("there stay %v and %d recordings", left, r.recordingCount())
		}
	})
}

// ending is the owner by a token, and what revokes it.
func (r *rig) ending() (auth.Principal, func()) {
	return authtest.Ending(r.t, auth.Token{
		ID: 1, UserID: r.user.ID, OrganizationID: r.user.OrganizationID, Role: auth.RoleEditor, Scopes: auth.FullScopes(),
	})
}

// doing is a reader of nothing that does something when it is reached.
type doing struct{ what func() }

func (d doing) Read([]byte) (int, error) {
	d.what()
	return 0, io.EOF
}
