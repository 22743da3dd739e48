package recordings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"syscall"
	"time"

	"gocloud.dev/gcerrors"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/speech"
	"github.com/stenometer/stenometer/webhooks"
)

const (
	// persistEvery is the pause between two attempts to store what was made while the database is away.
	persistEvery = time.Second
	// maxEventError bounds what an event tells of a failure, in characters.
	maxEventError = 500
)

// result is what an attempt brought.
type result struct {
	transcript speech.Transcript
	length     time.Duration
	took       time.Duration
}

// transcribe fetches the audio, measures the whole of it by decoding, and only then calls the engine.
func (s *Recordings) transcribe(ctx context.Context, purse budgets.Purse, row *models.Recording, token string) (result, error) {
	path, forget, err := s.fetch(ctx, row.StorageKey)
	if err != nil {
		return result{}, err
	}
	defer forget()
	// What could be decoded at the upload can be decoded now: a probe that fails was short of time.
	info, err := s.Media.Probe(ctx, path)
	if err != nil {
		return result{}, fmt.Errorf("look into the audio: %w", err)
	}
	length, err := s.Media.Duration(ctx, path)
	if errors.Is(err, media.ErrNotMedia) || errors.Is(err, media.ErrTooLong) {
		return result{}, hopeless{err}
	}
	if err != nil {
		return result{}, err
	}
	seconds := length.Seconds()
	row.AudioDuration = &seconds
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		return tx.Model(&models.Recording{}).Where("id = ? AND work_token = ?", row.ID, token).
			UpdateColumn("audio_duration", seconds).Error
	})
	if err != nil {
		return result{}, s.later(ctx, "note the length", err)
	}
	hinted, err := s.hinted(ctx, *row)
	if err != nil {
		return result{}, err
	}
	began := s.Now()
	transcript, err := s.Transcriber.Transcribe(ctx, purse, speech.Audio{Path: path, Info: info, Length: length}, requestOf(hinted))
	if err != nil {
		return result{}, err
	}
	return result{transcript: transcript, length: length, took: s.Now().Sub(began)}, nil
}

// fetch gives a path at which the file of a key can be read on this machine, and what to call when it is not
// needed any more.
func (s *Recordings) fetch(ctx context.Context, key string) (path string, forget func(), err error) {
	if s.LocalPath != nil {
		path = s.LocalPath(key)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return "", nil, hopeless{errAudioGone}
		}
		return path, func() {}, nil
	}
	reader, err := s.Files.NewReader(ctx, key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return "", nil, hopeless{errAudioGone}
	}
	if err != nil {
		return "", nil, fmt.Errorf("open the audio: %w", err)
	}
	defer closing(reader)
	if free, err := s.Free(); err != nil || free-reader.Size() < s.ReserveBytes {
		return "", nil, fmt.Errorf("fetch the audio: %w", errors.Join(err, syscall.ENOSPC))
	}
	temp, err := os.CreateTemp(s.TempDir, "work-*")
	if err != nil {
		return "", nil, fmt.Errorf("make a temporary file: %w", err)
	}
	forget = func() { _ = os.Remove(temp.Name()) } // the sweeper has what stays
	_, err = io.Copy(temp, reader)
	if err = errors.Join(err, temp.Close()); err != nil {
		forget()
		return "", nil, fmt.Errorf("fetch the audio: %w", err)
	}
	return temp.Name(), forget, nil
}

// finish stores the transcript in one transaction with what comes next, the summary or the end, if the work still is
// this worker's. It goes through with it when the job is being stopped, and for a minute when the database is away: the
// words are there and may have been paid for.
func (s *Recordings) finish(
	ctx context.Context, row models.Recording, by asker, token string, began time.Time, done result,
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	now := s.moment()
	err := s.persist(ctx, func(tx *gorm.DB) error {
		title, moved, ok, err := s.moved(tx, row.ID)
		if err != nil {
			return err
		}
		if !ok {
			return errNotWanted
		}
		columns, err := s.afterTranscript(ctx, tx, row, by, done)
		if err != nil {
			return err
		}
		maps.Copy(columns, map[string]any{
			"updated_at": moved, "error_message": nil, "error_code": nil,
			"processing_seconds":             max(0, now.Sub(began).Seconds()),
			"transcription_duration_seconds": int64(math.Round(done.took.Seconds())),
		})
		if err := s.end(tx, row.ID, token, StatusProcessing, columns); err != nil {
			return err
		}
		if err := storeTranscript(tx, row.ID, now, done); err != nil {
			return err
		}
		row.Title, row.UpdatedAt = title, moved
		if _, err := s.syncGroupShares(tx, &row, true); err != nil {
			return err
		}
		return s.announce(tx, webhooks.TranscriptionCompleted, row, map[string]any{
			"language":                       optional(done.transcript.Language),
			"audio_duration_seconds":         done.length.Seconds(),
			"transcription_duration_seconds": int64(math.Round(done.took.Seconds())),
		})
	})
	if err != nil && !errors.Is(err, errNotWanted) {
		return fmt.Errorf("store the transcript of recording %d: %w", row.ID, err)
	}
	if err == nil && s.Transcribed != nil {
		s.Transcribed(done.transcript.Engine, done.length)
	}
	return err
}

// persist makes the change, again and again while the database is busy or away and ctx lasts: an engine that has
// answered is not asked, and paid, again because a database restarts.
func (s *Recordings) persist(ctx context.Context, change func(tx *gorm.DB) error) error {
	for {
		err := s.db.Transaction(ctx, change)
		if !models.IsBusy(err) {
			return err
		}
		s.Logger.WarnContext(ctx, "the database is away; what was made waits to be stored", "error", err.Error())
		select {
		case <-ctx.Done():
			return err
		case <-time.After(persistEvery):
		}
	}
}

// end moves the recording out of the state in which it was worked on, if it is there and this worker's; errNotWanted if
// it is not. The columns say where to, and what job it has then.
func (s *Recordings) end(tx *gorm.DB, id int64, token, from string, columns map[string]any) error {
	columns["work_token"] = ""
	ended := tx.Model(&models.Recording{}).
		Where("id = ? AND work_token = ? AND status = ?", id, token, from).UpdateColumns(columns)
	if ended.Error != nil {
		return ended.Error
	}
	if ended.RowsAffected == 0 {
		return errNotWanted
	}
	return nil
}

// storeTranscript replaces the recording's transcript.
func storeTranscript(tx *gorm.DB, id int64, now time.Time, done result) error {
	if err := tx.Where("recording_id = ?", id).Delete(&models.Transcript{}).Error; err != nil {
		return fmt.Errorf("remove the old transcript: %w", err)
	}
	gaps, err := json.Marshal(gapsOf(done.transcript))
	if err != nil {
		return fmt.Errorf("encode the gaps: %w", err)
	}
	row := models.Transcript{
		RecordingID: id, Kind: done.transcript.Kind, Gaps: string(gaps),
		Language: optional(done.transcript.Language), Engine: done.transcript.Engine, Model: optional(done.transcript.Model),
		CreatedAt: now,
	}
	if row.Kind == Plain {
		row.Text = done.transcript.Text
	}
	if err := tx.Create(&row).Error; err != nil {
		return fmt.Errorf("insert the transcript: %w", err)
	}
	segments := segmentRows(id, done.transcript.Segments)
	if len(segments) == 0 {
		return nil
	}
	if err := tx.CreateInBatches(segments, 500).Error; err != nil {
		return fmt.Errorf("insert the segments: %w", err)
	}
	return nil
}

// failure is what a recording fails with.
type failure struct {
	event         webhooks.Type
	code, message string // in our words
	cause         error  // for the log
}

// fail ends the work that the job was for, if the recording still waits for it: the reason is told in our words, the
// audio stays, and so does a transcript.
func (s *Recordings) fail(ctx context.Context, id, jobID int64, f failure) error {
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var rows []models.Recording
		err := locking(tx).Where("id = ? AND job_id = ? AND status IN ?", id, jobID, unfinished()).Limit(1).Find(&rows).Error
		if err != nil || len(rows) == 0 {
			return err
		}
		moved := later(rows[0].UpdatedAt, s.moment())
		failed := tx.Model(&rows[0]).Where("job_id = ?", jobID).UpdateColumns(map[string]any{
			"status": StatusFailed, "error_code": f.code, "error_message": f.message, "updated_at": moved,
			"work_token": "", "job_id": 0,
		})
		if failed.Error != nil || failed.RowsAffected == 0 {
			return failed.Error
		}
		rows[0].UpdatedAt = moved
		return s.announce(tx, f.event, rows[0], map[string]any{"error": cutTo(f.message, maxEventError)})
	})
	if err != nil {
		return fmt.Errorf("fail recording %d: %w", id, err)
	}
	s.Logger.ErrorContext(ctx, "a recording failed", "recording", id, "event", f.event, "code", f.code, "error", f.cause.Error())
	return nil
}
