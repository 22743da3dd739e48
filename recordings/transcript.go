package recordings

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// The kinds of a transcript.
const (
	Segmented = "segments"
	Plain     = "plain"
)

// Transcript is what was said.
type Transcript struct {
	// Kind is Segmented or Plain.
	Kind     string
	Segments []Segment
	// Raw is the text of a plain transcript.
	Raw      string
	Language *string
	Gaps     []Gap
	// Duration is the decoded length of the recording in seconds, nil where it is not known.
	Duration *float64
	// UpdatedAt is when the recording was last changed.
	UpdatedAt time.Time
}

// Segment is one utterance. Index is its place in the whole transcript, also in a window of it; times are seconds
// from the beginning.
type Segment struct {
	Index        int
	Speaker      *string
	SpeakerLabel *string
	// SpeakerID is the saved speaker, whose name Speaker is; nil when nobody was assigned.
	SpeakerID *int64
	Text      string
	Start     *float64
	End       *float64
}

// Gap is a part that the engine could not transcribe, in seconds.
type Gap struct {
	Start  float64 `json:"start_time"`
	End    float64 `json:"end_time"`
	Reason string  `json:"reason"`
}

// Window is a part of a transcript that is asked for.
type Window struct {
	// Start and End are seconds; nil is no bound. A segment that overlaps the window is in it; one without
	// times is in no bounded window.
	Start, End *float64
	// Max is how many segments at most; 0 is all.
	Max int
}

// Transcript finds the transcript of a recording that p may see. A recording that has none yet is not_found, like
// one that p may not see.
func (s *Recordings) Transcript(ctx context.Context, p auth.Principal, id int64) (Transcript, error) {
	row, err := s.visible(s.db.Read.WithContext(ctx), p, id)
	if err != nil {
		return Transcript{}, err
	}
	transcript, found, err := loadTranscript(s.db.Read.WithContext(ctx), row)
	if err != nil {
		return Transcript{}, err
	}
	if !found {
		return Transcript{}, problems.New(problems.NotFound, "The recording has no transcript yet.")
	}
	if row.UserID != p.UserID() {
		for i := range transcript.Segments {
			transcript.Segments[i].SpeakerID = nil // whom the owner knows is the owner's
		}
	}
	return transcript, nil
}

func loadTranscript(db *gorm.DB, recording models.Recording) (Transcript, bool, error) {
	var stored []models.Transcript
	if err := db.Where("recording_id = ?", recording.ID).Limit(1).Find(&stored).Error; err != nil {
		return Transcript{}, false, unavailable("read the transcript", err)
	}
	if len(stored) == 0 {
		return Transcript{}, false, nil
	}
	transcript := Transcript{
		Kind: stored[0].Kind, Raw: stored[0].Text, Language: stored[0].Language,
		Segments: []Segment{}, Duration: recording.AudioDuration, UpdatedAt: recording.UpdatedAt,
	}
	if err := json.Unmarshal([]byte(stored[0].Gaps), &transcript.Gaps); err != nil {
		return Transcript{}, false, fmt.Errorf("read the gaps of recording %d: %w", recording.ID, err)
	}
	var segments []models.TranscriptSegment
	if err := db.Where("recording_id = ?", recording.ID).Order("position").Find(&segments).Error; err != nil {
		return Transcript{}, false, unavailable("read the segments", err)
	}
	if err := presentSpeakers(db, segments); err != nil {
		return Transcript{}, false, unavailable("read the speakers", err)
	}
	for _, segment := range segments {
		transcript.Segments = append(transcript.Segments, Segment{
			Index: segment.Position, Speaker: segment.Speaker, SpeakerLabel: segment.SpeakerLabel, SpeakerID: segment.SpeakerID,
			Text: segment.Text, Start: segment.StartSeconds, End: segment.EndSeconds,
		})
	}
	return transcript, true, nil
}

// Within gives the segments of the window. next is where the first segment begins that Max cut off, nil when
// nothing was cut or it has no time.
func (t Transcript) Within(window Window) (segments []Segment, next *float64) {
	segments = []Segment{}
	for _, segment := range t.Segments {
		if !window.holds(segment) {
			continue
		}
		if window.Max > 0 && len(segments) == window.Max {
			return segments, segment.Start
		}
		segments = append(segments, segment)
	}
	return segments, nil
}

func (w Window) holds(segment Segment) bool {
	if w.Start == nil && w.End == nil {
		return true
	}
	if segment.Start == nil {
		return false
	}
	end := segment.Start
	if segment.End != nil {
		end = segment.End
	}
	return (w.Start == nil || *end >= *w.Start) && (w.End == nil || *segment.Start <= *w.End)
}
