package v1_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// H-063: Safari probes two bytes first, players seek, downloads resume.
func TestAudioRanges(t *testing.T) {
	t.Parallel()
	s := open(t)
	file := sound(1)
	path := fmt.Sprintf("/api/v1/recordings/%d/audio", s.recording("a.wav"))
	size := len(file)
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(file))
	for ranged, want := range map[string]struct {
		status int
		first  int
		length int
	}{
		"":                     {200, 0, size},
		"bytes=0-1":            {206, 0, 2},
		"bytes=-100":           {206, size - 100, 100},
		"bytes=100-":           {206, 100, size - 100},
		"bytes=-999999999":     {206, 0, size},
		"bytes=0-999999999":    {206, 0, size},
		"items=0-1":            {200, 0, size},
		"bytes=abc":            {200, 0, size},
		"bytes=5-2":            {200, 0, size},
		"bytes=0-1,999999999-": {206, 0, 2},
	} {
		r := s.get(path, "Range", ranged)
		if r.StatusCode != want.status || !bytes.Equal(r.body, file[want.first:want.first+want.length]) {
			t.Errorf("%q gives %d with %d bytes, want %d with %d", ranged, r.StatusCode, len(r.body), want.status, want.length)
		}
		if want.status == 206 && r.Header.Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", want.first, want.first+want.length-1, size) {
			t.Errorf("%q is told as %q", ranged, r.Header.Get("Content-Range"))
		}
		if r.Header.Get("Accept-Ranges") != "bytes" || r.Header.Get("ETag") != tag || r.Header.Get("Content-Type") != "audio/wav" ||
			r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%q has the headers %v", ranged, r.Header)
		}
	}
	for _, ranged := range []string{"bytes=999999999-", "bytes=-0", fmt.Sprintf("bytes=%d-", size)} {
		r := s.get(path, "Range", ranged)
		s.expect(r, 416, "range_not_satisfiable")
		if got := r.Header.Get("Content-Range"); got != fmt.Sprintf("bytes */%d", size) {
			t.Errorf("%q is refused with Content-Range %q", ranged, got)
		}
	}
	several := s.get(path, "Range", "bytes=0-1,10-19")
	if kind, _, _ := mime.ParseMediaType(several.Header.Get("Content-Type")); several.StatusCode != 206 || kind != "multipart/byteranges" {
		t.Errorf("two ranges give %d %s", several.StatusCode, kind)
	}
	head := s.do(http.MethodHead, path, nil)
	if head.StatusCode != 200 || head.ContentLength != int64(size) || len(head.body) != 0 || head.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("HEAD gives %d, %d bytes, %v", head.StatusCode, head.ContentLength, head.Header)
	}
	if resumed := s.get(path, "Range", "bytes=100-", "If-Range", tag); resumed.StatusCode != 206 {
		t.Errorf("a download of this file is resumed with %d", resumed.StatusCode)
	}
	for _, ranged := range []string{"bytes=100-", "bytes=999999999-"} {
		if other := s.get(path, "Range", ranged, "If-Range", `"other"`); other.StatusCode != 200 || len(other.body) != size {
			t.Errorf("a download of another file is resumed with %d and %d bytes", other.StatusCode, len(other.body))
		}
	}
	if known := s.get(path, "If-None-Match", tag); known.StatusCode != 304 || len(known.body) != 0 {
		t.Errorf("a file that is known is answered %d", known.StatusCode)
	}
	if sent := s.get(path, "If-Match", `"other"`); sent.StatusCode != 200 {
		t.Errorf("If-Match is answered %d", sent.StatusCode)
	}
	blind := s.get(path, "Range", "bytes=0-1", "Authorization", "Bearer "+s.mint(s.user, "upload"))
	s.expect(blind, 403, "insufficient_scope")
}

// H-062: the name is given in ASCII, and as it is.
func TestAudioNames(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, ascii := range map[string]string{
		`会議 ä 🎙 "q".m4a`: "q.m4a",
		"a\u0308 b.wav":  "a_b.wav",
		"会議.wav":         "recording-%d.wav",
		"plain-1.wav":    "plain-1.wav",
	} {
		id := s.recording(name)
		for query, kind := range map[string]string{"": "inline", "?download=true": "attachment", "?download=1": "inline"} {
			r := s.get(fmt.Sprintf("/api/v1/recordings/%d/audio%s", id, query))
			header := r.Header.Get("Content-Disposition")
			// mime decodes filename* in preference to filename.
			got, params, err := mime.ParseMediaType(header)
			if err != nil || r.StatusCode != 200 || got != kind || params["filename"] != name {
				t.Errorf("%q%s is sent as %s (%d, %v)", name, query, header, r.StatusCode, err)
			}
			if want := ascii; strings.Contains(ascii, "%d") {
				ascii = fmt.Sprintf(want, id)
			}
			if !strings.Contains(header, `filename="`+ascii+`";`) {
				t.Errorf("%q falls back to %s, want %s", name, header, ascii)
			}
		}
		list := s.expect(s.get("/api/v1/recordings?per_page=1"), 200, "")["recordings"].([]any)
		if shown := list[0].(map[string]any)["original_filename"]; shown != name {
			t.Errorf("%q is listed as %q", name, shown)
		}
	}
}

// A stored type that a browser would show as anything but sound is not sent.
func TestAudioIsNeverAPage(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	s.write(func(tx *gorm.DB) error {
		return tx.Model(&models.Recording{}).Where("id = ?", id).UpdateColumn("mime_type", "text/html").Error
	})
	r := s.get(fmt.Sprintf("/api/v1/recordings/%d/audio", id))
	if got := r.Header.Get("Content-Type"); got != "application/octet-stream" {
		t.Errorf("a page is sent as %s", got)
	}
}
