package v1_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

func TestSearchForm(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav", "title", "Budget of March", "notes", "no money")
	s.complete(id, "segments", "", segment(0, 2.5, "Alice", "Hello"), segment(2.5, 4, "Bob", "the BUDGET, then"))
	body := s.expect(s.get("/api/v1/search?q=+budget+"), 200, "")
	keys(t, "answer", body, "query mode_used page has_more results")
	if body["query"] != "budget" || body["mode_used"] != "keyword" || body["page"] != 1.0 || body["has_more"] != false {
		t.Errorf("the answer is %v", body)
	}
	results := body["results"].([]any)
	if len(results) != 2 {
		t.Fatalf("found %v", results)
	}
	title, said := results[0].(map[string]any), results[1].(map[string]any)
	const members = "recording_id title meeting_date field segment_index start_time end_time speaker text match_spans score"
	keys(t, "hit", title, members)
	keys(t, "hit", said, members)
	if title["field"] != "title" || title["score"] != 1.0 || title["segment_index"] != nil || title["speaker"] != nil || fmt.Sprint(title["match_spans"]) != "[[0 6]]" {
		t.Errorf("the title is %v", title)
	}
	if said["recording_id"] != float64(id) || said["segment_index"] != 1.0 || said["start_time"] != 2.5 || said["end_time"] != 4.0 ||
		said["speaker"] != "Bob" || said["text"] != "the BUDGET, then" || fmt.Sprint(said["match_spans"]) != "[[4 10]]" || said["score"] != 0.7 {
		t.Errorf("the segment is %v", said)
	}
	s.write(func(tx *gorm.DB) error {
		return tx.Model(&models.Recording{}).Where("id = ?", id).UpdateColumn("meeting_date", time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)).Error
	})
	body = s.expect(s.get("/api/v1/search?q=budget&limit=1&page=2&mode=auto"), 200, "")
	second := body["results"].([]any)[0].(map[string]any)
	if body["page"] != 2.0 || body["has_more"] != false || second["field"] != "transcript" || second["meeting_date"] != "2026-03-04T05:06:07Z" {
		t.Errorf("the second page is %v", body)
	}
	if body = s.expect(s.get("/api/v1/search?q=budget&limit=1"), 200, ""); body["has_more"] != true {
		t.Errorf("the first page is %v", body)
	}
	can := s.expect(s.get("/api/v1/capabilities"), 200, "")["features"].(map[string]any)["search"]
	if fmt.Sprint(can) != "map[keyword:true semantic:false]" {
		t.Errorf("capabilities tell of %v", can)
	}
	// What is another's does not exist, and neither does what nobody has.
	stranger := s.mint(s.account("stranger"), "full")
	for _, query := range []string{"", fmt.Sprintf("&recording_ids=%d", id)} {
		body = s.expect(s.get("/api/v1/search?q=budget"+query, "Authorization", "Bearer "+stranger), 200, "")
		if len(body["results"].([]any)) != 0 {
			t.Errorf("a stranger finds %v", body)
		}
	}
}

// The lenient and strict sides of every parameter.
func TestSearchParameters(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav", "title", "apple", "meeting_date", "2026-03-05T06:13:46")
	for query, want := range map[string]int{
		"": 1, "mode=keyword": 1, "fields=title,%20notes": 1, "fields=notes": 0, "scope=own": 1, "scope=all": 1, "scope=shared": 0,
		fmt.Sprintf("recording_ids=9,%%20%d", id): 1, "recording_ids=-1": 0, "tag_id=x": 1, "tag_id=3": 0, "folder_id=none": 1,
		"folder_id=3": 0, "folder_id=": 1, "speaker=": 1, "speaker=Ann": 0, "limit=x": 1, "limit=": 1, "page=x": 1, "page=2": 0,
		"page=9223372036854775807&limit=50": -1, "limit=50&page=2147483647": 0, "date_from=2026-03-05": 1, "date_from=2026-03-06": 0,
		"date_to=2026-03-05": 1, "date_to=2026-03-04": 0, "date_to=9999-12-31": 1, "date_field=created_at&date_to=2026-03-05": 0,
		"date_field=meeting_date&date_to=2026-03-05T06:13:46Z": 1, "strange=1": 1,
		"mode=x": -1, "mode=": 1, "fields=": -1, "fields=title,": -1, "fields=tags": -1, "scope=mine": -1, "recording_ids=": -1,
		"recording_ids=1,x": -1, "recording_ids=1" + strings.Repeat(",1", 1000): -1, "folder_id=x": -1, "folder_id=-1": -1,
		"folder_id=9223372036854775808": -1, "speaker=%00": -1, "speaker=" + strings.Repeat("x", 101): -1,
		"limit=0": -1, "limit=51": -1, "limit=-1": -1, "limit=99999999999999999999": -1, "page=0": -1, "page=-1": -1,
		"date_from=x": -1, "date_to=2026-02-29": -1, "date_field=updated_at": -1,
	} {
		reply := s.get("/api/v1/search?q=apple&" + query)
		if want < 0 {
			s.expect(reply, 400, "invalid_parameter")
		} else if found := s.expect(reply, 200, "")["results"].([]any); len(found) != want {
			t.Errorf("?%s finds %v, want %d", query, found, want)
		}
	}
	for _, text := range []string{"", " a ", "a", strings.Repeat("x", 501), "\x00\x00", "\xff\xff", `""`} {
		s.expect(s.get("/api/v1/search?q="+url.QueryEscape(text)), 400, "invalid_parameter")
	}
	s.expect(s.get("/api/v1/search?q="+url.QueryEscape(strings.Repeat("ß", 500))), 200, "")
	s.expect(s.get("/api/v1/search"), 400, "invalid_parameter")
	s.expect(s.get("/api/v1/search?q=apple&mode=semantic"), 409, "semantic_unavailable")
}

// Searches are counted by a limit of their own besides the read limits.
func TestSearchIsCounted(t *testing.T) {
	t.Parallel()
	s := open(t)
	for range 3 {
		s.expect(s.get("/api/v1/search?q=apple"), 200, "")
	}
	for _, entry := range s.expect(s.get("/api/v1/limits"), 200, "")["limits"].([]any) {
		switch entry := entry.(map[string]any); entry["name"] {
		case "search":
			if entry["remaining"] != 997.0 {
				t.Errorf("search stands at %v", entry)
			}
		case "token_read":
			if entry["remaining"] != 996.0 {
				t.Errorf("token_read stands at %v", entry)
			}
		}
	}
}
