package recordings_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// A file that decodes becomes a recording, with its job and its event, and its bytes are stored as they came.
func TestUpload(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		file := wav(2, 1)
		accepted := r.upload(file, "title", " Talk ", "notes", "n", "participants", "Ann, Bob", "language", "de-DE", "tag_ids[0]", "4", "folder_id", "x")
		row, ok := r.row(accepted.Recording.ID)
		if !ok {
			t.Fatal("there is no row")
		}
		sum := sha256.Sum256(file)
		stored, err := os.ReadFile(filepath.Join(r.folder, "files", row.StorageKey))
		if err != nil || string(stored) != string(file) {
			t.Errorf("the stored file differs from the one sent (%v)", err)
		}
		if row.SHA256 != hex.EncodeToString(sum[:]) || row.FileSize != int64(len(file)) || *row.MimeType != "audio/wav" ||
			*row.Title != "Talk" || !row.TitleByUser || *row.Language != "de" || row.Status != recordings.StatusQueued || row.JobID == 0 || row.AICharged {
			t.Errorf("the row is %+v", row)
		}
		if events := r.events(row.ID); events["recording.created"] != 1 || len(events) != 1 {
			t.Errorf("events are %v", events)
		}
		if position, ok, err := r.jobs.Position(context.Background(), row.JobID); err != nil || !ok || position != 1 {
			t.Errorf("the job waits at %d, %v, %v", position, ok, err)
		}
		if accepted.Duplicate != nil || len(accepted.Ignored.TagIDs) != 1 || accepted.Ignored.FolderID != "x" {
			t.Errorf("the answer is %+v", accepted)
		}
		again := r.upload(file)
		if again.Duplicate == nil || again.Duplicate.ID != row.ID || *again.Duplicate.Title != "Talk" || len(again.Copies) != 2 {
			t.Errorf("the second upload of the same bytes tells of %+v", again.Duplicate)
		}
		if *again.Recording.Title != "Recording - talk.wav" {
			t.Errorf("without a title it is called %q", *again.Recording.Title)
		}
		other, err := r.send(r.principal(r.account("other"), "full"), "talk.wav", file)
		if err != nil || other.Duplicate != nil || len(other.Copies) != 0 {
			t.Errorf("another account is told of a copy: %+v, %v", other, err)
		}
		if left := r.left(); len(left) != 3 {
			t.Errorf("three recordings left %v", left)
		}
	})
}

// Content follows its scope: a token that may only upload sees neither titles nor texts, its own included.
func TestUploadOnlyTokensReadNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		r.upload(wav(1, 1), "title", "secret")
		accepted, err := r.send(r.principal(r.user, "upload"), "secret.wav", wav(1, 1), "title", "secret", "notes", "secret", "participants", "secret", "hotwords", "secret", "initial_prompt", "secret")
		if err != nil {
			t.Fatal(err)
		}
		shown := accepted.Recording
		for name, text := range map[string]*string{
			"title": shown.Title, "notes": shown.Notes, "participants": shown.Participants, "file name": shown.OriginalFilename,
			"hotwords": shown.Hotwords, "prompt": shown.InitialPrompt, "copy's title": accepted.Duplicate.Title,
		} {
			if text != nil {
				t.Errorf("the %s is shown: %q", name, *text)
			}
		}
	})
}

// Bad input by name: each is refused with its reason, and nothing is left behind.
func TestRefusedUploadsLeaveNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		whole := encoded(t, ".mp4", "-c:a", "aac", "-movflags", "+faststart")
		webm := encoded(t, ".webm", "-c:a", "libopus")
		png := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00")
		for name, test := range map[string]struct {
			name string
			file []byte
			want problems.Kind
		}{
			"empty":              {"a.wav", nil, problems.InvalidMedia},
			"no file name":       {"", wav(1, 1), problems.InvalidParameter},
			"text":               {"a.mp3", []byte(strings.Repeat("to be or not to be\n", 500)), problems.InvalidMedia},
			"truncated mp4":      {"a.mp4", whole[:len(whole)*2/3], problems.InvalidMedia},
			"playlist":           {"a.m4a", []byte("#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n"), problems.InvalidMedia},
			"five bytes of webm": {"a.webm", webm[:5], problems.InvalidMedia},
			"picture":            {"a.mp3", png, problems.InvalidMedia},
			"one byte too large": {"a.wav", make([]byte, 10<<20+1), problems.PayloadTooLarge},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := r.send(r.owner, test.name, test.file)
				problem := expect(t, err, test.want)
				if test.want == problems.PayloadTooLarge && (problem.Fields["max_size_mb"] != 10.0 || problem.Fields["effective_limit_mb"] != 10.0 || problem.Fields["audio_only_mode"] != false) {
					t.Errorf("the bound is told as %v", problem.Fields)
				}
				if left := r.left(); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
		body, boundary := formWith(t, "late.wav", wav(1, 1))
		late := io.MultiReader(body, &stopping{after: 0, err: errors.New("broken off behind the form")})
		_, err := r.recordings.Upload(context.Background(), r.owner, late, boundary, "")
		expect(t, err, problems.BadRequest)
		if got, left := r.recordingCount(), r.left(); got != 0 || len(left) != 0 {
			t.Errorf("%d recordings, want none; left behind: %v", got, left)
		}
	})
}

// A file of exactly the bound is taken.
func TestUploadAtItsBound(t *testing.T) {
	t.Parallel()
	file := wav(2, 1)
	r := newRig(t, sqliteURL(t), "", func(s *settings) { s.recordings.MaxUploadBytes = int64(len(file)) })
	r.upload(file)
	_, err := r.send(r.owner, "a.wav", append(file, 0))
	expect(t, err, problems.PayloadTooLarge)
	if got := len(r.left()); got != 1 {
		t.Errorf("%d files are stored, want the accepted one", got)
	}
}

// A client that stops, a field that is refused after the file, a request that is canceled, a disk that fills up:
// nothing stays.
func TestInterruptedUploadsLeaveNothing(t *testing.T) {
	t.Parallel()
	file := wav(20, 1)
	free := int64(1 << 40)
	r := newRig(t, sqliteURL(t), "", func(s *settings) {
		s.recordings.Free = func() (int64, error) { return free, nil }
	})
	body, boundary := formWith(t, "a.wav", file)
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, test := range map[string]struct {
		ctx  context.Context
		body io.Reader
		free int64
		want problems.Kind
	}{
		"stops sending":      {context.Background(), io.MultiReader(strings.NewReader(string(content[:200_000])), &stopping{err: io.ErrUnexpectedEOF}), 1 << 40, problems.BadRequest},
		"stands still":       {context.Background(), io.MultiReader(strings.NewReader(string(content[:200_000])), &stopping{err: problems.New(problems.RequestTimeout, "slow")}), 1 << 40, problems.RequestTimeout},
		"over the body's":    {context.Background(), io.MultiReader(strings.NewReader(string(content[:200_000])), &stopping{err: &http.MaxBytesError{Limit: 5}}), 1 << 40, problems.PayloadTooLarge},
		"disk nearly full":   {context.Background(), strings.NewReader(string(content)), 1<<20 - 1, problems.StorageFull},
		"client is gone":     {canceled, strings.NewReader(string(content)), 1 << 40, problems.StorageUnavailable},
		"bad field after it": {context.Background(), strings.NewReader(strings.Replace(string(content), "--"+boundary+"--", "--"+boundary+"\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\n"+strings.Repeat("x", 201)+"\r\n--"+boundary+"--", 1)), 1 << 40, problems.InvalidParameter},
	} {
		t.Run(name, func(t *testing.T) {
			free = test.free
			_, err := r.recordings.Upload(test.ctx, r.owner, test.body, boundary, "")
			expect(t, err, test.want)
			if left := r.left(); len(left) != 0 || r.recordingCount() != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A disk that is really full answers 507 and keeps nothing, also when it fills up in the middle of the file.
func TestAFullDisk(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	small := filepath.Join(folder, "files")
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	r := newRig(t, sqliteURL(t), folder, nil)
	_, err := r.send(r.owner, "a.wav", wav(30, 1))
	expect(t, err, problems.StorageFull)
	if left := r.left(); len(left) != 0 || r.recordingCount() != 0 {
		t.Errorf("left behind: %v", left)
	}
	r.upload(wav(1, 1))
}

// H-059, H-060: what a file is comes from its content, whatever it is called.
func TestTypesByContent(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	for want, file := range map[string][]byte{
		"audio/mp4":  encoded(t, ".m4a", "-c:a", "aac"),
		"audio/webm": encoded(t, ".webm", "-c:a", "libopus"),
		"audio/ogg":  encoded(t, ".ogg", "-c:a", "libvorbis"),
		"audio/flac": encoded(t, ".flac"),
		"audio/mpeg": encoded(t, ".mp3"),
		"audio/wav":  encoded(t, ".wav", "-rf64", "always"),
		"video/mp4":  encoded(t, ".mp4", "-f", "lavfi", "-i", "testsrc=duration=5:size=32x32", "-c:a", "aac", "-shortest"),
	} {
		accepted, err := r.send(r.owner, "recording.bin", file)
		if err != nil {
			t.Errorf("%s is refused: %v", want, err)
			continue
		}
		if got := *accepted.Recording.MimeType; got != want {
			t.Errorf("%s is taken for %s", want, got)
		}
	}
}

// H-062: the name is a label that is kept intact, and never where the file is stored.
func TestNamesAreLabels(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	accepted, err := r.send(r.owner, `../../会議 ä 🎙 \"q\".m4a`, wav(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	if got := *accepted.Recording.OriginalFilename; got != `会議 ä 🎙 "q".m4a` {
		t.Errorf("the name is shown as %q", got)
	}
	row, _ := r.row(accepted.Recording.ID)
	if strings.ContainsAny(row.StorageKey, ".q\\") || !strings.HasPrefix(row.StorageKey, "recordings/") {
		t.Errorf("the file is stored as %q", row.StorageKey)
	}
}

// The memory that an upload takes does not grow with the file.
func TestLargeUploadsStream(t *testing.T) {
	const size = 256 << 20
	r := newRig(t, sqliteURL(t), "", func(s *settings) { s.recordings.MaxUploadBytes = size })
	body, boundary := formWith(t, "a.wav", nil)
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	head, tail, _ := strings.Cut(string(content), "\r\n\r\n")
	large := io.MultiReader(strings.NewReader(head+"\r\n\r\n"), io.LimitReader(zeros{}, size), strings.NewReader(tail))
	var before, during runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = r.recordings.Upload(context.Background(), r.owner, large, boundary, "")
	runtime.ReadMemStats(&during)
	expect(t, err, problems.InvalidMedia) // zeros are no sound; they were stored all the same
	if grown := during.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("an upload of %d MiB allocated %d MiB", size>>20, grown>>20)
	}
	if left := r.left(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A recording is nobody's but its owner's: for others it does not exist, in any story.
func TestOthersRecordingsDoNotExist(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		id := r.upload(wav(1, 1)).Recording.ID
		ctx, stranger := context.Background(), r.principal(r.account("stranger"), "full")
		_, find := r.recordings.Find(ctx, stranger, id, true)
		_, status := r.recordings.Status(ctx, stranger, id)
		_, transcript := r.recordings.Transcript(ctx, stranger, id)
		_, audio := r.recordings.OpenAudio(ctx, stranger, id)
		_, transcribe := r.recordings.Transcribe(ctx, stranger, r.purse, id, recordings.Hints{})
		for name, err := range map[string]error{
			"find": find, "status": status, "transcript": transcript, "audio": audio, "transcribe": transcribe,
			"delete": r.recordings.Delete(ctx, stranger, id),
		} {
			if !problems.Is(err, problems.NotFound) {
				t.Errorf("%s: got %v, want not_found", name, err)
			}
		}
		page, err := r.recordings.List(ctx, stranger, recordings.Filter{})
		if err != nil || page.Total != 0 || len(page.Recordings) != 0 {
			t.Errorf("a stranger's list shows %+v, %v", page, err)
		}
		if _, ok := r.row(id); !ok {
			t.Error("the recording is gone")
		}
	})
}

// What a dead process left is found by the sweeper, which removes only what is old and nothing refers to.
func TestSweep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) { s.recordings.SweepRemove = false })
		kept := r.upload(wav(1, 1)).Recording.ID
		lost := r.upload(wav(1, 2)).Recording.ID
		lostRow, _ := r.row(lost)
		keptRow, _ := r.row(kept)
		file := func(name string, age time.Duration) string {
			path := filepath.Join(r.folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			at := time.Now().Add(-age)
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
			return path
		}
		old := []string{
			file("files/recordings/ab/abandoned", 2*time.Hour),
			file("files/recordings/ab/abandoned2.18f.tmp", 2*time.Hour),
			file("tmp/upload-1", 2*time.Hour),
			file("tmp/speech-1/part", 2*time.Hour),
		}
		at := time.Now().Add(-2 * time.Hour)
		if err := os.Chtimes(filepath.Join(r.folder, "tmp/speech-1"), at, at); err != nil {
			t.Fatal(err)
		}
		young := []string{file("files/recordings/ab/arriving", time.Minute), file("tmp/upload-2", time.Minute)}
		stored := filepath.Join(r.folder, "files", keptRow.StorageKey)
		if err := os.Chtimes(stored, at, at); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(r.folder, "files", lostRow.StorageKey)); err != nil {
			t.Fatal(err)
		}
		found, err := r.recordings.Sweep(context.Background())
		if err != nil || found != (recordings.Sweep{TempFiles: 2, Unreferenced: 2, Missing: 1}) {
			t.Fatalf("a sweep that only reports found %+v, %v", found, err)
		}
		if left := r.left(); !slices.Contains(left, old[0]) || !slices.Contains(left, old[2]) {
			t.Fatalf("a sweep that only reports removed something: %v", left)
		}
		removing := newRig(t, url, r.folder, nil)
		found, err = removing.recordings.Sweep(context.Background())
		if err != nil || found.Removed != 4 {
			t.Fatalf("the sweep found %+v, %v", found, err)
		}
		left := r.left()
		for _, path := range old {
			if slices.Contains(left, path) {
				t.Errorf("%s is still there", path)
			}
		}
		for _, path := range append(young, stored) {
			if !slices.Contains(left, path) {
				t.Errorf("%s was removed", path)
			}
		}
		if _, ok := r.row(lost); !ok {
			t.Error("a recording without its file was removed")
		}
	})
}

type stopping struct {
	after int
	err   error
}

func (s *stopping) Read([]byte) (int, error) { return s.after, s.err }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
