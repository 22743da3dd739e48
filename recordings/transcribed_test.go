package recordings_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// spoken stores a transcript as a worker would, a segment for each label ("" is nobody), and gives the recording's id.
func (r *rig) spoken(labels ...string) int64 {
	r.t.Helper()
	segments := make([]models.TranscriptSegment, len(labels))
	for i, label := range labels {
		segments[i] = models.TranscriptSegment{Position: i, Text: fmt.Sprint("words ", i)}
		if label != "" {
			segments[i].Speaker, segments[i].SpeakerLabel = &label, &label
		}
	}
	return r.store(models.Transcript{Kind: recordings.Segmented, Gaps: "[]", Engine: "test", CreatedAt: day(1)}, segments)
}

// written stores a plain transcript.
func (r *rig) written(words string) int64 {
	r.t.Helper()
	return r.store(models.Transcript{Kind: recordings.Plain, Text: words, Gaps: "[]", Engine: "test", CreatedAt: day(1)}, nil)
}

func (r *rig) store(transcript models.Transcript, segments []models.TranscriptSegment) int64 {
	r.t.Helper()
	row := models.Recording{
		UserID: r.user.ID, OrganizationID: r.user.OrganizationID, SHA256: strings.Repeat("0", 64),
		Status: recordings.StatusCompleted, CreatedAt: day(1), UpdatedAt: day(1),
	}
	err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		transcript.RecordingID = row.ID
		if err := tx.Create(&transcript).Error; err != nil {
			return err
		}
		for i := range segments {
			segments[i].RecordingID = row.ID
		}
		if len(segments) == 0 {
			return nil
		}
		return tx.CreateInBatches(segments, 500).Error
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return row.ID
}

// heard lists the speakers of the transcript as it is shown, segment by segment, and holds what is stored, which a
// search reads, against it.
func (r *rig) heard(id int64) []string {
	r.t.Helper()
	transcript, err := r.recordings.Transcript(context.Background(), r.owner, id)
	if err != nil {
		r.t.Fatal(err)
	}
	var stored []models.TranscriptSegment
	if err := r.db.Read.Where("recording_id = ?", id).Order("position").Find(&stored).Error; err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for i, segment := range transcript.Segments {
		names = append(names, given(segment.Speaker))
		if given(stored[i].Speaker) != given(segment.Speaker) {
			r.t.Errorf("segment %d is stored under %q and shown under %q", i, given(stored[i].Speaker), given(segment.Speaker))
		}
	}
	return names
}

// assign gives names to labels: label, name, label, name.
func (r *rig) assign(p auth.Principal, id int64, pairs ...string) (recordings.Recording, error) {
	r.t.Helper()
	var said []recordings.Assignment
	for i := 0; i < len(pairs); i += 2 {
		said = append(said, recordings.Assignment{Label: pairs[i], Name: pairs[i+1]})
	}
	recording, _, err := r.recordings.AssignSpeakers(context.Background(), p, id, nil, said, false)
	return recording, err
}

func (r *rig) mustAssign(id int64, pairs ...string) recordings.Recording {
	r.t.Helper()
	recording, err := r.assign(r.owner, id, pairs...)
	if err != nil {
		r.t.Fatal(err)
	}
	return recording
}

// known lists the account's speakers as name and use count.
func (r *rig) known(p auth.Principal) []string {
	r.t.Helper()
	speakers, err := r.recordings.Speakers(context.Background(), p, "")
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, speaker := range speakers {
		names = append(names, fmt.Sprint(speaker.Name, " ", speaker.UseCount))
	}
	return names
}

func (r *rig) speaker(name string) recordings.Speaker {
	r.t.Helper()
	speakers, err := r.recordings.Speakers(context.Background(), r.owner, "")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, speaker := range speakers {
		if speaker.Name == name {
			return speaker
		}
	}
	r.t.Fatalf("there is no speaker %q among %v", name, speakers)
	return recordings.Speaker{}
}

// fieldsChanged lists the fields of the recording's events of change, one string for each event.
func (r *rig) fieldsChanged(id int64) []string {
	r.t.Helper()
	var data []string
	err := r.db.Read.Model(&models.OutboxEvent{}).Where("recording_id = ? AND type = ?", id, "recording.updated").Order("id").Pluck("data", &data).Error
	if err != nil {
		r.t.Fatal(err)
	}
	for i, text := range data {
		_, rest, _ := strings.Cut(text, `"fields_changed":[`)
		data[i], _, _ = strings.Cut(rest, "]")
		data[i] = strings.ReplaceAll(data[i], `"`, "")
	}
	return data
}

// same fails unless the lists are equal.
func same(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}
