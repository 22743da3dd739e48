package recordings_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/speech"
)

// becomes is an edit that sets a value.
func becomes[T any](value T) recordings.Edit[T] {
	return recordings.Edit[T]{Given: true, Value: &value}
}

// announced are the fields of every recording.updated of a recording, in the order in which they were told.
func (r *rig) announced(id int64) [][]string {
	r.t.Helper()
	var rows []models.OutboxEvent
	err := r.db.Read.Where("recording_id = ? AND type = ?", id, "recording.updated").Order("id").Find(&rows).Error
	if err != nil {
		r.t.Fatal(err)
	}
	var told [][]string
	for _, row := range rows {
		var data struct {
			Fields []string `json:"fields_changed"`
		}
		if err := json.Unmarshal([]byte(row.Data), &data); err != nil {
			r.t.Fatal(err)
		}
		told = append(told, data.Fields)
	}
	return told
}

// makeFolder makes a folder of an account.
func (r *rig) makeFolder(user models.User, name string) int64 {
	r.t.Helper()
	row := models.Folder{UserID: user.ID, Name: name, Color: "#10B981", CreatedAt: time.Now().UTC()}
	r.write(func(tx *gorm.DB) error { return tx.Create(&row).Error })
	return row.ID
}

func (r *rig) write(change func(tx *gorm.DB) error) {
	r.t.Helper()
	if err := r.db.Transaction(context.Background(), change); err != nil {
		r.t.Fatal(err)
	}
}

// rest puts a recording into a state in which nobody works on it.
func (r *rig) rest(id int64, status string) {
	r.t.Helper()
	r.write(func(tx *gorm.DB) error {
		return tx.Model(&models.Recording{}).Where("id = ?", id).UpdateColumns(map[string]any{"status": status, "job_id": 0}).Error
	})
}

// Every field can be changed and cleared; only what differs is announced, and only then does updated_at move.
func TestPatch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		ctx := context.Background()
		id, folder := r.upload(wav(1, 1), "title", "T").Recording.ID, r.makeFolder(r.user, "F")
		r.write(func(tx *gorm.DB) error {
			return tx.Model(&models.Recording{}).Where("id = ?", id).UpdateColumn("title_by_user", false).Error
		})
		yes, no := true, false
		all := recordings.Patch{
			Title: becomes("Ü"), Participants: becomes("A, B"), Notes: becomes("n"), Summary: becomes("s"), FolderID: becomes(folder),
			MeetingDate: becomes(time.Date(2026, 3, 5, 6, 13, 46, 123456000, time.UTC)),
			IsInbox:     &no, IsHighlighted: &yes, IsArchived: &yes,
		}
		before, _ := r.row(id)
		shown, err := r.recordings.Patch(ctx, r.owner, id, nil, all)
		if err != nil {
			t.Fatal(err)
		}
		row, _ := r.row(id)
		if *shown.Title != "Ü" || *row.Title != "Ü" || !row.TitleByUser || *row.Participants != "A, B" || *row.Notes != "n" || *row.Summary != "s" ||
			*row.FolderID != folder || !row.MeetingDate.Equal(*all.MeetingDate.Value) || row.IsInbox || !row.IsHighlighted || !row.IsArchived {
			t.Errorf("the row is %+v", row)
		}
		if !row.UpdatedAt.After(before.UpdatedAt) || !shown.UpdatedAt.Equal(row.UpdatedAt) {
			t.Errorf("updated_at went from %v to %v, shown as %v", before.UpdatedAt, row.UpdatedAt, shown.UpdatedAt)
		}
		if _, err = r.recordings.Patch(ctx, r.owner, id, nil, all); err != nil {
			t.Fatal(err)
		}
		if again, _ := r.row(id); !again.UpdatedAt.Equal(row.UpdatedAt) {
			t.Error("a change of nothing moved updated_at")
		}
		all.Notes, all.FolderID, all.MeetingDate = recordings.Edit[string]{Given: true}, recordings.Edit[int64]{Given: true}, recordings.Edit[time.Time]{Given: true}
		if _, err = r.recordings.Patch(ctx, r.owner, id, nil, all); err != nil {
			t.Fatal(err)
		}
		if row, _ = r.row(id); row.Notes != nil || row.FolderID != nil || row.MeetingDate != nil || *row.Title != "Ü" {
			t.Errorf("the cleared row is %+v", row)
		}
		want := [][]string{
			{"folder_id", "is_archived", "is_highlighted", "is_inbox", "meeting_date", "notes", "participants", "summary", "title"},
			{"folder_id", "meeting_date", "notes"},
		}
		if told := r.announced(id); len(told) != 2 || !slices.Equal(told[0], want[0]) || !slices.Equal(told[1], want[1]) {
			t.Errorf("announced %v, want %v", told, want)
		}
	})
}

// One field that cannot be changed leaves all of them as they were; a folder of another account is as unknown as
// one that there is not.
func TestPatchIsAllOrNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		ctx := context.Background()
		id := r.upload(wav(1, 1), "title", "T").Recording.ID
		stranger := r.account("stranger")
		foreign := r.makeFolder(stranger, "F")
		before, _ := r.row(id)
		var words []string
		for _, folder := range []int64{foreign, foreign + 1000} {
			_, err := r.recordings.Patch(ctx, r.owner, id, nil, recordings.Patch{Title: becomes("other"), FolderID: becomes(folder)})
			words = append(words, expect(t, err, problems.NotFound).Message)
		}
		if words[0] != words[1] {
			t.Errorf("a foreign folder reads %q, an unknown one %q", words[0], words[1])
		}
		for name, patch := range map[string]recordings.Patch{
			"title": {Title: becomes(strings.Repeat("ü", 201))}, "participants": {Participants: becomes(strings.Repeat("x", 501))},
			"notes": {Notes: becomes(strings.Repeat("ü", 1<<19) + "x")}, "summary": {Summary: becomes(strings.Repeat("x", 1<<20+1))},
			"zero": {Title: becomes("a\x00b")}, "zero notes": {Notes: becomes("a\x00b")},
		} {
			if _, err := r.recordings.Patch(ctx, r.owner, id, nil, patch); !problems.Is(err, problems.InvalidParameter) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		_, err := r.recordings.Patch(ctx, r.principal(stranger, "full"), id, nil, recordings.Patch{Title: becomes("mine")})
		expect(t, err, problems.NotFound)
		if row, _ := r.row(id); *row.Title != "T" || !row.UpdatedAt.Equal(before.UpdatedAt) || len(r.announced(id)) > 0 {
			t.Errorf("refused changes left %+v", row)
		}
		_, err = r.recordings.Patch(ctx, r.owner, id, nil, recordings.Patch{Title: becomes(strings.Repeat("ü", 200)), Notes: becomes(strings.Repeat("ü", 1<<19))})
		if err != nil {
			t.Errorf("at the bounds: %v", err)
		}
	})
}

// Who may write and not read is shown no text, its own included.
func TestPatchShowsNoTextToWriters(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	id := r.upload(wav(1, 1), "title", "T").Recording.ID
	shown, err := r.recordings.Patch(context.Background(), r.principal(r.user, "write"), id, nil, recordings.Patch{Notes: becomes("n")})
	if err != nil || shown.Title != nil || shown.Notes != nil {
		t.Errorf("got %+v, %v", shown, err)
	}
	shown, err = r.recordings.Show(context.Background(), r.principal(r.user, "write"), id)
	if err != nil || shown.Title != nil || shown.Notes != nil {
		t.Errorf("got %+v, %v", shown, err)
	}
}

// Of changes that all name the same state exactly one is made.
func TestAMatchLetsOneWin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		id := r.upload(wav(1, 1)).Recording.ID
		for round := range 5 {
			before, _ := r.row(id)
			seen := func(at time.Time) bool { return at.Equal(before.UpdatedAt) }
			var racing sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				racing.Go(func() {
					title := strings.Repeat("x", 10*round+i+1)
					_, errs[i] = r.recordings.Patch(context.Background(), r.owner, id, seen, recordings.Patch{Title: becomes(title)})
				})
			}
			racing.Wait()
			won := 0
			for _, err := range errs {
				switch {
				case err == nil:
					won++
				case !problems.Is(err, problems.PreconditionFailed):
					t.Errorf("a loser got %v", err)
				}
			}
			if won != 1 {
				t.Fatalf("%d changes of one state were made", won)
			}
		}
		if told := r.announced(id); len(told) != 5 {
			t.Errorf("%d changes were announced", len(told))
		}
	})
}

// No two changes bear the same moment, people's and the work's alike, even under a clock that stands still.
func TestChangesInOneMicrosecondDiffer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		still := time.Now().UTC()
		r := newRig(t, url, "", func(s *settings) { s.recordings.Now = func() time.Time { return still } })
		ctx := context.Background()
		r.start()
		id := r.upload(wav(1, 1)).Recording.ID
		r.await(id, recordings.StatusCompleted)
		for i := range 3 {
			if _, err := r.recordings.Patch(ctx, r.owner, id, nil, recordings.Patch{Title: becomes(strings.Repeat("x", i+1))}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.recordings.Transcribe(ctx, r.owner, r.purse, id, recordings.Hints{}); err != nil {
			t.Fatal(err)
		}
		r.await(id, recordings.StatusCompleted)
		r.engine.script(func(context.Context, int, speech.Audio, speech.Request) (speech.Answer, error) {
			return speech.Answer{}, errService
		})
		if _, err := r.recordings.Transcribe(ctx, r.owner, r.purse, id, recordings.Hints{}); err != nil {
			t.Fatal(err)
		}
		row := r.await(id, recordings.StatusFailed)
		// Created, then started and completed, three titles, queued, started, completed, queued, started, failed.
		if moved := row.UpdatedAt.Sub(row.CreatedAt); moved != 11*time.Microsecond {
			t.Errorf("11 changes moved updated_at by %v", moved)
		}
		var moments []time.Time
		err := r.db.Read.Model(&models.OutboxEvent{}).Where("recording_id = ?", id).Order("id").Pluck("occurred_at", &moments).Error
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(moments); i++ {
			if !moments[i].After(moments[i-1]) {
				t.Errorf("event %d is of %v, the one before it of %v", i, moments[i], moments[i-1])
			}
		}
	})
}
