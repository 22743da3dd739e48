package recordings

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// unknownSpeaker is what segments without a speaker are listed and assigned under.
const unknownSpeaker = "Unknown"

// Voice is somebody who speaks in a recording. The last three are nil while the voice was given to nobody.
type Voice struct {
	// Label is what the transcript calls the speaker, and what assigning takes.
	Label     string
	Segments  int64
	Name      *string
	SpeakerID *int64
	Email     *string
}

// Voices are those of one recording, in the order in which they are first heard.
type Voices struct {
	List []Voice
	// UpdatedAt is when the recording was last changed.
	UpdatedAt time.Time
}

// Voices lists who speaks in a recording that the caller may see: nobody in a plain transcript, or before there is one.
func (s *Recordings) Voices(ctx context.Context, p auth.Principal, id int64) (Voices, error) {
	db := s.db.Read.WithContext(ctx)
	row, err := s.visible(db, p, id)
	if err != nil {
		return Voices{}, err
	}
	var counted []struct {
		Speaker   *string
		SpeakerID *int64
		Segments  int64
	}
	err = db.Model(&models.TranscriptSegment{}).Where("recording_id = ?", id).Group("speaker, speaker_id").
		Select("speaker, speaker_id, COUNT(*) AS segments").Order("MIN(position)").Scan(&counted).Error
	if err != nil {
		return Voices{}, unavailable("list the speakers of the recording", err)
	}
	var ids []int64
	for _, part := range counted {
		if part.SpeakerID != nil {
			ids = append(ids, *part.SpeakerID)
		}
	}
	saved, err := findPeople(db, ids)
	if err != nil {
		return Voices{}, unavailable("find the speakers", err)
	}
	voices, at := Voices{List: []Voice{}, UpdatedAt: row.UpdatedAt}, map[string]int{}
	for _, part := range counted {
		name, speakerID := saved.present(part.Speaker, part.SpeakerID)
		label := labelOf(name)
		i, there := at[label]
		if !there {
			i, at[label] = len(voices.List), len(voices.List)
			voices.List = append(voices.List, Voice{Label: label})
		}
		voice := &voices.List[i]
		voice.Segments += part.Segments
		if speakerID != nil {
			voice.Name = name
			if row.UserID == p.UserID() { // the saved speaker and the address are the owner's alone
				voice.SpeakerID, voice.Email = speakerID, saved[*speakerID].Email
			}
		}
	}
	return voices, nil
}

func labelOf(name *string) string {
	if name == nil {
		return unknownSpeaker
	}
	return *name
}

// people are saved speakers by id.
type people map[int64]models.Speaker

func findPeople(db *gorm.DB, ids []int64) (people, error) {
	found := people{}
	if len(ids) == 0 {
		return found, nil
	}
	var rows []models.Speaker
	if err := db.Where("id IN ?", ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read the speakers: %w", err)
	}
	for _, row := range rows {
		found[row.ID] = row
	}
	return found, nil
}

// present is how a segment's speaker is shown: under the saved speaker's name of today, which the segment may not
// bear yet, and without a speaker that was deleted.
func (p people) present(name *string, id *int64) (*string, *int64) {
	if id == nil {
		return name, nil
	}
	speaker, ok := p[*id]
	switch {
	case !ok:
		return name, nil
	case speaker.DeletedAt != nil:
		return &speaker.Name, nil
	}
	return &speaker.Name, id
}

// presentSpeakers shows the segments under the present names of their speakers.
func presentSpeakers(db *gorm.DB, segments []models.TranscriptSegment) error {
	var ids []int64
	seen := map[int64]bool{}
	for _, segment := range segments {
		if id := segment.SpeakerID; id != nil && !seen[*id] {
			seen[*id], ids = true, append(ids, *id)
		}
	}
	saved, err := findPeople(db, ids)
	if err != nil {
		return err
	}
	for i := range segments {
		segments[i].Speaker, segments[i].SpeakerID = saved.present(segments[i].Speaker, segments[i].SpeakerID)
	}
	return nil
}
