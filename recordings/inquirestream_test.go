package recordings_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/llm/agent"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/streams"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// narrated are the names of a stream's events in their order, one for several of a kind, and the joined text.
type narrated struct{ names, text string }

// inquireStreamed asks a question about many recordings and gives what the stream tells.
func (r *rig) inquireStreamed(p auth.Principal, q recordings.Inquiry) (heard narrated, events []json.RawMessage, err error) {
	r.t.Helper()
	named := func(name string) func(string) any {
		return func(text string) any { return map[string]any{name: text} }
	}
	events, err = r.opened(func(ctx context.Context, opener streams.Opener) error {
		return r.recordings.InquireStream(ctx, p, r.purse, opener, q, recordings.InquireFrames{
			Delta: named("delta"), Thinking: named("thinking"), Memory: named("memory"),
			Status: func(status, _ string) any { return map[string]any{status: true} },
			Usage:  func(percent int) any { return map[string]any{"usage": percent} },
			Step:   func(step agent.Step) any { return map[string]any{"step": step} },
			Folded: func(string, int) any { return map[string]any{"folded": true} },
			Steps:  func(steps int, _ string) any { return map[string]any{"steps": steps} },
		})
	})
	last := ""
	for _, raw := range events {
		var event map[string]any
		if err := json.Unmarshal(raw, &event); err != nil {
			r.t.Fatal(err)
		}
		for name, value := range event {
			if name == "code" {
				continue
			}
			if text, is := value.(string); is && name == "delta" {
				heard.text += text
			}
			if name != last {
				heard.names += name + " "
			}
			last = name
		}
	}
	return heard, events, err
}

// A streamed answer has its links, as far as the model was shown what they name; its events are those of the contract,
// also where there is nothing to search.
func TestInquireStream(t *testing.T) {
	t.Parallel()
	r, model := newInquiryRig(t, sqliteURL(t))
	heard, _, err := r.inquireStreamed(r.owner, recordings.Inquiry{Question: "Bees?"})
	if err != nil || heard.names != "delta end_of_stream " || !strings.HasPrefix(heard.text, "There is nothing to search") {
		t.Errorf("with nothing to search: %+v, %v", heard, err)
	}
	id := r.said(r.user, "Bees", day(3), "Ada: Bees need a garden.")
	blind := r.principal(r.user, "process")
	if heard, _, err := r.inquireStreamed(blind, recordings.Inquiry{Question: "Bees?"}); err != nil || heard.names != "end_of_stream " {
		t.Errorf("who may not read is told %+v, %v", heard, err)
	}
	if len(model.Calls()) != 0 {
		t.Fatalf("%d calls", len(model.Calls()))
	}
	link := fmt.Sprintf("[Bees](/recordings/%d?t=1)", id)
	model.Script(llmtest.Chunks("A gar", "den ["+link[1:9], link[9:], " and [x](/recor", "dings/999999", "?t=3)."))
	heard, _, err = r.inquireStreamed(r.owner, recordings.Inquiry{Question: "Bees?", History: []recordings.Turn{{Role: "user", Content: "See [x](/recordings/999999?t=3)."}}})
	if err != nil || heard.names != "searching responding delta end_of_stream " || heard.text != "A garden "+link+" and x." {
		t.Errorf("the stream told %+v, %v", heard, err)
	}
	model.Script(llmtest.Fails(500))
	_, _, err = r.inquireStreamed(r.owner, recordings.Inquiry{Question: "Bees?"})
	expect(t, err, problems.InquireFailed)
	broken := llmtest.Chunks("bees ", "and ")
	broken.Breaks = true
	model.Script(broken)
	heard, events, err := r.inquireStreamed(r.owner, recordings.Inquiry{Question: "Bees?"})
	if err != nil || heard.names != "searching responding delta error " || !strings.Contains(string(events[len(events)-1]), `"inquire_failed"`) {
		t.Errorf("a stream that breaks told %+v, %v", heard, err)
	}
	_, _, err = r.inquireStreamed(r.owner, recordings.Inquiry{Question: " "})
	expect(t, err, problems.InvalidParameter)
	if month := r.month(); month.Held != (models.Amount{}) {
		t.Errorf("held is %+v", month.Held)
	}
}
