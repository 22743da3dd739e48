package recordings

import (
	"context"
	"encoding/json"
	"fmt"
	"net/mail"
	"regexp"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// maxEvents bounds what one answer lists: the appointments of one conversation.
const maxEvents = 1000

// CalendarEvent is an appointment that was spoken of in a recording.
type CalendarEvent struct {
	ID, RecordingID int64
	Title           string
	Description     *string
	// Starts and Ends are wall-clock times without a zone, 2026-03-04T15:30:00: nobody said in which zone.
	Starts          string
	Ends            *string
	Location        *string
	Attendees       []Attendee
	ReminderMinutes *int
	CreatedAt       time.Time
}

// Attendee has a name, an address, or both.
type Attendee struct{ Name, Email *string }

// Events lists the appointments of a recording that the caller may see, in the order in which they were found, with the
// moment of its last change. They are texts: a caller that may not read gets none.
func (s *Recordings) Events(ctx context.Context, p auth.Principal, id int64) ([]CalendarEvent, time.Time, error) {
	db := s.db.Read.WithContext(ctx)
	row, err := s.visible(db, p, id)
	if err != nil {
		return nil, time.Time{}, err
	}
	events, err := eventsOf(db, p, id)
	return events, row.UpdatedAt, err
}

func eventsOf(db *gorm.DB, p auth.Principal, id int64) ([]CalendarEvent, error) {
	if !p.MayRead() {
		return nil, nil
	}
	var rows []models.RecordingEvent
	if err := db.Where("recording_id = ?", id).Order("id").Limit(maxEvents).Find(&rows).Error; err != nil {
		return nil, unavailable("read the events", err)
	}
	events := make([]CalendarEvent, len(rows))
	for i, row := range rows {
		attendees, err := readAttendees(row.Attendees)
		if err != nil {
			return nil, fmt.Errorf("read the attendees of event %d: %w", row.ID, err)
		}
		events[i] = CalendarEvent{
			ID: row.ID, RecordingID: row.RecordingID, Title: row.Title, Description: row.Description,
			Starts: row.Starts, Ends: row.Ends, Location: row.Location, Attendees: attendees,
			ReminderMinutes: row.ReminderMinutes, CreatedAt: row.CreatedAt,
		}
	}
	return events, nil
}

// readAttendees reads a list that a model wrote, or that was kept elsewhere: names, addresses, "Name <address>", and
// objects with either. What is none of these is dropped.
func readAttendees(stored string) ([]Attendee, error) {
	var members []json.RawMessage
	if err := json.Unmarshal([]byte(stored), &members); err != nil {
		return nil, err
	}
	attendees := []Attendee{}
	for _, member := range members {
		var text string
		if json.Unmarshal(member, &text) == nil {
			if attendee, ok := attendeeOf(text); ok {
				attendees = append(attendees, attendee)
			}
			continue
		}
		var object struct {
			Name  any `json:"name"`
			Email any `json:"email"`
		}
		if json.Unmarshal(member, &object) != nil {
			continue
		}
		attendee := Attendee{Name: trimmed(object.Name), Email: trimmed(object.Email)}
		if attendee.Name != nil || attendee.Email != nil {
			attendees = append(attendees, attendee)
		}
	}
	return attendees, nil
}

func attendeeOf(text string) (attendee Attendee, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Attendee{}, false
	}
	if isAddress(text) {
		return Attendee{Email: &text}, true
	}
	if name, address, found := strings.Cut(text, "<"); found && strings.HasSuffix(address, ">") {
		if address = strings.TrimSpace(strings.TrimSuffix(address, ">")); isAddress(address) {
			return Attendee{Name: trimmed(strings.Trim(strings.TrimSpace(name), `"`)), Email: &address}, true
		}
	}
	return Attendee{Name: &text}, true
}

// trimmed is a text that says something; nil for all else.
func trimmed(value any) *string {
	text, _ := value.(string)
	return optional(strings.TrimSpace(text))
}

// addressForm is one @ between a name and a host with a dot, and nothing that could end it where it stands.
var addressForm = regexp.MustCompile(`^[^\s@<>"(),:;\\\[\]]+@[^\s@<>"(),:;\\\[\]]+\.[^\s@<>"(),:;\\\[\]]+$`)

// isAddress reports whether mail could be sent there.
func isAddress(text string) bool {
	if len(text) > 320 || !addressForm.MatchString(text) {
		return false
	}
	_, err := mail.ParseAddress(text)
	return err == nil
}
