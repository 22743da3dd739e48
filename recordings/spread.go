package recordings

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
)

// What changes of a speaker reaches recordings in portions: somebody who speaks in a hundred thousand must not hold
// the database, or a request, for as long as that takes.
const (
	// spreadPortion is how many recordings one transaction changes.
	spreadPortion = 50
	// spreadJob is how many portions one job works before another goes on.
	spreadJob = 20
)

// spread tells the speaker's recordings what has become of it, the first portion in this transaction, the others by
// a job. Who reads a transcript meanwhile sees the present name all the same. The account is locked.
func (s *Recordings) spread(ctx context.Context, tx *gorm.DB, speaker models.Speaker) error {
	last, more, err := s.spreadOn(tx, speaker, 0)
	if err != nil || !more {
		return err
	}
	return s.spreadLater(ctx, tx, speaker.ID, last)
}

func (s *Recordings) spreadLater(ctx context.Context, tx *gorm.DB, speakerID, after int64) error {
	if _, err := s.Queue.Enqueue(ctx, tx, SpreadSpeakerArgs{SpeakerID: speakerID, After: after}, nil); err != nil {
		return fmt.Errorf("enqueue the other recordings of the speaker: %w", err)
	}
	return nil
}

// spreadOn writes the speaker's name into one portion of its recordings, those beyond an id, and detaches them when
// the speaker was deleted; with the last of them the speaker is gone. What is as it should be is left alone, so that
// a portion may be worked twice.
func (s *Recordings) spreadOn(tx *gorm.DB, speaker models.Speaker, after int64) (last int64, more bool, err error) {
	ids, err := recordingsOf(tx, speaker.ID, after, spreadPortion+1)
	if err != nil {
		return 0, false, err
	}
	if more = len(ids) > spreadPortion; more {
		ids = ids[:spreadPortion]
	}
	var rows []models.Recording
	if err := locking(tx).Where("id IN ?", ids).Order("id").Find(&rows).Error; err != nil {
		return 0, false, fmt.Errorf("lock the recordings of the speaker: %w", err)
	}
	for i := range rows {
		last = rows[i].ID
		segments := tx.Model(&models.TranscriptSegment{}).Where("recording_id = ? AND speaker_id = ?", last, speaker.ID)
		columns := map[string]any{"speaker": speaker.Name}
		if speaker.DeletedAt != nil {
			columns["speaker_id"] = nil
		} else {
			segments = segments.Where("speaker IS NULL OR speaker <> ?", speaker.Name)
		}
		written := segments.UpdateColumns(columns)
		if written.Error != nil {
			return 0, false, fmt.Errorf("write the speaker's name: %w", written.Error)
		}
		if written.RowsAffected == 0 {
			continue
		}
		if err := s.changed(tx, &rows[i], FieldSpeakers); err != nil {
			return 0, false, err
		}
	}
	if speaker.DeletedAt != nil && !more {
		if err := tx.Where("id = ?", speaker.ID).Delete(&models.Speaker{}).Error; err != nil {
			return 0, false, fmt.Errorf("delete the speaker: %w", err)
		}
	}
	return last, more, nil
}

// recordingsOf finds the next recordings that a speaker is in by one step through the index for each, rather than
// by reading every segment.
func recordingsOf(tx *gorm.DB, speakerID, after int64, most int) ([]int64, error) {
	const next = "SELECT min(recording_id) FROM transcript_segments WHERE speaker_id = ? AND recording_id > "
	var ids []int64
	err := tx.Raw("WITH RECURSIVE found (id) AS ("+next+"? UNION ALL "+
		"SELECT ("+next+"found.id) FROM found WHERE found.id IS NOT NULL) "+
		"SELECT id FROM found WHERE id IS NOT NULL LIMIT ?", speakerID, after, speakerID, most).Scan(&ids).Error
	if err != nil {
		return nil, fmt.Errorf("find the recordings of the speaker: %w", err)
	}
	return ids, nil
}

// SpreadSpeakerArgs asks for the recordings of a speaker beyond an id to be told what has become of it.
type SpreadSpeakerArgs struct {
	SpeakerID int64 `json:"speaker_id"`
	After     int64 `json:"after"`
}

// Kind names the job.
func (SpreadSpeakerArgs) Kind() string { return "spread_speaker" }

// InsertOpts keeps the job until it has succeeded: at an hour a time, for months.
func (SpreadSpeakerArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: jobs.Chores, MaxAttempts: 2500}
}

// Spreader works what is left of changes to speakers.
type Spreader struct {
	river.WorkerDefaults[SpreadSpeakerArgs]
	service *Recordings
}

// Work changes a number of portions, each in a transaction of its own, and leaves the rest to another job.
func (w *Spreader) Work(ctx context.Context, job *river.Job[SpreadSpeakerArgs]) error {
	after, more := job.Args.After, true
	for portion := 1; more && portion <= spreadJob; portion++ {
		err := w.service.db.Transaction(ctx, func(tx *gorm.DB) (err error) {
			after, more, err = w.service.spreadNext(tx, job.Args.SpeakerID, after)
			if err != nil || !more || portion < spreadJob {
				return err
			}
			return w.service.spreadLater(ctx, tx, job.Args.SpeakerID, after)
		})
		if err != nil {
			return fmt.Errorf("tell the recordings of speaker %d: %w", job.Args.SpeakerID, err)
		}
	}
	return nil
}

// spreadNext takes the speaker as it is now: it may have been renamed again, or be gone.
func (s *Recordings) spreadNext(tx *gorm.DB, speakerID, after int64) (last int64, more bool, err error) {
	find := func() (rows []models.Speaker, err error) {
		err = tx.Where("id = ?", speakerID).Limit(1).Find(&rows).Error
		return rows, err
	}
	rows, err := find()
	if err != nil || len(rows) == 0 {
		return 0, false, err
	}
	if err := lockAccount(tx, rows[0].UserID); err != nil {
		return 0, false, err
	}
	if rows, err = find(); err != nil || len(rows) == 0 {
		return 0, false, err
	}
	return s.spreadOn(tx, rows[0], after)
}

// Timeout bounds one attempt.
func (*Spreader) Timeout(*river.Job[SpreadSpeakerArgs]) time.Duration { return 10 * time.Minute }

// NextRetry waits from 5 seconds to an hour, doubling.
func (w *Spreader) NextRetry(job *river.Job[SpreadSpeakerArgs]) time.Time {
	return w.service.Now().Add(choreWait(len(job.Errors)))
}
