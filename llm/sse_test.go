package llm

import (
	"slices"
	"strings"
	"testing"
)

// Events are taken apart as browsers do it: comments and other fields are passed over, several lines of data are one
// event, a line may be longer than what is read at a time, and an event that nothing closes was cut off.
func TestEventsAreTakenApart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*lineBytes)
	events := newEvents(strings.NewReader(": comment\n\ndata: one\n\r\nevent: delta\nid: 1\ndata:two\ndata: three\n\n\n\ndata: " + long + "\r\n\r\ndata: cut off\n"))
	var read []string
	for events.next() {
		read = append(read, string(events.data))
	}
	if want := []string{"one\n", "two\nthree\n", long + "\n"}; !slices.Equal(read, want) || events.err() != nil {
		t.Errorf("read %q, %v", read, events.err())
	}
	endless := newEvents(strings.NewReader("data: " + strings.Repeat("x", maxAnswer+1)))
	if endless.next() || endless.err() == nil {
		t.Error("a line without an end is no error")
	}
}
