package recordings_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// appointment writes an event as a worker would.
func (r *rig) appointment(event models.RecordingEvent) int64 {
	r.t.Helper()
	if event.Attendees == "" {
		event.Attendees = "[]"
	}
	r.write(func(tx *gorm.DB) error { return tx.Create(&event).Error })
	return event.ID
}

// Attendees are names, addresses or both; numbers, blanks and other objects are dropped. The detail lists what the
// events do, in the order in which they were found. Another account's are not there, and without read there are none.
func TestEventsAreListed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		id := r.upload(wav(1, 1)).Recording.ID
		later, sooner := "2026-03-09T08:00:00", "2026-03-04T15:30:00"
		first := r.appointment(models.RecordingEvent{
			RecordingID: id, Title: "Review", Starts: later, Ends: &later, CreatedAt: time.Now().UTC(),
			Attendees: `["Ann", " bob@example.org ", "Cy <cy@example.org>", "\"Dee\" <dee@example.org>", "<el@example.org>", "Fay <nowhere>",
				{"name":" Gus ","email":"gus@example.org"}, {"email":"hal@example.org"}, {"name":7}, {}, {"x":1}, 12, null, "", "  ", [1]]`,
		})
		r.appointment(models.RecordingEvent{RecordingID: id, Title: "Sooner", Starts: sooner, CreatedAt: time.Now().UTC()})
		events, at, err := r.recordings.Events(ctx, r.owner, id)
		row, _ := r.row(id)
		if err != nil || len(events) != 2 || events[0].ID != first || events[1].Title != "Sooner" || !at.Equal(row.UpdatedAt) {
			t.Fatalf("the events are %+v at %v, %v", events, at, err)
		}
		var got string
		for _, a := range events[0].Attendees {
			name, _ := json.Marshal(a.Name)
			email, _ := json.Marshal(a.Email)
			got += fmt.Sprintf("%s %s;", name, email)
		}
		want := `"Ann" null;null "bob@example.org";"Cy" "cy@example.org";"Dee" "dee@example.org";null "el@example.org";"Fay \u003cnowhere\u003e" null;` +
			`"Gus" "gus@example.org";null "hal@example.org";`
		if got != want {
			t.Errorf("the attendees are\n%s, want\n%s", got, want)
		}
		if detail, err := r.recordings.Find(ctx, r.owner, id, false); err != nil || len(detail.Events) != 2 || detail.Events[0].Title != "Review" {
			t.Errorf("the detail has %+v, %v", detail.Events, err)
		}
		if hidden, _, err := r.recordings.Events(ctx, r.principal(r.user, "write"), id); err != nil || len(hidden) != 0 {
			t.Errorf("a token that may not read got %+v, %v", hidden, err)
		}
		_, _, err = r.recordings.Events(ctx, r.principal(r.account("stranger"), "full"), id)
		expect(t, err, problems.NotFound)
	})
}
