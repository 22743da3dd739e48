package recordings_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/speech"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// long is an answer of a speech engine that is worth a summary.
func long(context.Context, int, speech.Audio, speech.Request) (speech.Answer, error) {
	return says("We agreed on the budget today."), nil
}

// A recording goes on to its summary by itself: with a title where nobody gave one, and with appointments where the
// account wants them. Each call is in the ledger, and nothing stays held.
func TestSummaryFollowsTheTranscript(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newTextRig(t, url, "", nil)
		r.engine.script(long)
		r.prefer(map[string]any{"extract_events": true, "output_language": "Dutch"})
		model.Always(answers("They agreed.", "Title: \"The budget\"\n", `{"events":[{"title":"Budget","start_datetime":"2026-03-04T15:30:00+01:00","attendees":["Ada",7]},{"title":"no time"}]}`))
		resume := model.Pause()
		r.start()
		id := r.upload(wav(2, 1)).Recording.ID
		r.await(id, recordings.StatusSummarizing)
		if transcript, err := r.recordings.Transcript(context.Background(), r.owner, id); err != nil || len(transcript.Segments) != 1 {
			t.Errorf("while it is summarized the transcript is %+v, %v", transcript, err)
		}
		resume()
		row := r.await(id, recordings.StatusCompleted)
		if given(row.Summary) != "They agreed." || given(row.Title) != "The budget" || row.TitleByUser || row.CompletedAt == nil || row.JobID != 0 || row.WorkToken != "" || !row.AICharged || row.SummarizationDurationSeconds == nil {
			t.Errorf("the row is %+v", row)
		}
		events, _, err := r.recordings.Events(context.Background(), r.owner, id)
		if err != nil || len(events) != 1 || events[0].Starts != "2026-03-04T15:30:00" || len(events[0].Attendees) != 1 {
			t.Errorf("the events are %+v, %v", events, err)
		}
		told := r.events(id)
		for _, name := range []string{"recording.transcription.completed", "recording.summary.completed", "recording.events.extracted"} {
			if told[name] != 1 {
				t.Errorf("%s was told %d times", name, told[name])
			}
		}
		var operations []string
		for _, entry := range r.ledger(id) {
			operations = append(operations, entry.Operation)
		}
		if strings.Join(operations, " ") != "transcription summarization title_generation event_extraction" || r.month().Held != (models.Amount{}) {
			t.Errorf("the ledger tells %v", operations)
		}
		for _, call := range model.Calls() {
			if !strings.Contains(prompt(call), "We agreed on the budget today.") || !strings.Contains(prompt(call), "Dutch") {
				t.Errorf("a model was told %s", prompt(call))
			}
		}
	})
}

// Without a wish for it, or without enough words, a recording is complete with its transcript, and no model is asked.
func TestNoSummaryByItself(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", nil)
	r.start()
	r.await(r.upload(wav(1, 1)).Recording.ID, recordings.StatusCompleted) // "hello"
	r.engine.script(long)
	r.prefer(map[string]any{"auto_summarization": false})
	row := r.await(r.upload(wav(1, 2)).Recording.ID, recordings.StatusCompleted)
	if calls := len(model.Calls()); calls != 0 || row.Summary != nil || row.CompletedAt == nil {
		t.Errorf("after %d calls the row is %+v", calls, row)
	}
}

// A summary that is asked for drops the old one at once, is refused while the recording is at work, and charges no
// second unit. A title that a person gave stays.
func TestSummarizeAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newTextRig(t, url, "", nil)
		ctx := context.Background()
		id := r.talk(3)
		r.texts(id, map[string]any{"summary": "old", "title": "Recording - mine", "title_by_user": true})
		r.write(func(tx *gorm.DB) error {
			return tx.Create(&models.RecordingEvent{RecordingID: id, Title: "old", Starts: "2026-03-04T15:30:00", Attendees: "[]", CreatedAt: day(1)}).Error
		})
		job, err := r.recordings.Summarize(ctx, r.owner, r.purse, id, recordings.Instructions{})
		row, _ := r.row(id)
		if err != nil || job == 0 || row.JobID != job || row.Status != recordings.StatusSummarizing || row.Summary != nil || !row.AICharged {
			t.Fatalf("queued %d, %v: %+v", job, err, row)
		}
		if events, _, err := r.recordings.Events(ctx, r.owner, id); err != nil || len(events) != 0 {
			t.Errorf("the old events are there: %v, %v", events, err)
		}
		_, err = r.recordings.Summarize(ctx, r.owner, r.purse, id, recordings.Instructions{})
		expect(t, err, problems.InvalidState)
		r.texts(id, map[string]any{"storage_key": "some"})
		_, err = r.recordings.Transcribe(ctx, r.owner, r.purse, id, recordings.Hints{})
		expect(t, err, problems.InvalidState)
		_, err = r.recordings.DeleteAudio(ctx, r.owner, id)
		expect(t, err, problems.Conflict)
		r.start()
		row = r.await(id, recordings.StatusCompleted)
		if given(row.Summary) != "Fine." || given(row.Title) != "Recording - mine" || len(model.Calls()) != 1 {
			t.Errorf("after %d calls the row is %+v", len(model.Calls()), row)
		}
		if told := r.events(id); told["recording.summary.completed"] != 1 || told["recording.events.extracted"] != 0 {
			t.Errorf("events are %v", told)
		}
	})
}

// What cannot be summarized is refused, and nothing changes; another account's does not exist.
func TestSummarizeRefuses(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", nil)
	ctx := context.Background()
	tell := func(id int64, told recordings.Instructions) error {
		_, err := r.recordings.Summarize(ctx, r.owner, r.purse, id, told)
		return err
	}
	expect(t, tell(r.written("too short"), recordings.Instructions{}), problems.InvalidState)
	expect(t, tell(r.spoken(), recordings.Instructions{}), problems.InvalidState)
	id := r.talk(2)
	r.texts(id, map[string]any{"summary": "kept"})
	expect(t, tell(id, recordings.Instructions{Prompt: ptr(strings.Repeat("x", 10_001))}), problems.InvalidParameter)
	expect(t, tell(id, recordings.Instructions{Variables: map[string]string{"1x": ""}}), problems.InvalidParameter)
	expect(t, tell(id, recordings.Instructions{Variables: map[string]string{"x": strings.Repeat("x", 2001)}}), problems.InvalidParameter)
	many := map[string]string{}
	for _, a := range "abcdefgh" {
		for _, b := range "abcdefgh" {
			many[string([]rune{a, b})] = strings.Repeat("x", 1000)
		}
	}
	expect(t, tell(id, recordings.Instructions{Variables: many}), problems.InvalidParameter)
	for name := range many {
		if len(many) > 30 {
			delete(many, name)
		}
	}
	if problem := expect(t, tell(id, recordings.Instructions{Variables: many}), problems.PayloadTooLarge); problem.Fields["max_input_chars"] != 20_000 {
		t.Errorf("the bound is not told: %v", problem.Fields)
	}
	stranger := r.principal(r.account("stranger"), "full")
	_, err := r.recordings.Summarize(ctx, stranger, r.purse, id, recordings.Instructions{})
	expect(t, err, problems.NotFound)
	if row, _ := r.row(id); given(row.Summary) != "kept" || row.Status != recordings.StatusCompleted || len(model.Calls()) != 0 {
		t.Errorf("a refusal left %+v and %d calls", row, len(model.Calls()))
	}
}

// H-007: without money a summary that is asked for is refused and nothing is queued; one that a job would start is not
// made, and the recording says so, keeps its transcript, and can be summarized when there is money again.
func TestSummariesWithoutMoney(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newTextRig(t, url, "", func(s *settings) { s.jobs.RetryBase = time.Hour }) // a second attempt would come too late
		r.grant(100)                                                                           // less than the cap alone can cost
		r.engine.script(long)
		ctx := context.Background()
		id := r.talk(3)
		r.texts(id, map[string]any{"summary": "kept"})
		_, err := r.recordings.Summarize(ctx, r.owner, r.purse, id, recordings.Instructions{})
		expect(t, err, problems.BudgetExceeded)
		if row, _ := r.row(id); given(row.Summary) != "kept" || row.Status != recordings.StatusCompleted || row.JobID != 0 {
			t.Errorf("the refusal left %+v", row)
		}
		r.start()
		uploaded := r.upload(wav(1, 1)).Recording.ID
		row := r.await(uploaded, recordings.StatusFailed)
		if given(row.ErrorCode) != "budget_exceeded" || given(row.ErrorMessage) == "" || row.JobID != 0 {
			t.Errorf("without money it is %+v", row)
		}
		if _, err := r.recordings.Transcript(ctx, r.owner, uploaded); err != nil {
			t.Errorf("the transcript is gone: %v", err)
		}
		told := r.events(uploaded)
		if told["recording.summary.failed"] != 1 || told["recording.transcription.failed"] != 0 || told["recording.transcription.completed"] != 1 || len(model.Calls()) != 0 {
			t.Errorf("events are %v, after %d calls", told, len(model.Calls()))
		}
		if month := r.month(); month.Held != (models.Amount{}) {
			t.Errorf("something stays held: %+v", month)
		}
		r.grant(1_000_000)
		if _, err := r.recordings.Summarize(ctx, r.owner, r.purse, uploaded, recordings.Instructions{}); err != nil {
			t.Fatal(err)
		}
		if row := r.await(uploaded, recordings.StatusCompleted); given(row.Summary) != "Fine." || row.ErrorCode != nil {
			t.Errorf("with money it is %+v", row)
		}
	})
}

// A title or appointments that fail are left out; a summary that fails, fails the recording (H-020), with a reason in our
// words, and no summary is told of. A refusal that repeats is not tried again.
func TestSummaryFailures(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newTextRig(t, url, "", nil)
		r.prefer(map[string]any{"extract_events": true})
		r.start()
		ctx := context.Background()
		summarize := func(id int64) {
			t.Helper()
			if _, err := r.recordings.Summarize(ctx, r.owner, r.purse, id, recordings.Instructions{}); err != nil {
				t.Fatal(err)
			}
		}
		model.Always(func(call llmtest.Call) llmtest.Reply {
			if call.Cap() == summaryCap {
				return llmtest.Says("Good.")
			}
			return llmtest.Fails(500)
		})
		id := r.talk(3)
		r.texts(id, map[string]any{"title": "Recording - x.wav"})
		summarize(id)
		if row := r.await(id, recordings.StatusCompleted); given(row.Summary) != "Good." || given(row.Title) != "Recording - x.wav" {
			t.Errorf("without the rest it is %+v", row)
		}
		for _, failing := range []struct {
			reply llmtest.Reply
			code  string
			calls int
		}{{llmtest.Fails(500), "service_error", 3}, {llmtest.Fails(401), "auth", 1}, {llmtest.Sends("<html>"), "unknown", 1}} {
			before := len(model.Calls())
			model.Always(func(llmtest.Call) llmtest.Reply { return failing.reply })
			id := r.talk(3)
			summarize(id)
			row := r.await(id, recordings.StatusFailed)
			if calls := len(model.Calls()) - before; given(row.ErrorCode) != failing.code || calls != failing.calls || strings.Contains(given(row.ErrorMessage), "SECRET") {
				t.Errorf("after %d calls it is %s: %s", calls, given(row.ErrorCode), given(row.ErrorMessage))
			}
			if told := r.events(id); told["recording.summary.failed"] != 1 || told["recording.summary.completed"] != 0 {
				t.Errorf("events are %v", told)
			}
		}
	})
}

// Work at a summary stops with its recording: the call at the model is canceled and paid, and the slot is free.
func TestDeleteWhileSummarizing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newTextRig(t, url, "", func(s *settings) { s.slots, s.recordings.SlotLife = 1, time.Hour })
		model.Script(llmtest.Reply{Hold: true})
		r.start()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		id := r.talk(3)
		if _, err := r.recordings.Summarize(ctx, r.owner, r.purse, id, recordings.Instructions{}); err != nil {
			t.Fatal(err)
		}
		if err := model.Await(ctx, func(s *llmtest.Server) bool { return s.InFlight() == 1 }); err != nil {
			t.Fatal(err)
		}
		if err := r.recordings.Delete(ctx, r.owner, id); err != nil {
			t.Fatal(err)
		}
		if err := model.Await(ctx, func(s *llmtest.Server) bool { return s.Aborted() == 1 }); err != nil {
			t.Fatal("the call goes on")
		}
		r.until("the hold is settled", func() bool { return r.month().Held == models.Amount{} && len(r.ledger(id)) == 1 })
		if entry := r.ledger(id)[0]; entry.Outcome != string(budgets.Canceled) || entry.ChargedMicros == 0 {
			t.Errorf("the ledger tells %+v", entry)
		}
		next := r.talk(3)
		if _, err := r.recordings.Summarize(ctx, r.owner, r.purse, next, recordings.Instructions{}); err != nil {
			t.Fatal(err)
		}
		r.await(next, recordings.StatusCompleted)
	})
}

// A process that stops gives its summary back; the next one makes it, and it is told once.
func TestSummaryGoesOnInAnotherProcess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		first, model := newTextRig(t, url, "", nil)
		model.Script(llmtest.Reply{Hold: true})
		first.start()
		id := first.talk(3)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := first.recordings.Summarize(ctx, first.owner, first.purse, id, recordings.Instructions{Prompt: ptr("In verse, please.")}); err != nil {
			t.Fatal(err)
		}
		if err := model.Await(ctx, func(s *llmtest.Server) bool { return s.InFlight() == 1 }); err != nil {
			t.Fatal(err)
		}
		first.stop()
		if row, _ := first.row(id); row.Status != recordings.StatusSummarizing {
			t.Errorf("after the stop it is %s", row.Status)
		}
		second := textRigBefore(t, model, url, first.folder, nil)
		second.start()
		second.await(id, recordings.StatusCompleted)
		if told := second.events(id); told["recording.summary.completed"] != 1 || told["recording.summary.failed"] != 0 {
			t.Errorf("events are %v", told)
		}
		if calls := model.Calls(); len(calls) != 3 || calls[1].Cap() != summaryCap || !strings.Contains(prompt(calls[1]), "In verse, please.") {
			t.Errorf("%d calls, the second of %s", len(calls), prompt(calls[1]))
		}
	})
}
