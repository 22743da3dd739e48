package recordings

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/models"
)

// What search reads of a recording is a folded copy of its texts, in parts. Triggers mark every recording whose texts
// change, in the transaction that changes them; an indexer that runs beside the requests brings the copy up. Until it
// has, search reads the texts themselves, so that nothing is missed for a moment and no request waits for an index.
const (
	// partBytes is about how long a part is: the database looks through one whole when it has a hit.
	partBytes = 16 << 10
	// indexEvery is the pause between two looks for marks, indexMost how many recordings one transaction brings up at
	// most, indexBytes after how much text it ends earlier: others wait for it.
	indexEvery = 2 * time.Second
	indexMost  = 16
	indexBytes = 512 << 10
)

// fieldSpeaker is beside FieldTranscript and has a line for each of its lines: who speaks there.
const fieldSpeaker Field = "speaker"

// folding gathers the parts of a recording's texts.
type folding struct {
	of    models.SearchText // whose texts they are
	parts []models.SearchText
	lines []string // of the part at hand
	bytes int
}

// add appends a unit of a field. Units of a field come in order; where one is left out, another part begins.
func (f *folding) add(field Field, unit int, text string) {
	if f.of.Field != string(field) || f.of.First+len(f.lines) != unit || f.bytes >= partBytes {
		f.end()
		f.of.Field, f.of.First = string(field), unit
	}
	line := fold(text)
	f.lines, f.bytes = append(f.lines, line), f.bytes+len(line)+1
}

// end closes the part at hand; one without letters is not kept.
func (f *folding) end() {
	if folded := strings.Join(f.lines, "\n"); strings.Trim(folded, " \n") != "" {
		part := f.of
		part.Folded = folded
		f.parts = append(f.parts, part)
	}
	f.lines, f.bytes = nil, 0
}

// foldedTexts makes the parts of a recording from its texts as they stand; none when it is gone.
func foldedTexts(db *gorm.DB, id int64) ([]models.SearchText, error) {
	var rows []models.Recording
	err := db.Select("id", "user_id", "title", "participants", "notes", "summary").Where("id = ?", id).Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	f := folding{of: models.SearchText{RecordingID: id, UserID: rows[0].UserID}}
	f.add(FieldTitle, 0, given(rows[0].Title))
	f.add(FieldParticipants, 0, given(rows[0].Participants))
	f.addLines(FieldNotes, given(rows[0].Notes))
	f.addLines(FieldSummary, given(rows[0].Summary))
	var transcripts []models.Transcript
	if err := db.Select("recording_id", "kind", "text").Where("recording_id = ?", id).Limit(1).Find(&transcripts).Error; err != nil {
		return nil, err
	}
	if len(transcripts) == 1 && transcripts[0].Kind == Plain {
		f.addLines(FieldTranscript, transcripts[0].Text)
	}
	if len(transcripts) == 1 && transcripts[0].Kind == Segmented {
		var segments []models.TranscriptSegment
		err := db.Select("position", "speaker", "text").Where("recording_id = ?", id).Order("position").Find(&segments).Error
		if err != nil {
			return nil, err
		}
		for _, segment := range segments {
			f.add(FieldTranscript, segment.Position, segment.Text)
		}
		for _, segment := range segments {
			f.add(fieldSpeaker, segment.Position, strings.TrimSpace(given(segment.Speaker)))
		}
	}
	f.end()
	return f.parts, nil
}

func (f *folding) addLines(field Field, text string) {
	for i, line := range strings.Split(text, "\n") {
		f.add(field, i, line)
	}
}

// Index brings up what search reads of some recordings that are behind and gives their number, 0 when none was. A
// recording that another process is at is left to it.
func (s *Recordings) Index(ctx context.Context) (done int, err error) {
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var marks []models.SearchMark
		// The lock makes whoever changes one of the texts now wait, and mark it again: it is the only lock taken here,
		// so that nobody waits for us who has what we wait for.
		err := tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked}).
			Order("recording_id DESC").Limit(indexMost).Find(&marks).Error
		if err != nil {
			return fmt.Errorf("find recordings to index: %w", err)
		}
		written := 0
		for _, mark := range marks {
			bytes, err := index(tx, mark.RecordingID)
			if err != nil {
				return fmt.Errorf("index recording %d: %w", mark.RecordingID, err)
			}
			if done++; written+bytes > indexBytes {
				break
			}
			written += bytes
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return done, nil
}

// index brings up one recording, writes only the parts that differ, and takes its mark away. bytes is how much it wrote.
func index(tx *gorm.DB, id int64) (bytes int, err error) {
	parts, err := foldedTexts(tx, id)
	if err != nil {
		return 0, err
	}
	var kept []models.SearchText
	if err := tx.Where("recording_id = ?", id).Find(&kept).Error; err != nil {
		return 0, err
	}
	type start struct {
		field string
		first int
	}
	wanted := make(map[start]models.SearchText, len(parts))
	for _, part := range parts {
		wanted[start{part.Field, part.First}] = part
	}
	for _, old := range kept {
		at := start{old.Field, old.First}
		if part, ok := wanted[at]; ok && part.Folded == old.Folded && part.UserID == old.UserID {
			delete(wanted, at)
		} else if err := tx.Where("id = ?", old.ID).Delete(&models.SearchText{}).Error; err != nil {
			return 0, err
		}
	}
	for _, part := range parts {
		if part, ok := wanted[start{part.Field, part.First}]; ok {
			if err := tx.Create(&part).Error; err != nil {
				return 0, err
			}
			bytes += len(part.Folded)
		}
	}
	return bytes, tx.Where("recording_id = ?", id).Delete(&models.SearchMark{}).Error
}

// keepIndexed indexes what is behind until ctx is over.
func (s *Recordings) keepIndexed(ctx context.Context) {
	ticker := time.NewTicker(indexEvery)
	defer ticker.Stop()
	for {
		done, err := s.Index(ctx)
		if err != nil && ctx.Err() == nil {
			s.Logger.WarnContext(ctx, "recordings could not be indexed for search; it is tried again", "error", err.Error())
		}
		if done > 0 && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
