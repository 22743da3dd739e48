package recordings_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// recorderForm is a form in this order; "file" is the file, under the name that follows a colon.
func recorderForm(t testing.TB, file []byte, fields ...string) (*bytes.Buffer, string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i < len(fields); i += 2 {
		var err error
		if fields[i] == "file" {
			var part io.Writer
			if part, err = w.CreateFormFile("file", fields[i+1]); err == nil {
				_, err = part.Write(file)
			}
		} else {
			err = w.WriteField(fields[i], fields[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &body, w.Boundary()
}

var errStrange = errors.New("nobody's secret")

// admit lets in whoever says "good".
func (r *rig) admit(_ context.Context, secret string) (auth.Principal, error) {
	if secret != "good" {
		return auth.Principal{}, errStrange
	}
	return r.owner, nil
}

func (r *rig) record(file []byte, fields ...string) (recordings.Recorded, error) {
	r.t.Helper()
	body, boundary := recorderForm(r.t, file, fields...)
	return r.recordings.Record(r.t.Context(), body, boundary, r.admit)
}

// Rule: a recorder's retry makes one recording, whatever the order of its fields; another name, note or date is another
// recording. (Must show 6)
func TestRecorder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		file := wav(1, 1)
		first, err := r.record(file, "secret", "good", "date", "1700000000", "note", "From the car", "source", "app", "file", `../a\Memo.wav`)
		if err != nil || first.Replayed {
			t.Fatalf("%+v, %v", first, err)
		}
		row, _ := r.row(first.Recording.ID)
		if *row.OriginalFilename != "Memo.wav" || *row.Notes != "From the car" || row.MeetingDate.Unix() != 1700000000 ||
			row.Source == nil || *row.Source != "asr_voice_recorder" || row.Status != recordings.StatusQueued {
			t.Errorf("the row is %+v", row)
		}
		for name, fields := range map[string][]string{
			"the same":                {"secret", "good", "date", "1700000000", "note", "From the car", "file", "Memo.wav"},
			"the file first":          {"file", "Memo.wav", "note", "From the car", "date", "1700000000", "secret", "good"},
			"milliseconds":            {"date", "1700000000000", "secret", "good", "note", "From the car", "file", "Memo.wav"},
			"its name in a field":     {"secret", "good", "file_name", "x/Memo.wav", "date", "1.7e9", "note", "From the car", "file", "blob"},
			"with a duration besides": {"secret", "good", "date", "1700000000", "note", "From the car", "duration", "1", "file", "Memo.wav"},
		} {
			if again, err := r.record(file, fields...); err != nil || !again.Replayed || again.Recording.ID != row.ID {
				t.Errorf("%s: %+v, %v", name, again.Recording, err)
			}
		}
		for name, fields := range map[string][]string{
			"another note": {"secret", "good", "date", "1700000000", "note", "x", "file", "Memo.wav"},
			"another date": {"secret", "good", "date", "1700000001", "note", "From the car", "file", "Memo.wav"},
			"another name": {"secret", "good", "date", "1700000000", "note", "From the car", "file", "Memo2.wav"},
			"a bad date":   {"secret", "good", "date", "-1", "note", "From the car", "file", "Memo.wav"},
		} {
			if other, err := r.record(file, fields...); err != nil || other.Replayed {
				t.Errorf("%s: %+v, %v", name, other.Recording, err)
			}
		}
		if r.recordingCount() != 5 || len(r.left()) != len(r.stored()) || len(r.stored()) != 5 {
			t.Errorf("%d recordings, files %v", r.recordingCount(), r.left())
		}
	})
}

// Rule: with a date a retry is known however late it comes.
func TestRecorderKnowsADateAfterTheKey(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRig(t, sqliteURL(t), "", func(s *settings) { s.recordings.Now = func() time.Time { return now } })
	fields := []string{"secret", "good", "date", "1700000000", "file", "Memo.wav"}
	first, err := r.record(wav(1, 1), fields...)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(48 * time.Hour)
	if again, err := r.record(wav(1, 1), fields...); err != nil || again.Recording.ID != first.Recording.ID {
		t.Errorf("two days later: %+v, %v", again.Recording, err)
	}
}

// Rule: racing replays make one recording, with one job and one event.
func TestRacingRecordersMakeOneRecording(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		var racers sync.WaitGroup
		for i := range 6 {
			racers.Go(func() {
				fields := []string{"secret", "good", "file", "a.wav"}
				if i%2 == 0 {
					fields = []string{"file", "a.wav", "secret", "good"}
				}
				if _, err := r.record(wav(1, 1), fields...); err != nil && !problems.Is(err, problems.Timeout) {
					t.Error(err)
				}
			})
		}
		racers.Wait()
		var jobs int64
		if err := r.db.Read.Table("river_job").Count(&jobs).Error; err != nil {
			t.Fatal(err)
		}
		if r.recordingCount() != 1 || jobs != 1 || len(r.left()) != 1 {
			t.Errorf("%d recordings, %d jobs, files %v", r.recordingCount(), jobs, r.left())
		}
	})
}

// Rule: a retry gives a recording whose job was lost another one, and changes nothing of one that has its job.
func TestARetryRevivesALostJob(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		fields := []string{"secret", "good", "file", "a.wav"}
		first, err := r.record(wav(1, 1), fields...)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := r.row(first.Recording.ID)
		if _, err := r.record(wav(1, 1), fields...); err != nil {
			t.Fatal(err)
		}
		if row, _ := r.row(before.ID); row.JobID != before.JobID {
			t.Errorf("job %d became %d", before.JobID, row.JobID)
		}
		err = r.db.Transaction(t.Context(), func(tx *gorm.DB) error { return tx.Exec("DELETE FROM river_job").Error })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.record(wav(1, 1), fields...); err != nil {
			t.Fatal(err)
		}
		r.start()
		r.await(before.ID, recordings.StatusCompleted)
	})
}

// Rule: a good secret alone tests the connection; anything that says of a file without one is refused.
func TestRecorderConnectionTest(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	for name, fields := range map[string][]string{
		"alone":          {"secret", "good"},
		"empty fields":   {"secret", "good", "file_name", "", "date", " ", "note", "", "source", "app"},
		"no file chosen": {"file", "", "secret", "good"},
	} {
		if got, err := r.record(nil, fields...); err != nil || !got.Test {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, field := range []string{"file_name", "date", "duration", "note"} {
		_, err := r.record(nil, "secret", "good", field, "1")
		expect(t, err, problems.InvalidParameter)
	}
	body, boundary := recorderForm(t, nil, "secret", "good", "note", string(wav(1, 1)))
	unnamed := strings.Replace(body.String(), `name="note"`, `name="file"`, 1)
	if _, err := r.recordings.Record(t.Context(), strings.NewReader(unnamed), boundary, r.admit); !problems.Is(err, problems.InvalidParameter) {
		t.Errorf("a file without a name: %v", err)
	}
	if r.recordingCount() != 0 || len(r.left()) != 0 {
		t.Errorf("%d recordings, files %v", r.recordingCount(), r.left())
	}
}

// Rule: nothing is kept of a file whose sender is not let in; where the secret came first not a byte of it is stored.
func TestRecorderKeepsNothingOfStrangers(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", func(s *settings) { s.spool = 1 << 20 })
	large := make([]byte, 2<<20)
	for name, fields := range map[string][]string{
		"a bad secret before the file": {"secret", "bad", "file", "a.wav"},
		"a bad secret after the file":  {"file", "a.wav", "secret", "bad"},
		"no secret":                    {"file", "a.wav"},
		"an empty secret":              {"secret", "", "file", "a.wav"},
	} {
		file := wav(1, 1)
		if fields[0] == "secret" {
			file = large // it would not fit into the spool
		}
		if _, err := r.record(file, fields...); !errors.Is(err, errStrange) {
			t.Errorf("%s: %v", name, err)
		}
	}
	body, boundary := recorderForm(t, large, "secret", "bad", "file", "a.wav")
	if _, err := r.recordings.Record(t.Context(), body, boundary, r.admit); !errors.Is(err, errStrange) || body.Len() < 2<<20-64<<10 {
		t.Errorf("%v, and %d bytes of 2 MiB were left unread", err, body.Len())
	}
	_, err := r.record(large, "file", "a.wav", "secret", "good")
	expect(t, err, problems.PayloadTooLarge)
	others, err := r.spool.Create(-1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := others.Write(make([]byte, 1<<20-100)); err != nil {
		t.Fatal(err)
	}
	_, err = r.record(wav(1, 1), "file", "a.wav", "secret", "good")
	expect(t, err, problems.SpoolFull)
	if err := others.Close(); err != nil {
		t.Error(err)
	}
	if r.recordingCount() != 0 || len(r.left()) != 0 || r.spool.Used() != 0 {
		t.Errorf("%d recordings, files %v, %d bytes in the spool", r.recordingCount(), r.left(), r.spool.Used())
	}
}

// Rule: bad input gets a clear error and leaves nothing, in either order (H-057, H-061).
func TestBadRecordingsLeaveNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	for name, test := range map[string]struct {
		file   []byte
		fields []string
		want   problems.Kind
	}{
		"empty":                   {nil, []string{"secret", "good", "file", "a.wav"}, problems.InvalidMedia},
		"empty, the secret after": {nil, []string{"file", "a.wav", "secret", "good"}, problems.InvalidMedia},
		"text":                    {[]byte(strings.Repeat("no music ", 99)), []string{"file", "a.wav", "secret", "good"}, problems.InvalidMedia},
		"a byte too large":        {make([]byte, 10<<20+1), []string{"secret", "good", "file", "a.wav"}, problems.PayloadTooLarge},
		"the same, secret after":  {make([]byte, 10<<20+1), []string{"file", "a.wav", "secret", "good"}, problems.PayloadTooLarge},
		"a note beyond its bound": {wav(1, 1), []string{"secret", "good", "note", strings.Repeat("x", 1<<20+1), "file", "a.wav"}, problems.PayloadTooLarge},
		"a note that is no text":  {wav(1, 1), []string{"secret", "good", "note", "\xff", "file", "a.wav"}, problems.InvalidParameter},
		"two files":               {wav(1, 1), []string{"secret", "good", "file", "a.wav", "file", "b.wav"}, problems.InvalidParameter},
	} {
		_, err := r.record(test.file, test.fields...)
		if !problems.Is(err, test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want.Code())
		}
	}
	for _, fields := range [][]string{{"secret", "good", "file", "a.wav"}, {"file", "a.wav", "secret", "good"}} {
		body, boundary := recorderForm(t, wav(1, 1), fields...)
		body.Truncate(body.Len() / 2)
		_, err := r.recordings.Record(t.Context(), body, boundary, r.admit)
		expect(t, err, problems.BadRequest)
	}
	if r.recordingCount() != 0 || len(r.left()) != 0 || r.spool.Used() != 0 {
		t.Errorf("%d recordings, files %v, %d bytes in the spool", r.recordingCount(), r.left(), r.spool.Used())
	}
	var kept int64
	if err := r.db.Read.Model(&models.IdempotencyKey{}).Count(&kept).Error; err != nil || kept != 0 {
		t.Errorf("%d keys, %v", kept, err)
	}
}
