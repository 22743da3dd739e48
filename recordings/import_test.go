package recordings_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// serving is a server of files that a test writes, over real connections.
func serving(t testing.TB, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

// importing asks for a file and expects to be promised one.
func (r *rig) importing(wish recordings.ImportWish) int64 {
	r.t.Helper()
	accepted, err := r.recordings.Import(r.t.Context(), r.owner, wish)
	if err != nil {
		r.t.Fatal(err)
	}
	return accepted.Recording.ID
}

// waitingImports is how many addresses are kept.
func (r *rig) waitingImports() (count int64) {
	r.t.Helper()
	if err := r.db.Read.Model(&models.RecordingImport{}).Count(&count).Error; err != nil {
		r.t.Fatal(err)
	}
	return count
}

// Rule: an import is a recording at once, tells how far it is, and becomes what an upload of the same file would be. Its
// address, in which a secret may stand, is kept encrypted and no longer than it is needed.
func TestImport(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		file, goOn := wav(2, 1), make(chan struct{})
		address := serving(t, func(w http.ResponseWriter, request *http.Request) {
			if request.Header.Get("Authorization") != "" || request.Header.Get("Cookie") != "" ||
				request.URL.RawQuery != "key=hidden" || request.Header.Get("User-Agent") != "Stenometer-Import/1.0" {
				t.Errorf("the request was %v %v", request.URL, request.Header)
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(file)))
			_, _ = w.Write(file[:len(file)/2])
			http.NewResponseController(w).Flush()
			select {
			case <-goOn:
			case <-request.Context().Done():
			}
			_, _ = w.Write(file[len(file)/2:])
		}) + "/talks/bud%20get.wav?key=hidden"
		title := "Budget"
		id := r.importing(recordings.ImportWish{Address: address, Title: title, MeetingDate: "2026-03-04", Key: "k"})
		if row, _ := r.row(id); row.Status != recordings.StatusPending || *row.OriginalFilename != "bud get.wav" || r.events(id)["recording.created"] != 1 {
			t.Errorf("before the file it is %+v", row)
		}
		if detail, err := r.recordings.Find(t.Context(), r.owner, id, false); err != nil || detail.Recording.AudioAvailable || len(detail.Copies) != 0 {
			t.Errorf("before the file it shows as %+v, %v", detail, err)
		}
		var kept []string
		if err := r.db.Read.Model(&models.RecordingImport{}).Pluck("address", &kept).Error; err != nil || len(kept) != 1 || strings.Contains(kept[0], "hidden") {
			t.Errorf("kept is %q, %v", kept, err)
		}
		r.start()
		r.until("a part of the file is told", func() bool {
			progress, err := r.recordings.Status(t.Context(), r.owner, id)
			return err == nil && progress.Status == recordings.StatusPending && progress.Import != nil &&
				progress.Import.Received > 0 && progress.Import.Received <= int64(len(file)/2) && progress.Import.Total != nil && *progress.Import.Total == int64(len(file))
		})
		close(goOn)
		row := r.await(id, recordings.StatusCompleted)
		if row.FileSize != int64(len(file)) || *row.MimeType != "audio/wav" || row.MeetingDate.Format("2006-01-02") != "2026-03-04" || row.StorageKey == "" {
			t.Errorf("the row is %+v", row)
		}
		if r.waitingImports() != 0 || len(r.left()) != 1 {
			t.Errorf("%d addresses, files %v", r.waitingImports(), r.left())
		}
		again, err := r.recordings.Import(t.Context(), r.owner, recordings.ImportWish{Address: address, Key: "k"})
		if err != nil || !again.Replayed || again.Recording.ID != id {
			t.Errorf("with the same key %+v, %v", again.Recording, err)
		}
		_, err = r.recordings.Import(t.Context(), r.owner, recordings.ImportWish{Address: address + "2", Key: "k"})
		expect(t, err, problems.IdempotencyKeyReused)
	})
}

// Rule: an import that fails says why by a reason of the closed list, and keeps neither a file nor the address.
func TestImportsFailWithTheirReason(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", func(s *settings) {
		s.recordings.MaxUploadBytes = 1 << 20
		s.recordings.Imports = recordings.ImportOptions{Timeout: patience, Stall: 200 * time.Millisecond}
		s.jobs.MaxAttempts, s.slots = 2, 4
	})
	address := serving(t, func(w http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/broken":
			w.WriteHeader(http.StatusBadGateway)
		case "/elsewhere":
			http.Redirect(w, request, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		case "/declared":
			w.Header().Set("Content-Length", "1048577")
		case "/large":
			_, _ = w.Write(make([]byte, 1<<20+1))
		case "/text":
			_, _ = w.Write([]byte(strings.Repeat("no music ", 99)))
		case "/empty":
		case "/silent":
			<-request.Context().Done()
		case "/stalls":
			_, _ = w.Write([]byte("RIFF"))
			http.NewResponseController(w).Flush()
			<-request.Context().Done()
		case "/cut":
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("RIFF"))
		}
	})
	want := map[string]string{
		"/gone": "import_status", "/broken": "import_status", "/elsewhere": "import_redirected", "/declared": "import_too_large",
		"/large": "import_too_large", "/text": "import_invalid_media", "/empty": "import_invalid_media", "/stalls": "import_timeout", "/silent": "import_timeout",
		"/cut": "import_unreachable",
	}
	ids := map[string]int64{}
	for path := range want {
		ids[path] = r.importing(recordings.ImportWish{Address: address + path})
	}
	ids["closed"], want["closed"] = r.importing(recordings.ImportWish{Address: closed(t)}), "import_unreachable"
	r.start()
	for path, code := range want {
		row := r.await(ids[path], recordings.StatusFailed)
		if *row.ErrorCode != code || *row.ErrorMessage == "" || strings.Contains(*row.ErrorMessage, "127.0.0.1") || r.events(row.ID)["recording.transcription.failed"] != 1 {
			t.Errorf("%s: %s %s, events %v, want %s", path, *row.ErrorCode, *row.ErrorMessage, r.events(row.ID), code)
		}
	}
	if r.waitingImports() != 0 || len(r.left()) != 0 {
		t.Errorf("%d addresses, files %v", r.waitingImports(), r.left())
	}
}

// Rule: a server that says when to ask again is asked then, and that costs no attempt.
func TestAnImportWaitsAsItIsAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", func(s *settings) { s.jobs.MaxAttempts = 1 })
	var first atomic.Bool
	address := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		if first.CompareAndSwap(false, true) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = w.Write(wav(1, 1))
	})
	id := r.importing(recordings.ImportWish{Address: address + "/a.wav"})
	r.start()
	r.await(id, recordings.StatusCompleted)
}

// closed is an address at which nobody listens.
func closed(t testing.TB) string {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	return server.URL
}

// Rule: an address that may not be called is refused when it is asked for, with its reason, and nothing is made. What is
// said besides has the bounds of an upload.
func TestImportsAreJudged(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	for address, reason := range map[string]string{
		"http://169.254.169.254/": "address_not_allowed", "http://[::1]/": "address_not_allowed", "ftp://example.org/a": "scheme_not_allowed",
		"http://10.0.0.1/a.wav": "address_not_allowed", "http://user:x@127.0.0.1/": "url_invalid", "": "scheme_not_allowed",
		"http://0x7f.1/": "host_invalid", "file:///etc/passwd": "scheme_not_allowed",
	} {
		_, err := r.recordings.Import(t.Context(), r.owner, recordings.ImportWish{Address: address})
		if problem := expect(t, err, problems.InvalidParameter); problem.Fields["reason"] != reason || problem.Fields["field"] != "url" {
			t.Errorf("%q: %v, want %s", address, problem.Fields, reason)
		}
	}
	long := strings.Repeat("x", 201)
	for name, wish := range map[string]recordings.ImportWish{
		"title": {Title: long}, "participants": {Participants: new(strings.Repeat("x", 501))}, "meeting_date": {MeetingDate: "soon"},
		"notes": {Notes: new("\x00")}, "language": {Hints: recordings.Hints{Language: &long}},
	} {
		wish.Address = "http://127.0.0.1/a.wav"
		_, err := r.recordings.Import(t.Context(), r.owner, wish)
		if problem := expect(t, err, problems.InvalidParameter); problem.Fields["field"] != name {
			t.Errorf("%s: %v", name, problem)
		}
	}
	if r.recordingCount() != 0 {
		t.Errorf("%d recordings", r.recordingCount())
	}
}

// Rule: an import whose recording is deleted stops, and leaves nothing.
func TestADeletedImportStops(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	asked, left := make(chan struct{}), make(chan struct{})
	id := r.importing(recordings.ImportWish{Address: serving(t, func(w http.ResponseWriter, request *http.Request) {
		_, _ = w.Write([]byte("RIFF"))
		http.NewResponseController(w).Flush()
		close(asked)
		<-request.Context().Done()
		close(left)
	})})
	r.start()
	<-asked
	if err := r.recordings.Delete(t.Context(), r.owner, id); err != nil {
		t.Fatal(err)
	}
	select {
	case <-left:
	case <-time.After(patience):
		t.Fatal("the server was still read")
	}
	r.until("nothing is left", func() bool { return len(r.left()) == 0 && r.waitingImports() == 0 })
}

// Rule: a token that may only upload sees nothing of what it has imported.
func TestImportTellsWhoMayRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	var p auth.Principal = r.principal(r.user, "upload")
	accepted, err := r.recordings.Import(t.Context(), p, recordings.ImportWish{Address: "http://127.0.0.1/secret.wav", Title: "secret"})
	if err != nil || accepted.Recording.Title != nil || accepted.Recording.OriginalFilename != nil {
		t.Errorf("%+v, %v", accepted.Recording, err)
	}
}

// Rule: files that are sent slowly keep no transcription waiting, however many there are.
func TestSlowImportsKeepNoTranscriptionWaiting(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", func(s *settings) { s.jobs.MaxWorkers, s.slots = 1, 1 })
	address := serving(t, func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() })
	ids := []int64{r.importing(recordings.ImportWish{Address: address + "/a.wav"}), r.importing(recordings.ImportWish{Address: address + "/b.wav"})}
	r.start()
	r.until("one is fetched", func() bool {
		return slices.ContainsFunc(ids, func(id int64) bool { row, _ := r.row(id); return row.WorkToken != "" })
	})
	r.await(r.upload(wav(1, 1)).Recording.ID, recordings.StatusCompleted)
}
