package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// What an account of the lists has besides its recordings, and how many of these are unlike the others.
const (
	libraryTags    = 20
	libraryFolders = 10
	libraryYears   = 3
	// longEvery is how many recordings there are for each with a transcript of longSegments.
	longEvery    = 500
	longSegments = 200
	// rareMatches recordings have rareWord, in an account of any size.
	rareMatches = 10
	// batch recordings are written in one transaction, batchRows rows in one statement.
	batch     = 2000
	batchRows = 500
	// indexSample recordings are indexed by the product to see that it does the same.
	indexSample = 200
)

// The words that are searched for, all of them in transcripts but titleWord.
const (
	commonWord = "meeting"   // in every one
	rareWord   = "zephyr"    // in rareMatches
	seldomWord = "quarterly" // in every 7th, and otherWord in every 10th
	otherWord  = "budget"
	shortWord  = "qx" // in every 30th, too short for the index
	titleWord  = "harbor"
	noWord     = "xylophone"
)

// stock gives the account its tags, folders and recordings: uploads spread evenly over the years before now, as rows,
// since an upload each would take an hour.
func stock(ctx context.Context, db *models.DB, user models.User, rows int, now time.Time) error {
	err := db.Transaction(ctx, func(tx *gorm.DB) error {
		tags, folders := make([]models.Tag, libraryTags), make([]models.Folder, libraryFolders)
		for i := range tags {
			tags[i] = models.Tag{UserID: user.ID, Name: fmt.Sprint("tag ", i), Color: "#10B981", CreatedAt: now}
		}
		for i := range folders {
			folders[i] = models.Folder{UserID: user.ID, Name: fmt.Sprint("folder ", i), Color: "#10B981", CreatedAt: now}
		}
		if err := tx.Create(&tags).Error; err != nil {
			return err
		}
		return tx.Create(&folders).Error
	})
	for from := 0; err == nil && from < rows; from += batch {
		s := shelf{user: user, rows: rows, now: now}
		for i := range min(batch, rows-from) {
			s.add(from + i)
		}
		err = db.Transaction(ctx, s.write)
	}
	if err != nil {
		return fmt.Errorf("writing %d recordings: %w", rows, err)
	}
	return nil
}

// shelf is a batch of recordings with what belongs to them. The database is new, so that ids count from 1.
type shelf struct {
	user        models.User
	rows        int
	now         time.Time
	recordings  []models.Recording
	transcripts []models.Transcript
	segments    []models.TranscriptSegment
	tags        []models.RecordingTag
	texts       []models.SearchText
}

func (s *shelf) add(i int) {
	id := int64(i + 1)
	at := s.now.Add(-time.Duration(s.rows-i) * (libraryYears * 365 * 24 * time.Hour / time.Duration(s.rows))).Truncate(time.Microsecond)
	title, participants := fmt.Sprintf("%s talk number %d", []string{"Morning", "Evening", "Weekly", "Sudden", "Yearly"}[i%5], id), "Ann, Bo, Cleo"
	if i%50 == 0 {
		title += " at the " + titleWord
	}
	row := models.Recording{
		OrganizationID: s.user.OrganizationID, UserID: s.user.ID, Title: &title, Participants: &participants,
		Status: recordings.StatusCompleted, FileSize: 1 << 20, SHA256: fmt.Sprintf("%064x", id), MeetingDate: &at,
		IsInbox: i%2 == 0, IsHighlighted: i%100 == 0, CompletedAt: &at, CreatedAt: at, UpdatedAt: at,
	}
	if i%50 == 7 {
		row.Status, row.CompletedAt = recordings.StatusFailed, nil
	}
	if i%2 == 1 {
		folder := int64(1 + i/2%libraryFolders)
		row.FolderID = &folder
	}
	s.recordings = append(s.recordings, row)
	s.tags = append(s.tags, models.RecordingTag{RecordingID: id, TagID: int64(1 + i%libraryTags)})
	s.transcripts = append(s.transcripts, models.Transcript{RecordingID: id, Kind: recordings.Segmented, Engine: "bench", Gaps: "[]", CreatedAt: at})
	segments := 1
	if i%longEvery == 0 {
		segments = longSegments
	}
	var said, speakers []string
	for position := range segments {
		start, speaker := float64(position), []string{"Ann", "Bo", "Cleo"}[position%3]
		end := start + 1
		said, speakers = append(said, s.said(i, position)), append(speakers, speaker)
		s.segments = append(s.segments, models.TranscriptSegment{
			RecordingID: id, Position: position, StartSeconds: &start, EndSeconds: &end, Speaker: &speaker, Text: said[position],
		})
	}
	s.fold(id, recordings.FieldTitle, title)
	s.fold(id, recordings.FieldParticipants, participants)
	s.fold(id, recordings.FieldTranscript, said...)
	s.fold(id, "speaker", speakers...)
}

// fold writes what search reads of a field. The product's indexer would take minutes; what it makes of the newest
// recordings is compared with this (indexedAlike).
func (s *shelf) fold(id int64, field recordings.Field, units ...string) {
	s.texts = append(s.texts, models.SearchText{
		RecordingID: id, UserID: s.user.ID, Field: string(field), Folded: strings.ToLower(strings.Join(units, "\n")),
	})
}

// said is what a segment says; the words that are searched for are in the first one.
func (s *shelf) said(i, position int) string {
	words := []string{"we spoke about point", fmt.Sprint(i*31 + position), "of the plan"}
	if position == 0 {
		words = append(words, "in this", commonWord)
		for _, some := range []struct {
			word  string
			every int
		}{{seldomWord, 7}, {otherWord, 10}, {shortWord, 30}, {rareWord, s.rows / rareMatches}} {
			if i%some.every == 0 {
				words = append(words, some.word)
			}
		}
	}
	return strings.Join(words, " ")
}

func (s *shelf) write(tx *gorm.DB) error {
	for _, rows := range []any{&s.recordings, &s.transcripts, &s.segments, &s.tags, &s.texts} {
		if err := tx.CreateInBatches(rows, batchRows).Error; err != nil {
			return err
		}
	}
	if first := s.recordings[0].ID; first != s.tags[0].RecordingID {
		return fmt.Errorf("the recording is %d where %d was expected", first, s.tags[0].RecordingID)
	}
	return tx.Where("true").Delete(&models.SearchMark{}).Error
}

// indexedAlike has the product index some recordings again, and fails when that changes what was written for it.
func indexedAlike(ctx context.Context, db *models.DB, user models.User, rows int) error {
	texts := func() (id int64, err error) {
		err = db.Read.WithContext(ctx).Model(&models.SearchText{}).Select("SUM(id % 1000003)").Scan(&id).Error
		return id, err
	}
	before, err := texts()
	if err != nil {
		return fmt.Errorf("reading what is indexed: %w", err)
	}
	err = db.Transaction(ctx, func(tx *gorm.DB) error {
		for i := 1; i <= rows; i += rows / indexSample {
			// 1, 501, … have the long transcripts.
			if err := tx.Create(&models.SearchMark{RecordingID: int64(i), UserID: user.ID}).Error; err != nil {
				return err
			}
		}
		return nil
	})
	r := recordings.New(db, recordings.Options{Now: time.Now, Logger: slog.Default()})
	for done := 1; err == nil && done > 0; {
		done, err = r.Index(ctx)
	}
	if err != nil {
		return fmt.Errorf("indexing recordings: %w", err)
	}
	after, err := texts()
	if err == nil && before != after {
		err = errors.New("the product indexes recordings otherwise than the bench")
	}
	return err
}
