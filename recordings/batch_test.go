package recordings_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// summed is a batch's outcomes as a line: "3 ok, 5 There is no such recording."
func summed(outcomes []recordings.Outcome) string {
	line := ""
	for _, o := range outcomes {
		text := "ok"
		if o.Err != nil {
			text = o.Err.Message
		}
		line += fmt.Sprintf("%d %s, ", o.ID, text)
	}
	return line
}

// A batch does what it can, each recording once and in the order of the ids; another's fails as an unknown one.
func TestPatchBatch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		ctx := context.Background()
		stranger := r.account("stranger")
		accepted, err := r.send(r.principal(stranger, "full"), "x.wav", wav(1, 9))
		if err != nil {
			t.Fatal(err)
		}
		foreign := accepted.Recording.ID
		a, b := r.upload(wav(1, 1)).Recording.ID, r.upload(wav(1, 2)).Recording.ID
		folder := r.makeFolder(r.user, "F")
		tags := r.makeTags(r.user, 3)
		alien := r.makeTags(stranger, 1)[0]
		yes := true
		outcomes, err := r.recordings.PatchBatch(ctx, r.owner, []int64{b, foreign, a, b, 424242, 0, -1}, recordings.BatchPatch{
			IsArchived: &yes, FolderID: becomes(folder), AddTags: []int64{tags[2], alien, tags[0], tags[2], 987654},
		})
		if err != nil {
			t.Fatal(err)
		}
		const no = "There is no such recording."
		if got, want := summed(outcomes), fmt.Sprintf("%d ok, %d %s, %d ok, 424242 %s, 0 %s, -1 %s, ", b, foreign, no, a, no, no, no); got != want {
			t.Errorf("the outcomes are %s\nwant %s", got, want)
		}
		detail, err := r.recordings.Find(ctx, r.owner, a, false)
		if err != nil {
			t.Fatal(err)
		}
		shown := detail.Recording
		if !shown.IsArchived || shown.FolderID == nil || *shown.FolderID != folder || len(shown.Tags) != 2 || shown.Tags[0].ID != tags[2] || shown.Tags[1].ID != tags[0] {
			t.Errorf("a became %+v", shown)
		}
		if row, _ := r.row(foreign); row.IsArchived {
			t.Error("another's recording was changed")
		}
		// A tag that is to come and to go is gone; what is so already is no change.
		for range 2 {
			if _, err := r.recordings.PatchBatch(ctx, r.owner, []int64{a}, recordings.BatchPatch{AddTags: []int64{tags[0], tags[1]}, RemoveTags: []int64{tags[1], tags[2]}}); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprint(r.announced(a)); got != "[[folder_id is_archived tags] [tags]]" {
			t.Errorf("announced %s", got)
		}
		_, err = r.recordings.PatchBatch(ctx, r.owner, []int64{a}, recordings.BatchPatch{FolderID: becomes(r.makeFolder(stranger, "G"))})
		expect(t, err, problems.NotFound)
		outcomes, err = r.recordings.PatchBatch(ctx, r.owner, []int64{a, b}, recordings.BatchPatch{AddTags: r.makeTags(r.user, 99)})
		if err != nil || outcomes[0].Err != nil || outcomes[1].Err == nil || outcomes[1].Err.Kind != problems.Conflict {
			t.Errorf("99 tags more: %s, %v", summed(outcomes), err)
		}
	})
}

// makeTags makes tags of an account.
func (r *rig) makeTags(user models.User, count int) []int64 {
	r.t.Helper()
	rows := make([]models.Tag, count)
	for i := range rows {
		rows[i] = models.Tag{UserID: user.ID, Name: fmt.Sprintf("%d of %d", i, count), Color: "#3B82F6", CreatedAt: time.Now().UTC()}
	}
	r.write(func(tx *gorm.DB) error { return tx.Create(&rows).Error })
	ids := make([]int64, count)
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids
}

// A batch names at most 1,000 different recordings; repetitions count for nothing.
func TestBatchBounds(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	ctx := context.Background()
	ids := make([]int64, 0, 2002)
	for range 2 {
		for id := range int64(1000) {
			ids = append(ids, id+1)
		}
	}
	outcomes, err := r.recordings.DeleteBatch(ctx, r.owner, ids)
	if err != nil || len(outcomes) != 1000 {
		t.Errorf("1,000 ids: %d outcomes, %v", len(outcomes), err)
	}
	ids = append(ids, 1001)
	_, remove := r.recordings.DeleteBatch(ctx, r.owner, ids)
	_, patch := r.recordings.PatchBatch(ctx, r.owner, ids, recordings.BatchPatch{})
	_, transcribe := r.recordings.TranscribeBatch(ctx, r.owner, r.purse, ids)
	for _, err := range []error{remove, patch, transcribe} {
		if problem := expect(t, err, problems.PayloadTooLarge); problem.Fields["max_ids"] != 1000 {
			t.Errorf("the refusal tells %v", problem.Fields)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if outcomes, err := r.recordings.DeleteBatch(ended, r.owner, []int64{1}); err == nil {
		t.Errorf("a request that is over was answered %s", summed(outcomes))
	}
}

// Batches delete and queue as the single routes do.
func TestDeleteAndTranscribeBatch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		ctx := context.Background()
		a, b, c := r.upload(wav(1, 1)).Recording.ID, r.upload(wav(1, 2)).Recording.ID, r.upload(wav(1, 3)).Recording.ID
		r.rest(a, recordings.StatusCompleted)
		r.rest(c, recordings.StatusFailed)
		if _, err := r.recordings.DeleteAudio(ctx, r.owner, c); err != nil {
			t.Fatal(err)
		}
		outcomes, err := r.recordings.TranscribeBatch(ctx, r.owner, r.purse, []int64{a, b, c, a})
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%d ok, %d The recording is already being processed., %d The audio of this recording is not there any more., ", a, b, c)
		if summed(outcomes) != want {
			t.Errorf("the outcomes are %s", summed(outcomes))
		}
		if row, _ := r.row(a); row.Status != recordings.StatusQueued || outcomes[0].JobID != row.JobID || row.JobID == 0 || outcomes[1].JobID != 0 {
			t.Errorf("the jobs are %d and %d, the row's %d", outcomes[0].JobID, outcomes[1].JobID, row.JobID)
		}
		outcomes, err = r.recordings.DeleteBatch(ctx, r.owner, []int64{a, a, 424242, b})
		if want := fmt.Sprintf("%d ok, 424242 There is no such recording., %d ok, ", a, b); err != nil || summed(outcomes) != want {
			t.Errorf("the outcomes are %s, %v", summed(outcomes), err)
		}
		if r.recordingCount() != 1 {
			t.Errorf("%d recordings are left", r.recordingCount())
		}
	})
}

// What fails inside is told in no words of the database.
func TestBatchFailuresTellNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	a, b := r.upload(wav(1, 1)).Recording.ID, r.upload(wav(1, 2)).Recording.ID
	r.execute(fmt.Sprintf("CREATE TRIGGER deny BEFORE UPDATE ON recordings WHEN old.id = %d BEGIN SELECT RAISE(ABORT, 'secret'); END", a))
	yes := true
	outcomes, err := r.recordings.PatchBatch(context.Background(), r.owner, []int64{a, b}, recordings.BatchPatch{IsHighlighted: &yes})
	if want := fmt.Sprintf("%d Internal error., %d ok, ", a, b); err != nil || summed(outcomes) != want {
		t.Errorf("the outcomes are %s, %v", summed(outcomes), err)
	}
}
