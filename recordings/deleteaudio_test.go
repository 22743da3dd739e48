package recordings_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// The audio goes and everything else stays; a recording that is still worked on keeps it.
func TestDeleteAudio(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		ctx := context.Background()
		id := r.upload(wav(1, 1), "notes", "n").Recording.ID
		_, err := r.recordings.DeleteAudio(ctx, r.owner, id)
		expect(t, err, problems.Conflict)
		r.start()
		r.await(id, recordings.StatusCompleted)
		_, err = r.recordings.DeleteAudio(ctx, r.principal(r.account("stranger"), "full"), id)
		expect(t, err, problems.NotFound)
		at, err := r.recordings.DeleteAudio(ctx, r.owner, id)
		if err != nil {
			t.Fatal(err)
		}
		row, _ := r.row(id)
		if row.StorageKey != "" || !row.AudioDeletedAt.Equal(at) || *row.Notes != "n" || row.Status != recordings.StatusCompleted {
			t.Errorf("the row is %+v", row)
		}
		_, err = r.recordings.OpenAudio(ctx, r.owner, id)
		expect(t, err, problems.NotFound)
		_, err = r.recordings.Transcribe(ctx, r.owner, r.purse, id, recordings.Hints{})
		expect(t, err, problems.NotFound)
		if transcript, err := r.recordings.Transcript(ctx, r.owner, id); err != nil || transcript.PlainText() == "" {
			t.Errorf("the transcript is %q, %v", transcript.PlainText(), err)
		}
		if told := r.announced(id); len(told) != 1 || fmt.Sprint(told[0]) != "[audio]" {
			t.Errorf("announced %v", told)
		}
		r.until("the media is erased", func() bool { return len(r.stored()) == 0 })
		_, err = r.recordings.DeleteAudio(ctx, r.owner, id)
		expect(t, err, problems.Conflict)
	})
}

// stored are the media in the storage.
func (r *rig) stored() []string {
	r.t.Helper()
	var media []string
	for _, path := range r.left() {
		if rel := path[len(r.folder):]; len(rel) > 7 && rel[:7] == "/files/" {
			media = append(media, path)
		}
	}
	return media
}

// A process that dies before the commit has removed nothing; one that dies after it leaves the erasure to another.
func TestDeleteAudioLosesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		ctx := context.Background()
		id := r.upload(wav(1, 1)).Recording.ID
		r.rest(id, recordings.StatusFailed)
		erasures := func() (count int64) {
			if err := r.db.Read.Table("river_job").Where("kind = ?", "erase_media").Count(&count).Error; err != nil {
				t.Fatal(err)
			}
			return count
		}
		// The event is written last: refusing it is a death at the last instant before the commit.
		deny, allow := "CREATE TRIGGER deny BEFORE INSERT ON outbox_events BEGIN SELECT RAISE(ABORT, 'denied'); END", []string{"DROP TRIGGER deny"}
		if r.db.Dialect == models.Postgres {
			r.execute("CREATE FUNCTION deny() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'denied'; END $$")
			deny = "CREATE TRIGGER deny BEFORE INSERT ON outbox_events FOR EACH ROW EXECUTE FUNCTION deny()"
			allow = []string{"DROP TRIGGER deny ON outbox_events"}
		}
		r.execute(deny)
		if _, err := r.recordings.DeleteAudio(ctx, r.owner, id); err == nil {
			t.Fatal("the removal went through without its event")
		}
		row, _ := r.row(id)
		if row.StorageKey == "" || row.AudioDeletedAt != nil || erasures() != 0 || len(r.stored()) != 1 {
			t.Errorf("a removal that failed left %+v, %d erasures, %d files", row, erasures(), len(r.stored()))
		}
		r.execute(allow...)
		if _, err := r.recordings.DeleteAudio(ctx, r.owner, id); err != nil {
			t.Fatal(err)
		}
		if erasures() != 1 || len(r.stored()) != 1 {
			t.Errorf("no process works, and there are %d erasures and %d files", erasures(), len(r.stored()))
		}
		newRig(t, url, r.folder, nil).start()
		r.until("another process erases the media", func() bool { return len(r.stored()) == 0 })
	})
}

func (r *rig) execute(statements ...string) {
	r.t.Helper()
	for _, statement := range statements {
		if _, err := r.db.JobsSQL().ExecContext(context.Background(), statement); err != nil {
			r.t.Fatal(err)
		}
	}
}

// A transcription is never queued for audio that is gone, whichever comes first.
func TestDeleteAudioAgainstTranscribe(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		ctx := context.Background()
		for round := range 6 {
			id := r.upload(wav(1, round)).Recording.ID
			r.rest(id, recordings.StatusCompleted)
			var racing sync.WaitGroup
			var removed, queued error
			racing.Go(func() { _, removed = r.recordings.DeleteAudio(ctx, r.owner, id) })
			racing.Go(func() { _, queued = r.recordings.Transcribe(ctx, r.owner, r.purse, id, recordings.Hints{}) })
			racing.Wait()
			row, _ := r.row(id)
			if (removed == nil) == (queued == nil) || (row.Status == recordings.StatusQueued) != (row.StorageKey != "") {
				t.Fatalf("removal: %v, transcription: %v, left %s with %q", removed, queued, row.Status, row.StorageKey)
			}
		}
	})
}

// A transcription that is asked for while the removal is about to commit waits for it, and then finds no audio.
func TestTranscribeWaitsForDeleteAudio(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		if r.db.Dialect != models.Postgres {
			return // one writer: there is no between
		}
		id := r.upload(wav(1, 1)).Recording.ID
		r.rest(id, recordings.StatusCompleted)
		queued := make(chan error, 1)
		r.write(func(tx *gorm.DB) error {
			err := tx.Model(&models.Recording{}).Where("id = ?", id).
				UpdateColumns(map[string]any{"storage_key": "", "audio_deleted_at": time.Now()}).Error
			go func() {
				_, err := r.recordings.Transcribe(context.Background(), r.owner, r.purse, id, recordings.Hints{})
				queued <- err
			}()
			r.until("the transcription waits", func() bool {
				var waiting int64
				err := r.db.Read.Raw("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waiting).Error
				return err == nil && waiting > 0
			})
			return err
		})
		expect(t, <-queued, problems.NotFound)
	})
}
