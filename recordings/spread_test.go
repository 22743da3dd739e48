package recordings_test

import (
	"context"
	"testing"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// A new name reaches every recording: what is shown at once, what is stored, updated_at and the announcement portion
// by portion, each once, while other speakers and accounts see nothing of it.
func TestRenameReachesEveryRecording(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		ids := r.everywhere(120)
		apart := r.spoken("A")
		r.mustAssign(apart, "A", "Grace")
		name := "Countess"
		changed, err := r.recordings.ChangeSpeaker(ctx, r.owner, r.speaker("Ada").ID, recordings.SpeakerChange{Name: &name})
		if err != nil || changed.Name != "Countess" {
			t.Fatalf("%+v, %v", changed, err)
		}
		last, err := r.recordings.Transcript(ctx, r.owner, ids[119])
		if err != nil || given(last.Segments[0].Speaker) != "Countess" || *last.Segments[0].SpeakerID != changed.ID {
			t.Fatalf("the last transcript shows %q (%v) before the job", given(last.Segments[0].Speaker), err)
		}
		r.start()
		r.until("every recording was told", func() bool { return len(r.fieldsChanged(ids[119])) == 2 })
		for i, id := range ids {
			same(t, "speakers", r.heard(id), "Countess", "B")
			same(t, "events", r.fieldsChanged(id), "participants,speakers", "speakers")
			if i > 2 && t.Failed() {
				t.FailNow()
			}
		}
		same(t, "another's", r.fieldsChanged(apart), "participants,speakers")
		row, _ := r.row(ids[0])
		if given(row.Participants) != "Ada, B" {
			t.Errorf("the participants, which people write, became %q", given(row.Participants))
		}
	})
}

// everywhere makes recordings in which Ada speaks.
func (r *rig) everywhere(n int) []int64 {
	r.t.Helper()
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = r.spoken("A", "B")
		r.mustAssign(ids[i], "A", "Ada")
	}
	return ids
}

// A speaker who was deleted is gone at once, the name stays in the transcripts, and in the end nothing is left of the
// speaker but that. The name is free again meanwhile.
func TestDeletedSpeakersLeaveTheirNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		ids := r.everywhere(60)
		gone := r.speaker("Ada").ID
		if err := r.recordings.RemoveSpeaker(ctx, r.owner, gone); err != nil {
			t.Fatal(err)
		}
		same(t, "saved", r.known(r.owner))
		r.save("Ada")
		for _, id := range []int64{ids[0], ids[59]} {
			transcript, err := r.recordings.Transcript(ctx, r.owner, id)
			if err != nil || given(transcript.Segments[0].Speaker) != "Ada" || transcript.Segments[0].SpeakerID != nil {
				t.Errorf("the transcript shows %+v (%v)", transcript.Segments[0], err)
			}
			voices, err := r.recordings.Voices(ctx, r.owner, id)
			if err != nil || voices.List[0].Label != "Ada" || voices.List[0].Name != nil {
				t.Errorf("the voices are %+v (%v)", voices.List, err)
			}
		}
		r.start()
		r.until("the row is gone", func() bool {
			var left int64
			return r.db.Read.Model(&models.Speaker{}).Where("id = ?", gone).Count(&left).Error == nil && left == 0
		})
		for _, id := range ids {
			same(t, "events", r.fieldsChanged(id), "participants,speakers", "speakers")
		}
		same(t, "speakers", r.heard(ids[59]), "Ada", "B")
	})
}
