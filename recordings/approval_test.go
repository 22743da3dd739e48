package recordings_test

import (
	"context"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// summarized is a recording with a summary that was not approved, and an event that came with it.
func (r *rig) summarized() int64 {
	r.t.Helper()
	id := r.talk(3)
	r.texts(id, map[string]any{"summary": "They agreed.", "storage_key": "some"})
	r.write(func(tx *gorm.DB) error {
		return tx.Create(&models.RecordingEvent{RecordingID: id, Title: "Budget", Starts: "2026-03-04T15:30:00", Attendees: "[]", CreatedAt: day(1)}).Error
	})
	return id
}

func (r *rig) approve(id int64) recordings.Recording {
	r.t.Helper()
	shown, err := r.recordings.ApproveSummary(context.Background(), r.owner, id, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return shown
}

// expectKept fails unless the summary and its event are there, and approved or not.
func (r *rig) expectKept(when string, id int64, approved bool) {
	r.t.Helper()
	row, _ := r.row(id)
	events, _, err := r.recordings.Events(context.Background(), r.owner, id)
	if err != nil || given(row.Summary) != "They agreed." || len(events) != 1 || (row.SummaryApprovedAt != nil) != approved {
		r.t.Errorf("%s: %d events, %v, the row is %+v", when, len(events), err, row)
	}
}

// Rule: an approval is noted once, with who gave it and when, moves updated_at and is announced in its transaction. It
// is withdrawn as an ordinary change. Both change nothing where there is nothing to change.
func TestApprovingASummary(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, _ := newTextRig(t, url, "", nil)
		id := r.summarized()
		before, _ := r.row(id)
		shown := r.approve(id)
		if shown.SummaryApprovedBy == nil || *shown.SummaryApprovedBy != r.user.ID || !shown.SummaryApprovedAt.Equal(shown.UpdatedAt) || !shown.UpdatedAt.After(before.UpdatedAt) {
			t.Errorf("the approved recording is %+v", shown)
		}
		row, _ := r.row(id)
		if row.SummaryApprovedAt == nil || !row.SummaryApprovedAt.Equal(*shown.SummaryApprovedAt) || *row.SummaryApprovedBy != r.user.ID {
			t.Errorf("the row is %+v", row)
		}
		if again := r.approve(id); !again.UpdatedAt.Equal(shown.UpdatedAt) || r.events(id)["recording.summary.approved"] != 1 {
			t.Errorf("approved twice: %+v, events are %v", again, r.events(id))
		}
		for range 2 {
			open, err := r.recordings.WithdrawApproval(t.Context(), r.owner, id, nil)
			if err != nil || open.SummaryApprovedAt != nil || open.SummaryApprovedBy != nil || !open.UpdatedAt.After(shown.UpdatedAt) {
				t.Errorf("withdrawn: %+v, %v", open, err)
			}
		}
		if told := r.events(id); told["recording.updated"] != 1 {
			t.Errorf("events are %v", told)
		}
		r.expectKept("withdrawn", id, false)
	})
}

// Rule: there is nothing to approve without a summary, a text that was changed since is not approved unread, and
// another's recording does not exist.
func TestApprovingRefuses(t *testing.T) {
	t.Parallel()
	r, _ := newTextRig(t, sqliteURL(t), "", nil)
	id := r.summarized()
	stranger, stale := r.principal(r.account("stranger"), "full"), recordings.Match(func(time.Time) bool { return false })
	for _, change := range []func(recordings.Match) error{
		func(match recordings.Match) error {
			_, err := r.recordings.ApproveSummary(t.Context(), r.owner, id, match)
			return err
		},
		func(match recordings.Match) error {
			_, err := r.recordings.WithdrawApproval(t.Context(), r.owner, id, match)
			return err
		},
	} {
		expect(t, change(stale), problems.PreconditionFailed)
	}
	_, err := r.recordings.ApproveSummary(t.Context(), stranger, id, nil)
	expect(t, err, problems.NotFound)
	r.texts(id, map[string]any{"summary": ""})
	_, err = r.recordings.ApproveSummary(t.Context(), r.owner, id, nil)
	expect(t, err, problems.Conflict)
	if row, _ := r.row(id); row.SummaryApprovedAt != nil || r.events(id)["recording.summary.approved"] != 0 {
		t.Errorf("the row is %+v, events are %v", row, r.events(id))
	}
	r.texts(id, map[string]any{"summary": "They agreed."})
	r.approve(id)
	_, err = r.recordings.WithdrawApproval(t.Context(), stranger, id, nil)
	expect(t, err, problems.NotFound)
}

// Rule: nothing rewrites an approved summary by itself. Summarizing is a conflict; assigning speakers queues none; a new
// transcription leaves it and its events, is followed by none, and costs no call of a text model.
func TestAnApprovedSummaryIsNotRewritten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newTextRig(t, url, "", nil)
		r.engine.script(long)
		upload := r.upload(wav(2, 1)).Recording.ID
		r.start()
		r.await(upload, recordings.StatusCompleted)
		calls := len(model.Calls())
		r.texts(upload, map[string]any{"summary": "They agreed."})
		r.write(func(tx *gorm.DB) error {
			return tx.Create(&models.RecordingEvent{RecordingID: upload, Title: "Budget", Starts: "2026-03-04T15:30:00", Attendees: "[]", CreatedAt: day(1)}).Error
		})
		r.approve(upload)

		_, err := r.recordings.Summarize(t.Context(), r.owner, r.purse, upload, recordings.Instructions{})
		expect(t, err, problems.Conflict)
		said := []recordings.Assignment{{Label: "SPEAKER_00", Name: "Ada"}}
		if _, queued, err := r.recordings.AssignSpeakers(t.Context(), r.owner, upload, nil, said, true); err != nil || queued {
			t.Errorf("assigning queued a summary: %v, %v", queued, err)
		}
		r.expectKept("after speakers were assigned", upload, true)

		r.engine.script(long)
		if _, err := r.recordings.Transcribe(t.Context(), r.owner, r.purse, upload, recordings.Hints{}); err != nil {
			t.Fatal(err)
		}
		r.expectKept("while it is transcribed again", upload, true)
		r.until("it is transcribed again", func() bool { return r.events(upload)["recording.transcription.completed"] == 2 })
		r.await(upload, recordings.StatusCompleted)
		r.expectKept("after it was transcribed again", upload, true)
		if after := len(model.Calls()); after != calls {
			t.Errorf("%d calls of a text model, want none", after-calls)
		}
	})
}

// Rule: a person may edit an approved summary; it is then no longer what was approved. Other changes leave the approval.
func TestAnEditEndsTheApproval(t *testing.T) {
	t.Parallel()
	r, _ := newTextRig(t, sqliteURL(t), "", nil)
	id := r.summarized()
	r.approve(id)
	patch := func(patch recordings.Patch) recordings.Recording {
		t.Helper()
		shown, err := r.recordings.Patch(t.Context(), r.owner, id, nil, patch)
		if err != nil {
			t.Fatal(err)
		}
		return shown
	}
	patch(recordings.Patch{Title: recordings.Edit[string]{Given: true, Value: new("Budget")}})
	patch(recordings.Patch{Summary: recordings.Edit[string]{Given: true, Value: new("They agreed.")}})
	r.expectKept("another field was changed", id, true)
	shown := patch(recordings.Patch{Summary: recordings.Edit[string]{Given: true, Value: new("They did not agree.")}})
	if row, _ := r.row(id); shown.SummaryApprovedAt != nil || shown.SummaryApprovedBy != nil || row.SummaryApprovedAt != nil || row.SummaryApprovedBy != nil {
		t.Errorf("after the edit %+v, the row is %+v", shown, row)
	}
	told := r.announced(id)
	if last := told[len(told)-1]; len(last) != 2 || last[0] != "summary" || last[1] != "summary_approval" {
		t.Errorf("the edit is told as %v", last)
	}
}
