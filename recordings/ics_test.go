package recordings_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	ics "github.com/arran4/golang-ical"

	"github.com/stenometer/stenometer/recordings"
)

func ptr[T any](value T) *T { return &value }

func property(t testing.TB, event *ics.VEvent, name ics.ComponentProperty) string {
	t.Helper()
	found := event.GetProperty(name)
	if found == nil {
		return ""
	}
	return found.Value
}

// RFC 5545, read by a parser that is not ours: what was spoken comes back as it was, and nothing of it becomes a line
// of its own.
func TestCalendarIsReadByOthers(t *testing.T) {
	t.Parallel()
	hostile := "a,b;c\\d\r\nATTENDEE:mailto:evil@example.org\nEND:VEVENT\ré\x00\x1b\u0085"
	text := ics.FromText(`a\,b\;c\\d\nATTENDEE:mailto:evil@example.org\nEND:VEVENT\né`)
	made := time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)
	events := []recordings.CalendarEvent{
		{
			ID: 7, Title: hostile, Description: &hostile, Location: &hostile, Starts: "2026-03-04T15:30:00", Ends: ptr("2026-03-04T16:00:00"),
			ReminderMinutes: ptr(15), CreatedAt: made,
			Attendees: []recordings.Attendee{
				{Name: ptr("Ann \"A\"; \n B,C:"), Email: ptr("ann@example.org")},
				{Email: ptr("b+c&d?@example.org")},
				{Name: ptr("Cy")},
				{Name: ptr("Dee"), Email: ptr("nowhere")},
				{Email: ptr("e @example.org")},
			},
		},
		{ID: 8, Title: "Bare", Starts: "2026-03-05T00:00:00", Ends: ptr("2026-03-05T00:00:00"), CreatedAt: made},
		{ID: 9, Title: "No time", Starts: "some day at noon...", CreatedAt: made},
	}
	file := string(recordings.Calendar(events))
	calendar, err := ics.ParseCalendar(strings.NewReader(file))
	if err != nil {
		t.Fatalf("%v:\n%s", err, file)
	}
	found := calendar.Events()
	if len(found) != 2 {
		t.Fatalf("%d events are found, want 2:\n%s", len(found), file)
	}
	if !strings.Contains(file, "\r\nSUMMARY:a\\,b\\;c\\\\d\\nATTENDEE:") {
		t.Errorf("the title is not escaped:\n%s", file)
	}
	first := found[0]
	for name, want := range map[ics.ComponentProperty]string{
		"UID": "7-1772600767000008@stenometer", "DTSTAMP": "20260304T050607Z", "DTSTART": "20260304T153000", "DTEND": "20260304T160000",
		"SUMMARY": text, "LOCATION": text, "DESCRIPTION": text + "\n\nAttendees: Cy, Dee, e @example.org",
	} {
		if got := property(t, first, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	attendees := first.Attendees()
	if len(attendees) != 2 || attendees[0].Value != "mailto:ann@example.org" || attendees[0].ICalParameters["CN"][0] != "Ann 'A'; B,C:" ||
		attendees[1].Value != "mailto:b+c&d%3F@example.org" || attendees[1].ICalParameters["CN"][0] != "b+c&d?@example.org" {
		t.Errorf("the attendees are %+v", attendees)
	}
	if alarms := first.Alarms(); len(alarms) != 1 || alarms[0].GetProperty("TRIGGER").Value != "-PT15M" || alarms[0].GetProperty("ACTION").Value != "DISPLAY" {
		t.Errorf("the alarms are %+v", alarms)
	}
	bare := found[1]
	if property(t, bare, "DTEND")+property(t, bare, "DESCRIPTION")+property(t, bare, "LOCATION") != "" || len(bare.Alarms()) != 0 {
		t.Errorf("the bare event has more than it should: %+v", bare)
	}
}

// Lines end in CRLF, have at most 75 octets, are never cut within a character, and come back whole.
func TestCalendarFoldsItsLines(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"x", "é", "漢", "🎙", "a🎙é漢"} {
		for length := range 200 {
			title := strings.Repeat(unit, length) + "."
			file := string(recordings.Calendar([]recordings.CalendarEvent{{ID: 1, Title: title, Starts: "2026-03-04T15:30:00"}}))
			for line := range strings.SplitSeq(strings.TrimSuffix(file, "\r\n"), "\r\n") {
				if len(line) > 75 || strings.ContainsAny(line, "\r\n") || !utf8.ValidString(line) {
					t.Fatalf("a line of %d octets: %q", len(line), line)
				}
			}
			calendar, err := ics.ParseCalendar(strings.NewReader(file))
			if err != nil || property(t, calendar.Events()[0], "SUMMARY") != title {
				t.Fatalf("%d of %q do not come back: %v", length, unit, err)
			}
		}
	}
}
