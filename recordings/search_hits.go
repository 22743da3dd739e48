package recordings

import (
	"strings"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// show reads the texts of a page's matches. A text that was changed since it was looked at is left out.
func show(db *gorm.DB, page []match, wanted []string) ([]Hit, error) {
	hits := []Hit{}
	read := reading{db: db}
	for _, m := range page {
		hit := Hit{
			RecordingID: m.in.ID, Title: m.in.Title, MeetingDate: m.in.MeetingDate, Field: m.field, Score: m.score,
		}
		text, err := read.unit(m, &hit)
		if err != nil {
			return nil, err
		}
		cut := snip(text, wanted)
		if hit.Text, hit.Spans = cut.Text, cut.Spans; len(hit.Spans) > 0 {
			hits = append(hits, hit)
		}
	}
	return hits, nil
}

// fieldOf is a field of a recording.
type fieldOf struct {
	recording int64
	field     Field
}

// reading reads units. It keeps the lines of the field that it read last, whose other units mostly come next: a page
// may be of fifty recordings with a megabyte each.
type reading struct {
	db    *gorm.DB
	at    fieldOf
	lines []string
}

// unit reads the text of a match, empty when it is not there any more, and fills in what a hit has of a segment.
func (r *reading) unit(m match, hit *Hit) (string, error) {
	if m.field == FieldTranscript {
		segment, found, err := r.segment(m)
		if err != nil {
			return "", err
		}
		if found {
			hit.SegmentIndex, hit.Start, hit.End, hit.Speaker = &m.unit, segment.StartSeconds, segment.EndSeconds, segment.Speaker
			return segment.Text, nil
		}
	}
	if at := (fieldOf{m.in.ID, m.field}); at != r.at {
		text := given(m.in.notes)
		if !m.in.foreign || m.field != FieldNotes {
			var err error
			if text, err = r.whole(at); err != nil {
				return "", err
			}
		}
		r.at, r.lines = at, []string{text}
		if m.field != FieldTitle && m.field != FieldParticipants {
			r.lines = strings.Split(text, "\n")
		}
	}
	if m.unit >= len(r.lines) {
		return "", nil
	}
	return r.lines[m.unit], nil
}

func (r *reading) segment(m match) (models.TranscriptSegment, bool, error) {
	var rows []models.TranscriptSegment
	err := r.db.Where("recording_id = ? AND position = ?", m.in.ID, m.unit).Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return models.TranscriptSegment{}, false, err
	}
	if err := presentSpeakers(r.db, rows); err != nil {
		return models.TranscriptSegment{}, false, err
	}
	return rows[0], true, nil
}

// whole reads the text of a field; that of a transcript is a plain one's.
func (r *reading) whole(at fieldOf) (string, error) {
	column, table, id := string(at.field), "recordings", "id"
	if at.field == FieldTranscript {
		column, table, id = "text", "transcripts", "recording_id"
	}
	var texts []*string
	err := r.db.Table(table).Where(id+" = ?", at.recording).Limit(1).Pluck(column, &texts).Error
	if err != nil || len(texts) == 0 {
		return "", err
	}
	return given(texts[0]), nil
}
