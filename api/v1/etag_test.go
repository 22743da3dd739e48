package v1_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

const jsonType = "application/json"

// send does a request with a JSON body.
func (s *site) send(method, path, body string, header ...string) reply {
	s.t.Helper()
	return s.do(method, path, strings.NewReader(body), append([]string{"Content-Type", jsonType}, header...)...)
}

// Each tagged answer says what its tag is, and is 304 without a body for who has it.
func TestETags(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav", "notes", "n")
	s.complete(id, "segments", "", segment(0, 1, "A", "hello"))
	path := fmt.Sprintf("/api/v1/recordings/%d", id)
	seen := map[string]bool{}
	for route, prefix := range map[string]string{
		"": "r", "?format=minimal": "r", "/transcript": "t", "/transcript?format=text": "t", "/transcript?max_segments=1": "t", "/summary": "s", "/notes": "n",
	} {
		first := s.get(path + route)
		s.expect(first, 200, "")
		tag := first.Header.Get("Etag")
		if !regexp.MustCompile(fmt.Sprintf(`^W/"%s%d-1772691226000000-[0-9a-f]{16}"$`, prefix, id)).MatchString(tag) {
			t.Errorf("the tag of %q is %s", route, tag)
		}
		if first.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%q is kept as %q", route, first.Header.Get("Cache-Control"))
		}
		if route != "/transcript?max_segments=1" { // the one segment that there is: the same body
			if seen[tag] {
				t.Errorf("two answers have the tag %s", tag)
			}
			seen[tag] = true
		}
		strong := strings.TrimPrefix(tag, "W/")
		for _, known := range []string{tag, strong, "*", `"x", ` + tag, tag + ` , "x"`, `W/"a,b",` + strong} {
			again := s.get(path+route, "If-None-Match", known)
			if again.StatusCode != http.StatusNotModified || len(again.body) != 0 || again.Header.Get("Etag") != tag || again.Header.Get("Cache-Control") != "private, no-cache" {
				t.Errorf("%q with %s: %d %q %q", route, known, again.StatusCode, again.body, again.Header.Get("Etag"))
			}
		}
		for _, other := range []string{`"x"`, strings.Trim(strong, `"`), "", `W/"`, tag[:len(tag)-2] + `0x"`, tag + "x", `*, "x"`} {
			if again := s.get(path+route, "If-None-Match", other); again.StatusCode != 200 || len(again.body) == 0 {
				t.Errorf("%q with %s: %d", route, other, again.StatusCode)
			}
		}
	}
}

// The access is checked first: no tag, and no 304, tells that something exists. Neither has one but the answers that do.
func TestETagsAreForThoseWhoMaySee(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	stranger := "Bearer " + s.mint(s.account("stranger"), "full")
	for _, route := range []string{"", "/transcript", "/summary", "/notes"} {
		r := s.get(fmt.Sprintf("/api/v1/recordings/%d%s", id, route), "If-None-Match", "*", "Authorization", stranger)
		s.expect(r, 404, "not_found")
		if r.Header.Get("Etag") != "" {
			t.Errorf("%q tells a stranger %s", route, r.Header.Get("Etag"))
		}
	}
	s.expect(s.get(fmt.Sprintf("/api/v1/recordings/%d/transcript", id), "If-None-Match", "*"), 404, "not_found")
	for _, path := range []string{"/api/v1/recordings", fmt.Sprintf("/api/v1/recordings/%d/status", id)} {
		if r := s.get(path, "If-None-Match", "*"); r.StatusCode != 200 || r.Header.Get("Etag") != "" {
			t.Errorf("%s: %d with %q", path, r.StatusCode, r.Header.Get("Etag"))
		}
	}
}

// Whatever changes in an answer changes its tag: also what moves no moment of the recording, as names of tags and
// folders.
func TestETagsFollowTheBody(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	path := fmt.Sprintf("/api/v1/recordings/%d", id)
	tag := models.Tag{UserID: s.user.ID, Name: "T", Color: "#3B82F6", CreatedAt: time.Now()}
	folder := models.Folder{UserID: s.user.ID, Name: "F", Color: "#10B981", CreatedAt: time.Now()}
	s.write(func(tx *gorm.DB) error {
		if err := tx.Create(&tag).Error; err != nil {
			return err
		}
		if err := tx.Create(&folder).Error; err != nil {
			return err
		}
		return tx.Create(&models.RecordingTag{RecordingID: id, TagID: tag.ID}).Error
	})
	before := s.get(path).Header.Get("Etag")
	changed := func(what string, change func(tx *gorm.DB) error) {
		t.Helper()
		s.write(change)
		r := s.get(path, "If-None-Match", before)
		if after := r.Header.Get("Etag"); r.StatusCode != 200 || after == before {
			t.Errorf("%s left the tag %s, %d", what, after, r.StatusCode)
		} else {
			before = after
		}
	}
	changed("a tag's name", func(tx *gorm.DB) error { return tx.Model(&tag).UpdateColumn("name", "T2").Error })
	changed("a folder", func(tx *gorm.DB) error {
		return tx.Model(&models.Recording{}).Where("id = ?", id).UpdateColumn("folder_id", folder.ID).Error
	})
	changed("a folder's name", func(tx *gorm.DB) error { return tx.Model(&folder).UpdateColumn("name", "F2").Error })
	changed("notes", func(tx *gorm.DB) error {
		return tx.Model(&models.Recording{}).Where("id = ?", id).UpdateColumn("notes", "n").Error
	})
}

// If-Match lets a change through only while the recording is as it was seen, whichever of its answers was seen.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	s := open(t)
	id, other := s.recording("a.wav"), s.recording("b.wav")
	s.complete(id, "segments", "", segment(0, 1, "A", "hello"))
	s.complete(other, "segments", "", segment(0, 1, "A", "hello")) // changed at the same moment
	path := fmt.Sprintf("/api/v1/recordings/%d", id)
	foreign := s.get(fmt.Sprintf("/api/v1/recordings/%d", other)).Header.Get("Etag")
	changes := [][3]string{{"PATCH", "", `{"title":"%d"}`}, {"PUT", "/notes", `{"notes":"%d"}`}, {"PUT", "/summary", `{"summary":"%d"}`}}
	n := 0
	for _, change := range changes {
		body := func() string { n++; return fmt.Sprintf(change[2], n) }
		for _, seen := range []string{"", "/transcript", "/summary", "/notes"} {
			tag := s.get(path + seen).Header.Get("Etag")
			s.expect(s.send(change[0], path+change[1], body(), "If-Match", `"x", `+tag), 200, "")
			s.expect(s.send(change[0], path+change[1], body(), "If-Match", tag), 412, "precondition_failed")
		}
		present := s.get(path).Header.Get("Etag")
		for _, demand := range []string{foreign, "x", "", `"`, strings.Replace(present, "r", "q", 1), strings.Replace(present, "r", "r0", 1), present + "x"} {
			s.expect(s.send(change[0], path+change[1], body(), "If-Match", demand), 412, "precondition_failed")
		}
		told := s.expect(s.send(change[0], path+change[1], body(), "If-Match", "x"), 412, "precondition_failed")
		if !strings.Contains(told["error"].(string), "list of ETags") {
			t.Errorf("what is no list is told as %q", told["error"])
		}
		s.expect(s.send(change[0], path+change[1], body(), "If-Match", "*"), 200, "")
		s.expect(s.send(change[0], "/api/v1/recordings/424242"+change[1], body(), "If-Match", "*"), 404, "not_found")
	}
	if title := s.expect(s.get(path), 200, "")["title"]; title == nil || title == "a.wav" {
		t.Errorf("the title is %v", title)
	}
}

// Of two programs that read the same state and write, one hears that it lost.
func TestIfMatchLosesNoUpdate(t *testing.T) {
	t.Parallel()
	s := open(t)
	path := fmt.Sprintf("/api/v1/recordings/%d", s.recording("a.wav"))
	for round := range 5 {
		tag := s.get(path).Header.Get("Etag")
		var racing sync.WaitGroup
		statuses := make([]int, 2)
		for i := range statuses {
			racing.Go(func() {
				statuses[i] = s.send("PATCH", path, fmt.Sprintf(`{"title":"%d of %d"}`, i, round), "If-Match", tag).StatusCode
			})
		}
		racing.Wait()
		if statuses[0]+statuses[1] != 200+412 {
			t.Errorf("the answers are %v", statuses)
		}
	}
}
