package v1_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// The forms of the contract; the detail has the same list; the tag follows the events; no events is no calendar.
func TestEventsHaveTheContractsForm(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	path := fmt.Sprintf("/api/v1/recordings/%d/events", id)
	empty := s.get(path)
	if list := s.expect(empty, http.StatusOK, "")["events"].([]any); len(list) != 0 {
		t.Errorf("without events: %v", list)
	}
	s.expect(s.get(path+"/ics"), http.StatusNotFound, "not_found")
	row := models.RecordingEvent{
		RecordingID: id, Title: "Review, part 2", Starts: "2026-03-04T15:30:00", Attendees: `["Ann <ann@example.org>"]`,
		CreatedAt: time.Date(2026, 3, 4, 1, 2, 3, 0, time.UTC),
	}
	s.write(func(tx *gorm.DB) error { return tx.Create(&row).Error })
	tagged := s.get(path, "If-None-Match", empty.Header.Get("ETag"))
	list := s.expect(tagged, http.StatusOK, "")["events"].([]any)
	event := list[0].(map[string]any)
	keys(t, "event", event, "id recording_id title start_datetime end_datetime floating description location attendees reminder_minutes created_at")
	for key, want := range map[string]string{
		"recording_id": fmt.Sprint(id), "start_datetime": "2026-03-04T15:30:00", "end_datetime": "<nil>", "floating": "true",
		"attendees": "[map[email:ann@example.org name:Ann]]", "reminder_minutes": "<nil>", "created_at": "2026-03-04T01:02:03",
	} {
		if got := fmt.Sprint(event[key]); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	if tag := tagged.Header.Get("ETag"); !strings.HasPrefix(tag, fmt.Sprintf(`W/"e%d-`, id)) || s.get(path, "If-None-Match", tag).StatusCode != http.StatusNotModified {
		t.Errorf("the tag is %s", tag)
	}
	detail := s.expect(s.get(fmt.Sprintf("/api/v1/recordings/%d", id)), http.StatusOK, "")
	if fmt.Sprint(detail["events"]) != fmt.Sprint(list) {
		t.Errorf("the detail has %v, want %v", detail["events"], list)
	}
	calendar := s.get(path + "/ics")
	if calendar.StatusCode != http.StatusOK || calendar.Header.Get("Content-Type") != "text/calendar; charset=utf-8" ||
		calendar.Header.Get("Content-Disposition") != fmt.Sprintf("attachment; filename=events-%d.ics", id) || !strings.Contains(string(calendar.body), "SUMMARY:Review\\, part 2\r\n") {
		t.Errorf("the calendar is %v %q", calendar.Header, calendar.body)
	}
	stranger := "Bearer " + s.mint(s.account("stranger"), "full")
	for _, foreign := range []string{path, path + "/ics"} {
		s.expect(s.get(foreign, "Authorization", stranger), http.StatusNotFound, "not_found")
	}
}

// The setting takes booleans alone; the contract reads every word, "false" too, as true.
func TestAutoSummarizationIsSet(t *testing.T) {
	t.Parallel()
	s := open(t)
	put := func(body string) reply {
		return s.do(http.MethodPut, "/api/v1/settings/auto-summarization", strings.NewReader(body), "Content-Type", "application/json")
	}
	shown := func() any {
		return s.expect(s.get("/api/v1/users/me"), http.StatusOK, "")["preferences"].(map[string]any)["auto_summarization"]
	}
	if shown() != true {
		t.Error("unset does not count as true")
	}
	answer := s.expect(put(`{"enabled":false}`), http.StatusOK, "")
	keys(t, "answer", answer, "success auto_summarization")
	if answer["success"] != true || answer["auto_summarization"] != false || shown() != false {
		t.Errorf("switched off: %v, shown as %v", answer, shown())
	}
	for _, body := range []string{`{"enabled":"false"}`, `{"enabled":1}`, `{"enabled":null}`, `{}`} {
		s.expect(put(body), http.StatusBadRequest, "invalid_parameter")
	}
	s.expect(put(`null`), http.StatusBadRequest, "bad_request")
	if s.expect(put(`{"enabled":true}`), http.StatusOK, ""); shown() != true {
		t.Error("it was not switched on again")
	}
}
