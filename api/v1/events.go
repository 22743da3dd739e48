package v1

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// event is an appointment. Its times are those of a clock on the wall.
type event struct {
	ID              int64      `json:"id"`
	RecordingID     int64      `json:"recording_id"`
	Title           string     `json:"title"`
	StartDatetime   string     `json:"start_datetime" description:"Without a zone, as it was spoken: 2026-03-04T15:30:00."`
	EndDatetime     *string    `json:"end_datetime"`
	Floating        bool       `json:"floating" description:"Always true: nobody said in which zone."`
	Description     *string    `json:"description"`
	Location        *string    `json:"location"`
	Attendees       []attendee `json:"attendees"`
	ReminderMinutes *int       `json:"reminder_minutes"`
	CreatedAt       string     `json:"created_at"`
}

// attendee has a name, an address, or both.
type attendee struct {
	Name  *string `json:"name"`
	Email *string `json:"email"`
}

func eventsOf(found []recordings.CalendarEvent) []event {
	events := make([]event, len(found))
	for i, e := range found {
		events[i] = event{
			ID: e.ID, RecordingID: e.RecordingID, Title: e.Title, StartDatetime: e.Starts, EndDatetime: e.Ends, Floating: true,
			Description: e.Description, Location: e.Location, Attendees: make([]attendee, len(e.Attendees)),
			ReminderMinutes: e.ReminderMinutes, CreatedAt: routes.Naive(e.CreatedAt),
		}
		for j, a := range e.Attendees {
			events[i].Attendees[j] = attendee{a.Name, a.Email}
		}
	}
	return events
}

type eventList struct {
	Events []event `json:"events"`
}

func listEventsOperation() routes.Operation {
	return routes.Operation{
		Summary: "List the events of a recording", Group: routes.GroupEvents, Request: ifNoneMatch{},
		Answers: routes.Answers{http.StatusOK: eventList{eventsOf([]recordings.CalendarEvent{exampleEvent()})}, http.StatusNotModified: routes.Nothing{}},
	}
}

func (a *API) listEvents(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	events, updatedAt, err := a.recordings.Events(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	return answerTagged(c, tagEvents, id, updatedAt, eventList{eventsOf(events)})
}

func sendCalendarOperation() routes.Operation {
	return routes.Operation{
		Summary: "Download the events of a recording as an iCalendar file", Group: routes.GroupEvents,
		Notes:   "404 also when the recording has no events.",
		Answers: routes.Answers{http.StatusOK: routes.File{Types: []string{"text/calendar"}}},
	}
}

func (a *API) sendCalendar(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	events, _, err := a.recordings.Events(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return problems.New(problems.NotFound, "The recording has no events.")
	}
	c.Response().Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=events-%d.ics", id))
	return c.Blob(http.StatusOK, "text/calendar; charset=utf-8", recordings.Calendar(events))
}
