package recordings

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	floatingForm = "2006-01-02T15:04:05"
	calendarForm = "20060102T150405"
	// longestLine is that of RFC 5545, in octets without the line's end.
	longestLine = 75
)

// Calendar writes appointments as an iCalendar file (RFC 5545). It is our own writer because the libraries of Go do
// not fold lines, or escape a quote in a name in a way that the format does not have.
func Calendar(events []CalendarEvent) []byte {
	var c calendar
	c.line("BEGIN:VCALENDAR")
	c.line("VERSION:2.0")
	c.line("PRODID:-//Stenometer//Recordings//EN")
	for _, event := range events {
		c.event(event)
	}
	c.line("END:VCALENDAR")
	return []byte(c.text.String())
}

// calendar is a file while it is written.
type calendar struct{ text strings.Builder }

// event writes one appointment. The moment of its making marks it apart from those of other servers, so that a second
// import changes the entry that is there.
func (c *calendar) event(event CalendarEvent) {
	starts, err := time.Parse(floatingForm, event.Starts)
	if err != nil {
		return // no calendar has a place for it
	}
	c.line("BEGIN:VEVENT")
	c.line(fmt.Sprintf("UID:%d-%d@stenometer", event.ID, event.CreatedAt.UnixMicro()))
	c.line("DTSTAMP:" + event.CreatedAt.UTC().Format(calendarForm) + "Z")
	c.line("DTSTART:" + starts.Format(calendarForm))
	if ends, err := time.Parse(floatingForm, given(event.Ends)); err == nil && ends.After(starts) {
		c.line("DTEND:" + ends.Format(calendarForm))
	}
	c.line("SUMMARY:" + calendarText(event.Title))
	if text := described(event); text != "" {
		c.line("DESCRIPTION:" + calendarText(text))
	}
	if event.Location != nil {
		c.line("LOCATION:" + calendarText(*event.Location))
	}
	for _, attendee := range event.Attendees {
		if address := given(attendee.Email); isAddress(address) {
			c.line("ATTENDEE;CN=" + quotedName(attendee) + ":" + mailto(address))
		}
	}
	if event.ReminderMinutes != nil {
		c.line("BEGIN:VALARM")
		c.line("ACTION:DISPLAY")
		c.line("DESCRIPTION:" + calendarText(event.Title))
		c.line(fmt.Sprintf("TRIGGER:-PT%dM", *event.ReminderMinutes))
		c.line("END:VALARM")
	}
	c.line("END:VEVENT")
}

// line writes one content line, folded where it is too long, and never within a character.
func (c *calendar) line(text string) {
	room := longestLine
	for len(text) > room {
		cut := room
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		c.text.WriteString(text[:cut] + "\r\n ")
		text, room = text[cut:], longestLine-1 // the space counts
	}
	c.text.WriteString(text + "\r\n")
}

// described is the description, and at its end those whom no invitation could reach.
func described(event CalendarEvent) string {
	var names []string
	for _, attendee := range event.Attendees {
		if isAddress(given(attendee.Email)) {
			continue
		}
		switch {
		case attendee.Name != nil:
			names = append(names, *attendee.Name)
		case attendee.Email != nil:
			names = append(names, *attendee.Email)
		}
	}
	text := given(event.Description)
	if len(names) == 0 {
		return text
	}
	if text != "" {
		text += "\n\n"
	}
	return text + "Attendees: " + strings.Join(names, ", ")
}

var escapeText = strings.NewReplacer("\r\n", `\n`, "\r", `\n`, "\n", `\n`, `\`, `\\`, ";", `\;`, ",", `\,`)

// calendarText is a text value: without it a comma ends a value, and a line's end begins a line of the writer's choice.
func calendarText(text string) string { return withoutControls(escapeText.Replace(text)) }

// quotedName is the name of an attendee. The format has no way to write a quote within quotes.
func quotedName(attendee Attendee) string {
	name := given(attendee.Name)
	if name == "" {
		name = given(attendee.Email)
	}
	name = strings.Join(strings.Fields(strings.ReplaceAll(name, `"`, "'")), " ")
	return `"` + withoutControls(name) + `"`
}

// mailto is the address as a URI.
func mailto(address string) string {
	at := strings.LastIndexByte(address, '@')
	return "mailto:" + url.PathEscape(address[:at]) + "@" + url.PathEscape(address[at+1:])
}

func withoutControls(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
