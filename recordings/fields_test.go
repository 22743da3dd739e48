package recordings

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// The name of a file is a label: what could mislead is taken out, the rest stays as the person wrote it.
func TestLabels(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("長", 300)
	for sent, want := range map[string]string{
		"meeting.m4a":                   "meeting.m4a",
		`会議 ä 🎙 "q".m4a`:                `会議 ä 🎙 "q".m4a`,
		`会議 ä 🎙 %22q%22.m4a`:            `会議 ä 🎙 "q".m4a`,
		"a\u0308.wav":                   "a\u0308.wav", // NFD stays NFD
		"\u00e4.wav":                    "\u00e4.wav",  // NFC stays NFC
		"../../etc/passwd":              "passwd",
		`C:\Users\x\talk.mp3`:           "talk.mp3",
		"two\r\nlines\x00.mp3":          "twolines.mp3",
		"two%0D%0Alines.mp3":            "twolines.mp3",
		"gnp\u202e3pm.exe":              "gnp3pm.exe",
		"\u2066hidden\u2069\u200f.wav":  "hidden.wav",
		"family 👨\u200d👩\u200d👧.wav":    "family 👨\u200d👩\u200d👧.wav",
		"latin \xe4.wav":                "latin \uFFFD.wav",
		"..":                            "recording",
		"\u202e":                        "recording",
		"folder/":                       "recording",
		long + ".mp3":                   strings.Repeat("長", 251) + ".mp3",
		"x." + strings.Repeat("e", 300): "x." + strings.Repeat("e", 253),
	} {
		if got := label(sent); got != want {
			t.Errorf("label(%q) = %q, want %q", sent, got, want)
		}
	}
}

func TestUploadFields(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fields form
		field  string // the one that the refusal names
	}{
		"title at its bound":          {form{"title": strings.Repeat("ä", 200)}, ""},
		"title over it":               {form{"title": strings.Repeat("ä", 201)}, "title"},
		"participants over":           {form{"participants": strings.Repeat("x", 501)}, "participants"},
		"language over":               {form{"language": strings.Repeat("x", 36)}, "language"},
		"hotwords over":               {form{"hotwords": strings.Repeat("x", 10_001)}, "hotwords"},
		"model over":                  {form{"transcription_model": strings.Repeat("x", 121)}, "transcription_model"},
		"a zero byte":                 {form{"notes": "a\x00b"}, "notes"},
		"not UTF-8":                   {form{"title": "\xff"}, "title"},
		"too many speakers":           {form{"max_speakers": "101"}, "max_speakers"},
		"more at least than most":     {form{"min_speakers": "3", "max_speakers": "2"}, "min_speakers"},
		"speakers that are no number": {form{"min_speakers": "many", "max_speakers": "-1"}, ""},
		"a date that is none":         {form{"meeting_date": "yesterday", "file_last_modified": "x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readAbout("", test.fields)
			if test.field == "" {
				if err != nil {
					t.Fatalf("got %v, want it taken", err)
				}
				return
			}
			if kindOf(t, err) != problems.InvalidParameter || !strings.Contains(err.Error(), test.field) {
				t.Errorf("got %v, want invalid_parameter that names %s", err, test.field)
			}
		})
	}
}

func TestFieldsAreRead(t *testing.T) {
	t.Parallel()
	said, err := readAbout("", form{
		"title": "  Talk ", "participants": "  ", "notes": " n ", "language": "en-US", "min_speakers": "2",
		"tag_ids[0]": "7", "tag_ids[3]": "x", "tag_id": "9", "folder_id": "none",
		"meeting_date": "2026-03-05T08:30:00+02:00", "file_last_modified": "1000",
	})
	if err != nil {
		t.Fatal(err)
	}
	if said.title != "Talk" || said.participants != nil || *said.notes != " n " || *said.hints.Language != "en" || *said.hints.MinSpeakers != 2 {
		t.Errorf("got %+v", said)
	}
	if want := time.Date(2026, 3, 5, 6, 30, 0, 0, time.UTC); !said.meetingDate.Equal(want) {
		t.Errorf("meeting date is %v, want %v: offsets are converted", said.meetingDate, want)
	}
	want := wanted{tags: []any{int64(7)}, beyond: []any{"x"}, tag: int64(9), folder: "none"}
	if !reflect.DeepEqual(said.wanted, want) {
		t.Errorf("wanted is %+v, want %+v: the contract stops at the first gap", said.wanted, want)
	}
}

// H-073: what clients write as a time is one moment in UTC, and days that don't exist are none.
func TestParseTime(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		moment, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	for text, want := range map[string]time.Time{
		"2026-03-05":                 at("2026-03-05T00:00:00Z"),
		"2024-02-29":                 at("2024-02-29T00:00:00Z"),
		"2026-03-05T06:13:46":        at("2026-03-05T06:13:46Z"),
		"2026-03-05 06:13":           at("2026-03-05T06:13:00Z"),
		"2026-03-05T06:13:46.123456": at("2026-03-05T06:13:46.123456Z"),
		"2026-03-05T06:13:46Z":       at("2026-03-05T06:13:46Z"),
		"2026-03-05T06:13:46-05:00":  at("2026-03-05T11:13:46Z"),
		"2026-03-05T06:13:46+05:30":  at("2026-03-05T00:43:46Z"),
		"2026-03-05T06:13:46 05:30":  at("2026-03-05T00:43:46Z"), // a plus sign on its way through a query
		"20260305T061346Z":           at("2026-03-05T06:13:46Z"),
		"2026-03-05T06":              at("2026-03-05T06:00:00Z"),
		"2026-03-05 06+02":           at("2026-03-05T04:00:00Z"),
		"20260305T0613-0500":         at("2026-03-05T11:13:00Z"),
		"2026-03-29T02:30:00":        at("2026-03-29T02:30:00Z"), // an hour that some clocks skip
	} {
		if got, _, ok := ParseTime(text); !ok || !got.Equal(want) {
			t.Errorf("ParseTime(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "yesterday", "2026-02-29", "2026-13-01", "2026-03-05T25:00", "05.03.2026", "1e9", "0000-01-01"} {
		if got, _, ok := ParseTime(text); ok {
			t.Errorf("ParseTime(%q) = %v, want none", text, got)
		}
	}
}
