package v1_test

import (
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// The feed's two forms of a change, its bounds, and a client that follows it.
func TestChangesForm(t *testing.T) {
	t.Parallel()
	s := open(t)
	kept, gone := s.recording("a.wav"), s.recording("b.wav")
	page := s.expect(s.get("/api/v1/recordings/changes?limit=1"), 200, "")
	keys(t, "page of changes", page, "changes next_cursor has_more")
	change := page["changes"].([]any)[0].(map[string]any)
	keys(t, "upsert", change, "type recording")
	keys(t, "recording of an upsert", change["recording"].(map[string]any), listKeys)
	if change["type"] != "upsert" || change["recording"].(map[string]any)["id"] != float64(kept) || page["has_more"] != true {
		t.Errorf("the page is %v", page)
	}
	s.expect(s.do("DELETE", fmt.Sprintf("/api/v1/recordings/%d", gone), nil), 200, "")
	page = s.expect(s.get("/api/v1/recordings/changes?cursor="+page["next_cursor"].(string)), 200, "")
	change = page["changes"].([]any)[0].(map[string]any)
	keys(t, "deletion", change, "type id deleted_at reason")
	at := change["deleted_at"].(string)
	if change["type"] != "delete" || change["id"] != float64(gone) || change["reason"] != "deleted" || len(at) != len("2026-03-05T06:13:46.123456Z") {
		t.Errorf("the deletion is told as %v", change)
	}
	if page["has_more"] != false || strings.ContainsAny(page["next_cursor"].(string), "+/=&?#") {
		t.Errorf("the page is %v", page)
	}
	end := s.expect(s.get("/api/v1/recordings/changes?cursor="+page["next_cursor"].(string)), 200, "")
	if len(end["changes"].([]any)) != 0 || end["next_cursor"] == "" {
		t.Errorf("at the end %v is told", end)
	}
	s.expect(s.get("/api/v1/recordings/changes", "Authorization", "Bearer "+s.mint(s.user, "write")), 403, "insufficient_scope")
}

func TestChangesParameters(t *testing.T) {
	t.Parallel()
	s := open(t)
	for range 2 {
		s.recording("a.wav")
	}
	for query, want := range map[string]int{
		"": 2, "limit=1": 1, "limit=500": 2, "limit=x": 2, "limit=1.5": 2, "limit=": 2, "scope=own": 2, "scope=all": 2, "scope=shared": 0, "cursor=": 2,
	} {
		page := s.expect(s.get("/api/v1/recordings/changes?"+query), 200, "")
		if got := len(page["changes"].([]any)); got != want || page["next_cursor"] == "" {
			t.Errorf("?%s tells %d, want %d", query, got, want)
		}
	}
	for _, query := range []string{
		"limit=0", "limit=501", "limit=-1", "limit=99999999999999999999", "scope=mine", "cursor=x", "cursor=%00", "cursor=" + strings.Repeat("A", 600),
	} {
		s.expect(s.get("/api/v1/recordings/changes?"+query), 400, "invalid_parameter")
	}
	s.write(func(tx *gorm.DB) error {
		return tx.Model(&models.FeedMark{}).Where("name = 'pruned'").UpdateColumn("at", "9999-01-01 00:00:00+00:00").Error
	})
	page := s.expect(s.get("/api/v1/recordings/changes"), 200, "")
	s.expect(s.get("/api/v1/recordings/changes?cursor="+page["next_cursor"].(string)), 410, "cursor_expired")
}
