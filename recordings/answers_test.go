package recordings

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Labels that differ only in case are two speakers: each gets its own name, and one that could be either gets none.
func TestLabelsThatDifferInCase(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string][3]string{
		`{"Ann":"Ann Lee","ann":"Ann Poe","x":"Bob"}`: {"Ann Lee", "Ann Poe", "Bob"},
		`{"ANN":"Ann Lee","X":"Bob"}`:                 {"", "", "Bob"},
		`{"Bob":"[X]:","Ann Poe":"ann"}`:              {"", "Ann Poe", "Bob"},
		`{"Nobody":"","":"Bob"}`:                      {},
	} {
		found := Identified{Names: map[string]string{"Ann": "", "ann": "", "x": "", "[:]": ""}}
		if err := found.take(answer); err != nil {
			t.Fatal(err)
		}
		if name := found.Names["[:]"]; name != "" {
			t.Errorf("%s names a label of marks alone %q", answer, name)
		}
		if got := [3]string{found.Names["Ann"], found.Names["ann"], found.Names["x"]}; got != want {
			t.Errorf("%s gives %q, want %q", answer, got, want)
		}
	}
}

// Whatever a model answers, what is made of it can be stored: a text that a column refuses would fail the recording
// after the summary was paid for, each time again.
func FuzzModelAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"events":[{"title":"Tea","start_datetime":"2026-12-01T10:00:00","end_datetime":"2026-12-01T11:00","attendees":["Ada <ada@example.org>",{"name":"Bob"}],"reminder_minutes":30,"location":"x"}]}`,
		"Here:\n```json\n[{\"title\":\"\u202e\\u0000x\",\"start_datetime\":\"9999-12-31T23:59:59.999999999+23:59\"}]\n```",
		`{"events":[{"title":" ","start_datetime":"0000-01-01"},{"title":1,"start_datetime":"10000-01-01"},null,{"title":"x","start_datetime":"2026-02-30","reminder_minutes":1e400}]}`,
		`{"SPEAKER_00":"Ada (the host), PhD","Bob":"speaker_01","[SPEAKER_01]:":"\ud800"}`,
		"**Title:** \"Bees\"\n", "{\"SPEAKER_00\":\"" + strings.Repeat("é", 300) + "\"}", "[[[{", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		if !utf8.ValidString(answer) || strings.ContainsRune(answer, 0) {
			return // the adapter lets none through
		}
		holds := func(what string, text *string, least, most int) {
			if text == nil {
				return
			}
			if runes := utf8.RuneCountInString(*text); runes < least || runes > most || !utf8.ValidString(*text) || strings.ContainsRune(*text, 0) {
				t.Fatalf("%s of %d characters: %q", what, runes, *text)
			}
		}
		events, _ := readEvents(answer)
		for _, event := range events {
			holds("a title", &event.Title, 1, maxEventTitle)
			holds("a beginning", &event.Starts, 19, 19)
			holds("an end", event.Ends, 19, 19)
			holds("a description", event.Description, 1, maxEventDescription)
			holds("a place", event.Location, 1, maxEventLocation)
			if !json.Valid([]byte(event.Attendees)) || len(event.Attendees) > maxAttendees*3*maxAttendee {
				t.Fatalf("attendees: %q", event.Attendees)
			}
			if minutes := event.ReminderMinutes; minutes != nil && (*minutes < 0 || *minutes > maxReminder) {
				t.Fatalf("a reminder of %d minutes", *minutes)
			}
		}
		found := Identified{Names: map[string]string{"SPEAKER_00": "", "SPEAKER_01": ""}}
		_ = found.take(answer)
		if len(found.Names) != 2 {
			t.Fatalf("the labels are %v", found.Names)
		}
		for _, name := range found.Names {
			holds("a name", &name, 0, maxSpeakerName)
		}
		title := cleanTitle(answer)
		holds("a title", &title, 0, maxTitle)
	})
}
