package recordings_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/llm/agent"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// newLookupRig lets the model look things up, summaries among them.
func newLookupRig(t testing.TB, url string, change func(*recordings.InquiryOptions)) (*rig, *llmtest.Server) {
	t.Helper()
	return newTextRig(t, url, "", func(s *settings) {
		s.recordings.Inquiry = recordings.InquiryOptions{Enabled: true, Summaries: true, Agent: agent.New(s.recordings.Text, agent.Options{
			MaxSteps: 4, MaxToolCalls: 6, Timeout: time.Minute, ResultTokens: 2000, ContextTokens: 8000, AnswerTokens: chatCap, Mode: agent.Auto, Now: time.Now,
		})}
		if change != nil {
			change(&s.recordings.Inquiry)
		}
	})
}

// lookedUp lets the model make one look-up, and gives what it was told of it.
func (r *rig) lookedUp(model *llmtest.Server, filters recordings.Filters, tool, arguments string) string {
	r.t.Helper()
	before := len(model.Calls())
	model.Script(llmtest.Asks(tool, arguments), llmtest.Says("Done."))
	found, err := r.inquire(recordings.Inquiry{Question: "What of the budget?", Mode: "agent", Filters: filters})
	calls := model.Calls()[before:]
	if err != nil || given(found.Answer) != "Done." || found.Mode != recordings.ByAgent || len(calls) != 2 {
		r.t.Fatalf("%s %s: %q in mode %q after %d calls, %v", tool, arguments, given(found.Answer), found.Mode, len(calls), err)
	}
	return calls[1].Messages[len(calls[1].Messages)-1].Content
}

// The model looks up what the caller may see and the filters leave, and nothing else: what another account has, or a
// filter keeps out, does not exist.
func TestInquireLooksUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newLookupRig(t, url, nil)
		budget := r.said(r.user, "Budget", day(3), "Ada: The budget is ONE.", "Grace: The garden is TWO.")
		bees := r.said(r.user, "Bees", day(9), "Ada: The budget of bees is THREE.")
		theirs := r.said(r.account("stranger"), "THEIRS", day(9), "Ada: The budget is STOLEN.")
		plain := r.written(strings.Repeat("A line of a hundred letters or so, which nobody can tell from others of its kind, goes on and on.\n", 4))
		for _, id := range []int64{budget, theirs} {
			r.texts(id, map[string]any{"summary": "SUMMED " + fmt.Sprint(id), "notes": "NOTED", "participants": "Ada Lovelace, Grace", "audio_duration": 125.0})
		}
		tag := models.Tag{UserID: r.user.ID, Name: "work", Color: "#000000", CreatedAt: day(1)}
		r.write(func(tx *gorm.DB) error {
			if err := tx.Create(&tag).Error; err != nil {
				return err
			}
			return tx.Create(&models.RecordingTag{RecordingID: budget, TagID: tag.ID}).Error
		})
		link := fmt.Sprintf("[Budget](/recordings/%d", budget)
		one, ada, early := recordings.Filters{RecordingIDs: []int64{budget, theirs}}, recordings.Filters{Speakers: []string{"ada"}}, recordings.Filters{Until: "2026-02-05"}
		none := recordings.Filters{}
		for _, c := range []struct {
			filters         recordings.Filters
			tool, arguments string
			has, not        string // words between "|"
		}{
			{none, "search_transcripts", `{"query":"budgets"}`, link + "?t=1), 2026-02-03|ONE|THREE", "STOLEN"},
			{none, "search_transcripts", `{"query":"budget","top_k":"1"}`, "](/recordings/", "STOLEN|\n\n["},
			{none, "search_transcripts", `{"query":"budget","speakers":["GRACE"]}`, "TWO", "ONE|THREE"},
			{none, "search_transcripts", `{"query":"budget","date_from":"2026-02-04"}`, "THREE", "ONE"},
			{none, "search_transcripts", `{"query":"zeppelin"}`, "Nothing was found", "ONE"},
			{one, "search_transcripts", `{"query":"budget"}`, "ONE", "THREE|STOLEN"},
			{ada, "search_transcripts", `{"query":"budget garden"}`, "ONE|THREE", "TWO"},
			{ada, "search_transcripts", `{"query":"garden","speakers":["Grace"]}`, "Nothing was found", "TWO"},
			{early, "search_transcripts", `{"query":"budget","date_from":"2020-01-01","date_to":"2030-01-01"}`, "ONE", "THREE"},
			{recordings.Filters{From: "2026-02-05"}, "search_transcripts", `{"query":"budget","date_from":"2020-01-01"}`, "THREE", "ONE"},
			{none, "search_transcripts", `{"query":" "}`, "query must be", "ONE"},
			{none, "search_transcripts", `{"query":"x","top_k":41}`, "top_k must be a whole number from 1 to 40", "ONE"},
			{none, "search_transcripts", `{"query":"x","mode":"semantic"}`, "no search by meaning", "ONE"},
			{none, "search_transcripts", `{"query":"x","date_from":"soon"}`, "date_from must be", "ONE"},
			{none, "search_transcripts", `{"query":7}`, "not what search_transcripts takes", "ONE"},
			{none, "search_transcripts", `{"query":"x","speakers":["1","2","3","4","5","6","7","8","9","10","11"]}`, "at most 10", "ONE"},

			{none, "list_recordings", `{}`, link + "), 2026-02-03, 3 min, with Ada Lovelace, Grace|Bees", "THEIRS"},
			{none, "list_recordings", `{"sort":"oldest","limit":1}`, fmt.Sprintf("/recordings/%d", plain), "Bees|Budget"},
			{none, "list_recordings", `{"participant":"lovelace"}`, "Budget", "Bees|THEIRS"},
			{none, "list_recordings", `{"participant":"grace","date_to":"2026-02-05"}`, "Budget", "Bees"},
			{none, "list_recordings", `{"participant":"nobody"}`, "Nothing was found", "Budget"},
			{one, "list_recordings", `{}`, "Budget", "Bees|THEIRS"},
			{ada, "list_recordings", `{}`, "Budget|Bees", fmt.Sprintf("/recordings/%d)", plain)},
			{none, "list_recordings", `{"limit":0}`, "limit must be", "Budget"},
			{none, "list_recordings", `{"sort":"best"}`, "sort must be", "Budget"},

			{none, "get_transcript", fmt.Sprintf(`{"recording_id":%d}`, budget), fmt.Sprintf("lines 0 to 1 of 2\n[0:01](/recordings/%d?t=1) Ada: The budget is ONE.\n[1:01](/recordings/%d?t=61) Grace", budget, budget), "STOLEN"},
			{none, "get_transcript", fmt.Sprintf(`{"recording_id":"%d","offset":1,"limit":1}`, budget), "lines 1 to 1 of 2|TWO", "ONE"},
			{none, "get_transcript", fmt.Sprintf(`{"recording_id":%d,"offset":9}`, budget), "has 2 lines", "ONE"},
			{none, "get_transcript", fmt.Sprintf(`{"recording_id":%d}`, plain), "lines 0 to 1 of 2|A line of", "STOLEN"},
			{ada, "get_transcript", fmt.Sprintf(`{"recording_id":%d}`, budget), "ONE", "TWO"},
			{none, "get_transcript", fmt.Sprintf(`{"recording_id":%d}`, theirs), "There is no such recording", "STOLEN|THEIRS"},
			{one, "get_transcript", fmt.Sprintf(`{"recording_id":%d}`, bees), "There is no such recording", "THREE"},
			{none, "get_transcript", fmt.Sprintf(`{"recording_id":%d,"limit":401}`, budget), "limit must be a whole number from 1 to 400", "ONE"},

			{none, "get_recording_metadata", fmt.Sprintf(`{"recording_id":%d}`, budget), link + "), 2026-02-03\nLength: 3 min\nParticipants: Ada Lovelace, Grace\nSpeakers: Ada, Grace\nTags: work", "NOTED"},
			{early, "get_recording_metadata", fmt.Sprintf(`{"recording_id":%d}`, bees), "There is no such recording", "Bees"},
			{none, "get_summary", fmt.Sprintf(`{"recording_id":%d}`, budget), fmt.Sprintf("SUMMED %d", budget), "NOTED"},
			{none, "get_summary", fmt.Sprintf(`{"recording_id":%d}`, bees), "It has none", "NOTED"},
			{none, "get_summary", fmt.Sprintf(`{"recording_id":%d}`, theirs), "There is no such recording", "SUMMED"},
			{none, "get_summary", `{}`, "There is no such recording", "SUMMED"},
			{none, "get_notes", fmt.Sprintf(`{"recording_id":%d}`, budget), "no such tool", "NOTED"},
		} {
			told := r.lookedUp(model, c.filters, c.tool, c.arguments)
			for word := range strings.SplitSeq(c.has, "|") {
				if !strings.Contains(told, word) {
					t.Errorf("%s %s with %+v: %q is not in\n%s", c.tool, c.arguments, c.filters, word, told)
				}
			}
			for word := range strings.SplitSeq(c.not, "|") {
				if strings.Contains(told, word) {
					t.Errorf("%s %s with %+v: %q is in\n%s", c.tool, c.arguments, c.filters, word, told)
				}
			}
		}
		for _, call := range model.Calls() {
			if strings.Contains(string(call.Body), "STOLEN") || strings.Contains(string(call.Body), "THEIRS") || strings.Contains(string(call.Body), "NOTED") || call.Cap() != chatCap {
				t.Fatalf("the model was sent, with a cap of %d, %s", call.Cap(), call.Body)
			}
		}
	})
}

// Notes are looked up where the operator allows it, the caller's own alone.
func TestInquireLooksUpNotes(t *testing.T) {
	t.Parallel()
	r, model := newLookupRig(t, sqliteURL(t), func(o *recordings.InquiryOptions) { o.Notes, o.Summaries = true, false })
	mine, theirs := r.said(r.user, "Mine", day(3), "Ada: Hello."), r.said(r.account("stranger"), "Theirs", day(3), "Ada: Hello.")
	r.texts(mine, map[string]any{"notes": "NOTED"})
	r.texts(theirs, map[string]any{"notes": "STOLEN"})
	if told := r.lookedUp(model, recordings.Filters{}, "get_notes", fmt.Sprintf(`{"recording_id":%d}`, mine)); !strings.Contains(told, "NOTED") {
		t.Errorf("the model was told %s", told)
	}
	if told := r.lookedUp(model, recordings.Filters{}, "get_notes", fmt.Sprintf(`{"recording_id":%d}`, theirs)); !strings.Contains(told, "no such recording") {
		t.Errorf("the model was told %s", told)
	}
	if told := r.lookedUp(model, recordings.Filters{}, "get_summary", fmt.Sprintf(`{"recording_id":%d}`, mine)); !strings.Contains(told, "no such tool") {
		t.Errorf("the model was told %s", told)
	}
}

// An answer that was looked up cites what was found; a stream tells each look-up twice, and how many there were.
func TestInquireTellsItsLookUps(t *testing.T) {
	t.Parallel()
	r, model := newLookupRig(t, sqliteURL(t), nil)
	id := r.said(r.user, "Bees", day(3), "Ada: Bees need a garden.")
	answer := fmt.Sprintf("A garden [0:01](/recordings/%d?t=1), [x](/recordings/%d?t=1).", id, id+1)
	script := func() {
		asks := llmtest.Asks("get_transcript", fmt.Sprintf(`{"recording_id":%d}`, id)).And("list_recordings", "{}")
		asks.Text = "I look it up."
		model.Script(asks, llmtest.Says(answer))
	}
	script()
	found, err := r.inquire(recordings.Inquiry{Question: "What do bees need?"})
	if err != nil || given(found.Answer) != "A garden [1], x." || found.Mode != recordings.ByAgent || found.Steps != 2 || len(found.Citations) != 1 || *found.Citations[0].Start != 1 {
		t.Errorf("found %+v %q, %v", found, given(found.Answer), err)
	}
	script()
	heard, events, err := r.inquireStreamed(r.owner, recordings.Inquiry{Question: "What do bees need?"})
	if err != nil || heard.names != "usage thinking step delta steps end_of_stream " || heard.text != strings.Replace(answer, fmt.Sprintf("[x](/recordings/%d?t=1)", id+1), "x", 1) {
		t.Errorf("the stream told %+v, %v", heard, err)
	}
	var steps []string
	for _, event := range events {
		if strings.Contains(string(event), `"step":{`) {
			steps = append(steps, string(event))
		}
	}
	if len(steps) != 4 || !strings.Contains(steps[0], "running") || !strings.Contains(steps[1], "done") || !strings.Contains(steps[1], "1 line") || !strings.Contains(steps[3], "1 recording") {
		t.Errorf("the look-ups are told as %v", steps)
	}
	if month := r.month(); month.Held != (models.Amount{}) || month.Spent == (models.Amount{}) {
		t.Errorf("%+v", month)
	}
}

// Where looking up fails before anything was said, passages are found after all, and the answer says so; a refusal for
// money is one, and where no calls are allowed there are none.
func TestInquireFallsBack(t *testing.T) {
	t.Parallel()
	r, model := newLookupRig(t, sqliteURL(t), nil)
	id := r.said(r.user, "Bees", day(3), "Ada: Bees need a garden.")
	model.Script(llmtest.Fails(500), llmtest.Says(fmt.Sprintf("A garden [Bees](/recordings/%d?t=1).", id)))
	found, err := r.inquire(recordings.Inquiry{Question: "What do bees need?"})
	if err != nil || given(found.Answer) != "A garden [1]." || found.Mode != recordings.ByRetrieval || found.Steps != 0 {
		t.Errorf("found %+v %q, %v", found, given(found.Answer), err)
	}
	model.Script(llmtest.Asks("list_recordings", "{}"), llmtest.Fails(500), llmtest.Says("A garden."))
	heard, _, err := r.inquireStreamed(r.owner, recordings.Inquiry{Question: "What do bees need?"})
	if err != nil || heard.names != "usage step searching responding delta end_of_stream " || heard.text != "A garden." {
		t.Errorf("the stream told %+v, %v", heard, err)
	}
	calls := len(model.Calls())
	r.grant(100)
	_, err = r.inquire(recordings.Inquiry{Question: "What do bees need?"})
	expect(t, err, problems.BudgetExceeded)
	_, _, err = r.inquireStreamed(r.owner, recordings.Inquiry{Question: "What do bees need?"})
	expect(t, err, problems.BudgetExceeded)
	if len(model.Calls()) != calls {
		t.Errorf("%d calls without money", len(model.Calls())-calls)
	}
}

// A caller that waits is told that the model was too slow: each call has its time, and when that of the request is over
// nothing else is tried whose failure would be told in its place.
func TestASlowLookUpIsTheModels(t *testing.T) {
	t.Parallel()
	r, model := newLookupRig(t, sqliteURL(t), func(options *recordings.InquiryOptions) { options.Agent.Timeout = 50 * time.Millisecond })
	r.said(r.user, "Bees", day(3), "Ada: Bees need a garden.")
	model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Chunks("Bees", " need").Each(time.Minute) })
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_, err := r.recordings.Inquire(ctx, r.owner, r.purse, recordings.Inquiry{Question: "What do bees need?"})
	if expect(t, err, problems.ProviderTimeout); len(model.Calls()) != 2 {
		t.Errorf("%d calls, %v", len(model.Calls()), err)
	}
}
