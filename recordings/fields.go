package recordings

import (
	"strconv"
	"strings"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/speech"
)

// The bounds of what a caller may say about a recording, in characters.
const (
	maxTitle        = 200
	maxParticipants = 500
	maxLanguage     = 35
	maxHints        = 10_000
	maxModel        = 120
	maxSpeakers     = 100
)

// Hints is what a caller may tell the speech engine. A nil hint was not given.
type Hints struct {
	Language      *string
	MinSpeakers   *int
	MaxSpeakers   *int
	Hotwords      *string
	InitialPrompt *string
	Model         *string
}

// check holds the hints to their bounds and cleans them: languages are reduced to a code, blank means none.
func (h Hints) check() (Hints, error) {
	for _, hint := range []struct {
		name  string
		value **string
		bound int
	}{
		{"language", &h.Language, maxLanguage},
		{"hotwords", &h.Hotwords, maxHints},
		{"initial_prompt", &h.InitialPrompt, maxHints},
		{"transcription_model", &h.Model, maxModel},
	} {
		if *hint.value == nil {
			continue
		}
		trimmed := strings.TrimSpace(**hint.value)
		if err := problems.OfText(hint.name, trimmed, hint.bound); err != nil {
			return Hints{}, err
		}
		*hint.value = &trimmed
	}
	if h.Language != nil {
		code := speech.Language(*h.Language)
		h.Language = &code
	}
	for _, count := range []struct {
		name  string
		value **int
	}{{"min_speakers", &h.MinSpeakers}, {"max_speakers", &h.MaxSpeakers}} {
		switch {
		case *count.value == nil:
		case **count.value < 1:
			// Clients send 0 for "don't know".
			*count.value = nil
		case **count.value > maxSpeakers:
			return Hints{}, problems.New(problems.InvalidParameter, "%s must be at most %d.", count.name, maxSpeakers)
		}
	}
	if h.MinSpeakers != nil && h.MaxSpeakers != nil && *h.MinSpeakers > *h.MaxSpeakers {
		return Hints{}, problems.New(problems.InvalidParameter, "min_speakers must not be above max_speakers.")
	}
	return h, nil
}

// about is what the fields of an upload say about the recording.
type about struct {
	title        string // "" for none
	notes        *string
	participants *string
	meetingDate  *time.Time
	hints        Hints
	wanted       wanted
	refs         []ExternalRef
	variables    *string // JSON object of texts, nil for none
	// key is that of the request; empty for none.
	key string
}

// readAbout checks the fields of an upload, in the order of the contract. It is asked twice where fields come
// before the file: a fault is told before gigabytes were taken.
func readAbout(headerKey string, fields form) (about, error) {
	var read about
	if participants := fields.text("participants"); participants != "" {
		if err := problems.OfText("participants", participants, maxParticipants); err != nil {
			return about{}, err
		}
		read.participants = &participants
	}
	var err error
	if read.refs, err = readRefs(fields); err != nil {
		return about{}, err
	}
	if read.key, err = uploadKey(headerKey, fields); err != nil {
		return about{}, err
	}
	read.wanted = readWanted(fields)
	read.variables = readVariables(fields)
	read.title = fields.text("title")
	if err := problems.OfText("title", read.title, maxTitle); err != nil {
		return about{}, err
	}
	if notes, sent := fields["notes"]; sent {
		if err := problems.OfText("notes", notes, maxFieldBytes); err != nil {
			return about{}, err
		}
		read.notes = &notes
	}
	hints, err := readHints(fields).check()
	if err != nil {
		return about{}, err
	}
	read.hints = hints
	read.meetingDate = readMeetingDate(fields)
	return read, nil
}

// readHints reads the hints of a form. Forms send blank fields for what was not filled in.
func readHints(fields form) Hints {
	text := func(name string) *string { return optional(fields.text(name)) }
	number := func(name string) *int {
		if value, err := strconv.Atoi(fields.text(name)); err == nil {
			return &value
		}
		return nil
	}
	return Hints{
		Language: text("language"), MinSpeakers: number("min_speakers"), MaxSpeakers: number("max_speakers"),
		Hotwords: text("hotwords"), InitialPrompt: text("initial_prompt"), Model: text("transcription_model"),
	}
}

// readMeetingDate takes the date that was given, else the file's own; a date that cannot be read is none, as the
// contract has it.
func readMeetingDate(fields form) *time.Time {
	if at, _, ok := ParseTime(fields["meeting_date"]); ok {
		return &at
	}
	milliseconds, err := strconv.ParseInt(fields.text("file_last_modified"), 10, 64)
	if err != nil || milliseconds <= 0 {
		return nil
	}
	if at := time.UnixMilli(milliseconds).UTC(); storable(at) {
		return &at
	}
	return nil
}
