package tests

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

const eventShape = shape("id:int recording_id:int title:string start_datetime:floating end_datetime:floating? floating:bool " +
	"description:string? location:string? attendees:list reminder_minutes:int? created_at:N")

// eventContract is the contract's rows of events (newer 14, 3.11 of the older file). Nothing of this release writes
// events, so that the test does.
func eventContract(t *testing.T, r *rig) {
	t.Helper()
	r.holds(t, r.ada, []rule{
		{says: "none", method: "GET", path: "/api/v1/recordings/{talk}/events", status: 200, shapes: map[string]shape{"": "events:list"}, values: map[string]any{"events.len": 0}},
		{says: "no calendar without events", method: "GET", path: "/api/v1/recordings/{talk}/events/ics", status: 404, code: "not_found"},
	})
	r.writeEvents(t)
	first := map[string]any{
		"events.len": 2, "events[0].title": "Review; of a, b", "events[0].start_datetime": "2026-03-04T23:30:00", "events[0].end_datetime": "2026-03-05T00:30:00",
		"events[0].floating": true, "events[0].recording_id": "{talk}", "events[0].reminder_minutes": 15, "events[0].created_at": "2026-03-05T06:13:46.123456",
		"events[0].attendees.len": 4, "events[0].attendees[0].name": "Grace", "events[0].attendees[0].email": nil,
		"events[0].attendees[1].name": nil, "events[0].attendees[1].email": "ada@example.org",
		"events[0].attendees[2].name": "Bob", "events[0].attendees[2].email": "bob@example.org", "events[0].attendees[3].name": "Cid",
		"events[1].end_datetime": nil, "events[1].location": nil, "events[1].reminder_minutes": nil, "events[1].created_at": "2026-03-05T06:13:46",
	}
	r.holds(t, r.ada, []rule{
		{says: "all members, times floating, attendees parsed", method: "GET", path: "/api/v1/recordings/{talk}/events", status: 200, shapes: map[string]shape{"events[]": eventShape, "events[0].attendees[]": "name:string? email:string?"}, values: first},
		{says: "the detail has the same list", method: "GET", path: "/api/v1/recordings/{talk}", status: 200, shapes: map[string]shape{"events[]": eventShape}, values: first},
		{says: "an unknown recording", method: "GET", path: "/api/v1/recordings/999999/events", status: 404, code: "not_found"},
		{says: "an unknown recording's calendar", method: "GET", path: "/api/v1/recordings/999999/events/ics", status: 404, code: "not_found"},
	})
	r.holds(t, r.eve, []rule{{says: "another account's events are 404 (ours)", method: "GET", path: "/api/v1/recordings/{talk}/events", status: 404, code: "not_found"}})
	t.Run("an ETag with the prefix e, and 304", func(t *testing.T) { eventTag(t, r) })
	t.Run("the calendar", func(t *testing.T) { calendar(t, r) })
}

// writeEvents puts two appointments into a recording of Ada's.
func (r *rig) writeEvents(t *testing.T) {
	t.Helper()
	recording, err := strconv.ParseInt(r.ids["talk"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	end, place, told, reminder := "2026-03-05T00:30:00", "Room 1", "All of it.\nAnd more.", 15
	rows := []models.RecordingEvent{
		{
			RecordingID: recording, Title: "Review; of a, b", Starts: "2026-03-04T23:30:00", Ends: &end, Location: &place, Description: &told, ReminderMinutes: &reminder,
			Attendees: `["Grace","ada@example.org","Bob <bob@example.org>",{"name":"Cid","email":"cid@example.org"},5,"",{"x":1}]`,
			CreatedAt: time.Date(2026, 3, 5, 6, 13, 46, 123456000, time.UTC),
		},
		{RecordingID: recording, Title: strings.Repeat("long ", 30), Starts: "2026-03-06T09:00:00", Attendees: "[]", CreatedAt: time.Date(2026, 3, 5, 6, 13, 46, 0, time.UTC)},
	}
	db := modelstest.Open(t, r.environment["DATABASE_URL"], false)
	if err := db.Transaction(t.Context(), func(tx *gorm.DB) error { return tx.Create(&rows).Error }); err != nil {
		t.Fatal(err)
	}
}

func eventTag(t *testing.T, r *rig) {
	t.Helper()
	path := r.fill("/api/v1/recordings/{talk}/events")
	client := r.client(t, r.ada)
	answer := client.Get(path)
	tag := answer.Header.Get("ETag")
	if !strings.HasPrefix(tag, r.fill(`W/"e{talk}-`)) || answer.Header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("ETag %s, Cache-Control %s", tag, answer.Header.Get("Cache-Control"))
	}
	again := client.Call(http.MethodGet, path, nil, http.Header{"If-None-Match": {`"other", ` + strings.TrimPrefix(tag, "W/")}})
	if again.Status != http.StatusNotModified || len(again.Body) > 0 || again.Header.Get("ETag") != tag {
		t.Errorf("asked again: %v with %s", again, again.Header.Get("ETag"))
	}
	stranger := r.client(t, r.eve).Call(http.MethodGet, path, nil, http.Header{"If-None-Match": {"*"}})
	if stranger.Status != http.StatusNotFound || stranger.Header.Get("ETag") != "" {
		t.Errorf("who may not see it: %v with ETag %q, want 404 with none", stranger, stranger.Header.Get("ETag"))
	}
}

// calendar holds the file to what calendars read: CRLF, lines of at most 75 octets, escaped text, floating times.
func calendar(t *testing.T, r *rig) {
	t.Helper()
	answer := r.client(t, r.ada).Get(r.fill("/api/v1/recordings/{talk}/events/ics"))
	if answer.Header.Get("Content-Type") != "text/calendar; charset=utf-8" || answer.Header.Get("Content-Disposition") != r.fill("attachment; filename=events-{talk}.ics") {
		t.Errorf("headers are %v", answer.Header)
	}
	text := string(answer.Body)
	for line := range strings.SplitSeq(text, "\r\n") {
		if len(line) > 75 || strings.ContainsAny(line, "\r\n") {
			t.Errorf("a line of %d octets, or without CRLF: %q", len(line), line)
		}
	}
	whole := strings.ReplaceAll(text, "\r\n ", "")
	for _, want := range []string{
		"VERSION:2.0\r\n", "PRODID:", `SUMMARY:Review\; of a\, b` + "\r\n", "DTSTART:20260304T233000\r\n", "DTEND:20260305T003000\r\n", "LOCATION:Room 1\r\n",
		`ATTENDEE;CN="Bob":mailto:bob@example.org` + "\r\n", `All of it.\nAnd more.`, "TRIGGER:-PT15M\r\n", "SUMMARY:" + strings.Repeat("long ", 30) + "\r\n",
	} {
		if !strings.Contains(whole, want) {
			t.Errorf("the calendar lacks %q:\n%s", want, whole)
		}
	}
	if strings.Contains(whole, "mailto:Grace") || !strings.Contains(whole, "Grace") {
		t.Errorf("who has no address stands in the description, and is mailed nothing:\n%s", whole)
	}
	if stamps := spelledOut(whole, "DTSTAMP:"); len(stamps) != 2 || !strings.HasSuffix(stamps[0], "Z") {
		t.Errorf("DTSTAMPs are %v, want one of UTC for each", stamps)
	}
}

// spelledOut is what stands behind a name, line by line.
func spelledOut(text, name string) []string {
	var values []string
	for line := range strings.SplitSeq(text, "\r\n") {
		if value, ok := strings.CutPrefix(line, name); ok {
			values = append(values, value)
		}
	}
	return values
}
