package recordings

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// The bounds of one request to assign speakers.
const (
	maxAssignments   = 100
	maxSpeakerLabel  = 200 // characters
	positionsAtOnce  = 1000
	nameOfTheAccount = "Me" // accounts have no name of a person
)

var (
	// engineLabel is what engines call a voice; nobody is called so.
	engineLabel = regexp.MustCompile(`(?i)^SPEAKER_\d+$`)
	// bracketed is where a plain transcript may name who speaks.
	bracketed = regexp.MustCompile(`\[[^\[\]]+\]`)
)

// Assignment gives a voice a name. A blank name leaves the voice as it is, unless it is the caller's own.
type Assignment struct {
	Label string
	Name  string
	IsMe  bool
}

// AssignSpeakers gives names to voices of a recording that the caller may change, all at once, so that two may swap. A label
// is what the transcript calls a voice now, or else what the engine called it; one that is neither names nobody. For
// each name that is given a speaker of the owner's is saved, or counted up. Participants become those who are named. With
// summarize a new summary is queued in the same breath; where none can be made of the recording now, or its summary is
// approved, the names count all the same, and queued tells. Money refuses nothing here: the summary's job asks for it.
func (s *Recordings) AssignSpeakers(
	ctx context.Context, p auth.Principal, id int64, match Match, said []Assignment, summarize bool,
) (shown Recording, queued bool, err error) {
	if said, err = checkAssignments(said); err != nil {
		return Recording{}, false, err
	}
	if summarize {
		if summarize, err = s.hasMatter(ctx, p, id); err != nil {
			return Recording{}, false, err
		}
	}
	var row models.Recording
	err = s.db.Transaction(ctx, func(tx *gorm.DB) (err error) {
		if row, err = s.editable(tx, p, id); err != nil {
			return err
		}
		if err := lockAccount(tx, row.UserID); err != nil {
			return err
		}
		row, err = s.changeWithin(tx, p, id, editing, match, func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
			return s.assign(tx, row, said)
		})
		shown = view(p, row) // with the status from before, as the contract has it
		if queued = err == nil && summarize && rests(row) && !approved(row); !queued {
			return err
		}
		return s.queueSummary(ctx, tx, &row, SummarizeArgs{RecordingID: row.ID, TokenID: p.TokenID(), UserID: p.UserID()}, false)
	})
	if err != nil {
		return Recording{}, false, unavailable("assign the speakers", err)
	}
	return shown, queued, nil
}

func checkAssignments(said []Assignment) ([]Assignment, error) {
	if len(said) > maxAssignments {
		return nil, problems.New(problems.InvalidParameter, "speaker_map must have at most %d labels.", maxAssignments)
	}
	var kept []Assignment
	for _, one := range said {
		if err := problems.OfText("A label of speaker_map", one.Label, maxSpeakerLabel); err != nil {
			return nil, err
		}
		name, err := checkSpeakerName("A name in speaker_map", one.Name)
		if err != nil {
			return nil, err
		}
		if name == "" && one.IsMe {
			name = nameOfTheAccount
		}
		if name != "" {
			kept = append(kept, Assignment{Label: one.Label, Name: name})
		}
	}
	return kept, nil
}

// assign does it under the locks of the account and of the row.
func (s *Recordings) assign(tx *gorm.DB, row *models.Recording, said []Assignment) ([]Field, error) {
	var stored []models.Transcript
	if err := tx.Where("recording_id = ?", row.ID).Limit(1).Find(&stored).Error; err != nil {
		return nil, fmt.Errorf("read the transcript: %w", err)
	}
	if len(stored) == 0 || len(said) == 0 {
		return nil, nil
	}
	var participants string
	var changed bool
	var err error
	if stored[0].Kind == Plain {
		participants, changed, err = s.assignPlain(tx, row, stored[0].Text, said)
	} else {
		participants, changed, err = s.assignSegments(tx, row, said)
	}
	if err != nil || !changed {
		return nil, err
	}
	if participants == given(row.Participants) {
		return []Field{FieldSpeakers}, nil
	}
	row.Participants = optional(participants)
	err = tx.Model(&models.Recording{}).Where("id = ?", row.ID).UpdateColumn("participants", row.Participants).Error
	if err != nil {
		return nil, fmt.Errorf("write the participants: %w", err)
	}
	return []Field{FieldSpeakers, FieldParticipants}, nil
}

// assignSegments renames the segments of a transcript; participants are everybody who then speaks in it, by name.
func (s *Recordings) assignSegments(tx *gorm.DB, row *models.Recording, said []Assignment) (participants string, changed bool, err error) {
	var segments []models.TranscriptSegment
	err = tx.Select("position", "speaker", "speaker_label", "speaker_id").
		Where("recording_id = ?", row.ID).Order("position").Find(&segments).Error
	if err != nil {
		return "", false, fmt.Errorf("read the segments: %w", err)
	}
	if err := presentSpeakers(tx, segments); err != nil {
		return "", false, err
	}
	renamed := rename(segments, said)
	for _, name := range inOrder(said) {
		positions := renamed[name]
		if len(positions) == 0 {
			continue
		}
		changed = true
		speaker, err := s.useSpeaker(tx, row.UserID, name)
		if err != nil {
			return "", false, err
		}
		for some := range slices.Chunk(positions, positionsAtOnce) {
			err := tx.Model(&models.TranscriptSegment{}).Where("recording_id = ? AND position IN ?", row.ID, some).
				UpdateColumns(map[string]any{"speaker": name, "speaker_id": speaker}).Error
			if err != nil {
				return "", false, fmt.Errorf("rename the segments: %w", err)
			}
		}
	}
	var names []string
	for _, segment := range segments {
		if segment.Speaker != nil {
			names = append(names, *segment.Speaker)
		}
	}
	slices.Sort(names)
	return participantsOf(slices.Compact(names)), changed, nil
}

// rename gives the segments their new speakers and tells the positions of those that change by name.
func rename(segments []models.TranscriptSegment, said []Assignment) map[string][]int {
	names, present := map[string]string{}, map[string]bool{}
	for _, one := range said {
		names[one.Label] = one.Name
	}
	for _, segment := range segments {
		present[labelOf(segment.Speaker)] = true
	}
	renamed := map[string][]int{}
	for i, segment := range segments {
		name, ok := names[labelOf(segment.Speaker)]
		if engine := given(segment.SpeakerLabel); !ok && !present[engine] {
			name, ok = names[engine]
		}
		if !ok || name == given(segment.Speaker) && (segment.SpeakerID != nil || engineLabel.MatchString(name)) {
			continue
		}
		segments[i].Speaker = &name
		renamed[name] = append(renamed[name], segment.Position)
	}
	return renamed
}

// inOrder are the names in the order of the request, each once.
func inOrder(said []Assignment) []string {
	var names []string
	for _, one := range said {
		if !slices.Contains(names, one.Name) {
			names = append(names, one.Name)
		}
	}
	return names
}

// assignPlain renames what stands in square brackets; spaces and case do not count there. Participants are the names
// that were given.
func (s *Recordings) assignPlain(tx *gorm.DB, row *models.Recording, text string, said []Assignment) (participants string, changed bool, err error) {
	bare := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return unicode.ToLower(r)
		}, text)
	}
	names, used := map[string]string{}, map[string]bool{}
	for _, one := range said {
		names[bare(one.Label)] = one.Name
	}
	after := bracketed.ReplaceAllStringFunc(text, func(found string) string {
		name, ok := names[bare(found[1:len(found)-1])]
		if !ok {
			return found
		}
		used[name] = true
		return "[" + name + "]"
	})
	if after == text {
		return "", false, nil
	}
	var mentioned []string
	for _, name := range inOrder(said) {
		if !used[name] {
			continue
		}
		mentioned = append(mentioned, name)
		if _, err := s.useSpeaker(tx, row.UserID, name); err != nil {
			return "", false, err
		}
	}
	if err := tx.Model(&models.Transcript{}).Where("recording_id = ?", row.ID).UpdateColumn("text", after).Error; err != nil {
		return "", false, fmt.Errorf("write the transcript: %w", err)
	}
	return participantsOf(mentioned), true, nil
}

// participantsOf joins the names of people, as many as there is room for.
func participantsOf(names []string) string {
	var joined strings.Builder
	length := 0
	for _, name := range names {
		if engineLabel.MatchString(name) {
			continue
		}
		if length > 0 {
			name = ", " + name
		}
		if length += utf8.RuneCountInString(name); length > maxParticipants {
			break
		}
		joined.WriteString(name)
	}
	return joined.String()
}

// useSpeaker saves the speaker of a name or counts it up; what is only a label of an engine is nobody.
func (s *Recordings) useSpeaker(tx *gorm.DB, userID int64, name string) (*int64, error) {
	if engineLabel.MatchString(name) {
		return nil, nil //nolint:nilnil // nobody is no failure
	}
	row, found, err := speakerNamed(tx, userID, name)
	if err == nil && !found {
		row, err = s.insertSpeaker(tx, userID, SpeakerChange{Name: &name})
	}
	if err != nil {
		return nil, err
	}
	err = tx.Model(&row).UpdateColumns(map[string]any{"use_count": gorm.Expr("use_count + 1"), "last_used_at": s.moment()}).Error
	if err != nil {
		return nil, fmt.Errorf("count the speaker: %w", err)
	}
	return &row.ID, nil
}
