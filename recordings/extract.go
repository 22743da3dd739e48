package recordings

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/prompts"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/webhooks"
)

// The bounds of an appointment that a model found, in characters.
const (
	maxEventTitle       = 200
	maxEventDescription = 4000
	maxEventLocation    = 500
	maxAttendees        = 100
	maxAttendee         = 320
	maxReminder         = 60 * 24 * 366 // minutes
	maxEventsFound      = 200
)

// eventsIn asks for the appointments of a transcript, part by part.
func (s *Recordings) eventsIn(ctx context.Context, purse budgets.Purse, row models.Recording, words spoken, at around) ([]models.RecordingEvent, error) {
	asked := errand{operation: budgets.ExtractingEvents}
	for _, part := range words.parts {
		asked.parts = append(asked.parts, llm.Request{
			Operation: budgets.ExtractingEvents, MaxTokens: s.TextBounds.EventTokens, Temperature: readingTemperature, JSON: true,
			Messages: prompts.Events(prompts.EventsInput{
				When: at.when(row), Language: given(at.user.OutputLanguage), Transcript: prompts.Transcript(part, false, false),
			}),
			Material: llm.Material{Passages: part},
		})
	}
	answers, err := s.run(ctx, purse, asked)
	if err != nil {
		return nil, err
	}
	found := []models.RecordingEvent{}
	seen := map[string]bool{}
	for _, answer := range answers {
		read, err := readEvents(answer.Text)
		if err != nil {
			return nil, err
		}
		for _, event := range read {
			key := event.Title + "\n" + event.Starts
			if seen[key] || len(found) == maxEventsFound {
				continue
			}
			seen[key] = true
			found = append(found, event)
		}
	}
	return found, nil
}

// foundEvent is an appointment as a model writes it. Nothing in it is trusted to be of the type that was asked for.
type foundEvent struct {
	Title       any             `json:"title"`
	Description any             `json:"description"`
	Starts      any             `json:"start_datetime"`
	Ends        any             `json:"end_datetime"`
	Location    any             `json:"location"`
	Attendees   json.RawMessage `json:"attendees"`
	Reminder    any             `json:"reminder_minutes"`
}

// readEvents reads an answer: {"events": […]} or the list alone. An appointment without a title or a beginning is none.
func readEvents(answer string) ([]models.RecordingEvent, error) {
	var whole struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal([]byte(answer), &whole); err != nil {
		if json.Unmarshal([]byte(answer), &whole.Events) != nil {
			return nil, unreadable("appointments").Because(err)
		}
	}
	var events []models.RecordingEvent
	for _, raw := range whole.Events {
		var found foundEvent
		if json.Unmarshal(raw, &found) != nil {
			continue
		}
		if event, ok := found.row(); ok {
			events = append(events, event)
		}
	}
	return events, nil
}

// row is the appointment as it is stored.
func (f foundEvent) row() (models.RecordingEvent, bool) {
	title, starts := shortText(f.Title, maxEventTitle), wallClock(f.Starts)
	if title == nil || starts == nil {
		return models.RecordingEvent{}, false
	}
	event := models.RecordingEvent{
		Title: *title, Starts: *starts, Description: shortText(f.Description, maxEventDescription),
		Location: shortText(f.Location, maxEventLocation), Attendees: attendeesIn(f.Attendees),
	}
	if ends := wallClock(f.Ends); ends != nil && *ends >= *starts {
		event.Ends = ends
	}
	if minutes, ok := f.Reminder.(float64); ok && minutes >= 0 && minutes <= maxReminder && minutes == math.Trunc(minutes) {
		event.ReminderMinutes = new(int(minutes))
	}
	return event, true
}

func shortText(value any, most int) *string {
	text := trimmed(value)
	if text == nil {
		return nil
	}
	return optional(cutTo(*text, most))
}

// wallClock reads a time as it was spoken: an offset is dropped, because nobody said one.
func wallClock(value any) *string {
	text := trimmed(value)
	if text == nil {
		return nil
	}
	for _, form := range []string{
		time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04",
		"2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly,
	} {
		if at, err := time.Parse(form, *text); err == nil && at.Year() > 0 {
			return new(at.Format(floatingForm))
		}
	}
	return nil
}

// attendeesIn keeps the members of a list that can be read as people, within bounds, as they were said.
func attendeesIn(raw json.RawMessage) string {
	var members []json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return "[]"
	}
	kept := []json.RawMessage{}
	for _, member := range members {
		member = withBrackets(member)
		people, err := readAttendees("[" + string(member) + "]")
		if err == nil && len(people) > 0 && len(member) <= 2*maxAttendee && len(kept) < maxAttendees {
			kept = append(kept, member)
		}
	}
	stored, err := json.Marshal(kept)
	if err != nil {
		return "[]"
	}
	return string(stored)
}

// withBrackets writes an address behind a name as people do, "Name <address>". The adapter has taken those brackets off
// what the model wrote, because they make a link.
func withBrackets(member json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(member, &text) != nil {
		return member
	}
	text = strings.TrimSpace(text)
	space := strings.LastIndexByte(text, ' ')
	if space < 0 || !isAddress(text[space+1:]) {
		return member
	}
	written, err := json.Marshal(strings.TrimSpace(text[:space]) + " <" + text[space+1:] + ">")
	if err != nil {
		return member
	}
	return written
}

// storeEvents replaces the appointments of a recording, and tells of them if there are any. Events that are nil leave
// everything as it is.
func (s *Recordings) storeEvents(tx *gorm.DB, row models.Recording, events []models.RecordingEvent) error {
	if events == nil {
		return nil
	}
	if err := tx.Where("recording_id = ?", row.ID).Delete(&models.RecordingEvent{}).Error; err != nil {
		return fmt.Errorf("remove the old events: %w", err)
	}
	if len(events) == 0 {
		return nil
	}
	rows := make([]models.RecordingEvent, len(events))
	for i, event := range events {
		rows[i] = event
		rows[i].RecordingID, rows[i].CreatedAt = row.ID, row.UpdatedAt
	}
	if err := tx.Create(&rows).Error; err != nil {
		return fmt.Errorf("insert the events: %w", err)
	}
	return s.announce(tx, webhooks.EventsExtracted, row, map[string]any{"events_count": len(rows)})
}
