package recordings_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

func TestAssignSegments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		id := r.spoken("SPEAKER_01", "SPEAKER_00", "", "SPEAKER_01", "speaker_02")
		recording := r.mustAssign(id, "SPEAKER_01", " Grace ", "SPEAKER_00", "Ada", "nobody", "Not Heard", "speaker_02", "  ")
		same(t, "speakers", r.heard(id), "Grace", "Ada", "", "Grace", "speaker_02")
		same(t, "saved", r.known(r.owner), "Ada 1", "Grace 1")
		same(t, "events", r.fieldsChanged(id), "participants,speakers")
		if given(recording.Participants) != "Ada, Grace" {
			t.Errorf("the participants are %q", given(recording.Participants))
		}
		row, _ := r.row(id)
		if !row.UpdatedAt.After(day(1)) || given(row.Participants) != "Ada, Grace" {
			t.Errorf("the row has %v, %q", row.UpdatedAt, given(row.Participants))
		}
		// The same again is no change; the label of the engine and "Unknown" are taken too.
		r.mustAssign(id, "Ada", "Ada", "SPEAKER_01", "Grace")
		if again, _ := r.row(id); !again.UpdatedAt.Equal(row.UpdatedAt) {
			t.Error("an assignment that changes nothing moved updated_at")
		}
		r.mustAssign(id, "SPEAKER_00", "Edith", "Unknown", "Kay")
		same(t, "speakers", r.heard(id), "Grace", "Edith", "Kay", "Grace", "speaker_02")
		// Two swap.
		r.mustAssign(id, "Grace", "Edith", "Edith", "Grace")
		same(t, "speakers", r.heard(id), "Edith", "Grace", "Kay", "Edith", "speaker_02")
		// A present name that equals a label of the engine wins over the label.
		r.mustAssign(id, "Kay", "SPEAKER_01")
		r.mustAssign(id, "SPEAKER_01", "Jean")
		same(t, "speakers", r.heard(id), "Edith", "Grace", "Jean", "Edith", "speaker_02")
		same(t, "saved", r.known(r.owner), "Grace 2", "Edith 2", "Jean 1", "Kay 1", "Ada 1")
		transcript, err := r.recordings.Transcript(context.Background(), r.owner, id)
		if err != nil {
			t.Fatal(err)
		}
		if first := transcript.Segments[0]; given(first.SpeakerLabel) != "SPEAKER_01" || *first.SpeakerID != r.speaker("Edith").ID {
			t.Errorf("the first segment has label %q and speaker %v", given(first.SpeakerLabel), first.SpeakerID)
		}
	})
}

func TestAssignPlain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		id := r.written("[Speaker 1]: hello [ speaker1 ] and [SPEAKER_2] [x [B]] [Speaker 1")
		recording := r.mustAssign(id, "b", "Zoe", "SPEAKER 1", "Ada", "speaker_2", "[Grace]", "absent", "Nobody")
		row, _ := r.row(id)
		detail, err := r.recordings.Find(context.Background(), r.owner, id, true)
		if want := "[Ada]: hello [Ada] and [[Grace]] [x [Zoe]] [Speaker 1"; err != nil || given(detail.Transcription) != want {
			t.Errorf("the text is %q (%v), want %q", given(detail.Transcription), err, want)
		}
		if given(recording.Participants) != "Zoe, Ada, [Grace]" || given(row.Participants) != "Zoe, Ada, [Grace]" {
			t.Errorf("the participants are %q", given(recording.Participants))
		}
		if len(r.known(r.owner)) != 3 {
			t.Errorf("saved are %v", r.known(r.owner))
		}
		r.mustAssign(id, "absent", "Nobody")
		if again, _ := r.row(id); !again.UpdatedAt.Equal(row.UpdatedAt) {
			t.Error("an assignment of what is not there moved updated_at")
		}
	})
}

// Labels of engines are nobody; participants stay within their bound by whole names; a person gets the caller's name.
func TestAssignedParticipants(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, sqliteURL(t), "", nil)
	id := r.spoken("A", "B")
	r.mustAssign(id, "A", "SPEAKER_7", "B", "Ada")
	same(t, "saved", r.known(r.owner), "Ada 1")
	if row, _ := r.row(id); given(row.Participants) != "Ada" {
		t.Errorf("the participants are %q", given(row.Participants))
	}
	recording, _, err := r.recordings.AssignSpeakers(ctx, r.owner, id, nil, []recordings.Assignment{{Label: "SPEAKER_7", IsMe: true}, {Label: "Ada"}}, false)
	if err != nil || given(recording.Participants) != "Ada, Me" {
		t.Errorf("the participants are %q (%v)", given(recording.Participants), err)
	}
	var labels, pairs []string
	for i := range 9 {
		labels = append(labels, fmt.Sprint("L", i))
		pairs = append(pairs, labels[i], strings.Repeat("é", 98)+fmt.Sprint(i))
	}
	recording = r.mustAssign(r.spoken(labels...), pairs...)
	if length := len([]rune(given(recording.Participants))); length != 4*99+3*2 {
		t.Errorf("the participants are %d characters: %q", length, given(recording.Participants))
	}
	recording, err = r.assign(r.principal(r.user, "write"), id, "Ada", "Grace")
	if err != nil || recording.Participants != nil || recording.Title != nil {
		t.Errorf("a token that may not read is told %v (%v)", recording.Participants, err)
	}
}

func TestAssignRefusals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		id := r.spoken("A", "B")
		many := make([]string, 202)
		for i := range many {
			many[i] = fmt.Sprint(i)
		}
		for _, pairs := range [][]string{many, {"A", strings.Repeat("x", 101)}, {strings.Repeat("x", 201), "Ada"}, {"A", "two\nlines"}, {"A", "zero\x00"}, {"\xff", "Ada"}} {
			_, err := r.assign(r.owner, id, pairs...)
			expect(t, err, problems.InvalidParameter)
		}
		_, err := r.assign(r.principal(r.account("stranger"), "full"), id, "A", "Ada")
		expect(t, err, problems.NotFound)
		_, _, err = r.recordings.AssignSpeakers(ctx, r.owner, id, func(at time.Time) bool { return at.After(day(2)) }, []recordings.Assignment{{Label: "A", Name: "Ada"}}, false)
		expect(t, err, problems.PreconditionFailed)
		same(t, "speakers", r.heard(id), "A", "B")
		same(t, "saved", r.known(r.owner))
		// What has no transcript has nothing to rename.
		empty := listing(t, sqliteURL(t), models.Recording{})
		if _, err := empty.assign(empty.owner, empty.onlyRecording(), "A", "Ada"); err != nil || len(empty.known(empty.owner)) != 0 {
			t.Errorf("assigning without a transcript: %v, saved %v", err, empty.known(empty.owner))
		}
	})
}

// Any number of requests that assign, rename and delete at once end without a failure, with each name saved once and
// every transcript under the names of speakers that there are.
func TestAssigningAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		var ids []int64
		for range 6 {
			ids = append(ids, r.spoken("A", "B", "A"))
		}
		var all sync.WaitGroup
		for i := range 24 {
			all.Go(func() {
				if _, err := r.assign(r.owner, ids[i%6], "A", "Ada", "B", fmt.Sprint("Name ", i%3)); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				speakers, err := r.recordings.Speakers(ctx, r.owner, "")
				if err != nil || len(speakers) == 0 {
					return
				}
				name := fmt.Sprint("Renamed ", i)
				if _, err := r.recordings.ChangeSpeaker(ctx, r.owner, speakers[i%len(speakers)].ID, recordings.SpeakerChange{Name: &name}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		seen := map[string]bool{}
		for _, name := range r.known(r.owner) {
			name = name[:strings.LastIndexByte(name, ' ')]
			if seen[name] {
				t.Errorf("%q is saved twice", name)
			}
			seen[name] = true
		}
		for _, id := range ids {
			for _, name := range r.heard(id) {
				if !seen[name] {
					t.Errorf("recording %d has %q, who is not saved", id, name)
				}
			}
		}
	})
}
