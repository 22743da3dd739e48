package recordings_test

import (
	"context"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/speech"
)

// A database without room is a full disk, told as such, and nothing of what was asked for stays.
func TestAFullDatabase(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	kept := r.upload(wav(2, 1)).Recording.ID
	files := len(r.left())
	err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
		return tx.Exec("PRAGMA max_page_count = 1").Error // no lower than the pages in use
	})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Repeat("no room for this. ", 6000)
	_, err = r.send(r.owner, "b.wav", wav(2, 2), "notes", notes)
	expect(t, err, problems.StorageFull)
	if got := len(r.left()); got != files || r.recordingCount() != 1 {
		t.Errorf("%d files and %d recordings, want %d and 1", got, r.recordingCount(), files)
	}
	if _, ok := r.row(kept); !ok {
		t.Error("the earlier recording is gone")
	}
}

// An engine that has answered is not asked again because the database went away in that moment. The trigger fails
// the first time as a server does that shuts down; a sequence is not rolled back.
func TestATranscriptIsStoredWhenTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		if r.db.Dialect != models.Postgres {
			return // a file of this machine does not restart
		}
		for _, statement := range []string{
			"CREATE SEQUENCE tries",
			`CREATE FUNCTION away() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF nextval('tries') = 1 THEN RAISE EXCEPTION USING ERRCODE = '57P01'; END IF; RETURN NEW; END $$`,
			"CREATE TRIGGER away BEFORE INSERT ON transcripts FOR EACH ROW EXECUTE FUNCTION away()",
		} {
			if _, err := r.db.JobsSQL().ExecContext(context.Background(), statement); err != nil {
				t.Fatal(err)
			}
		}
		r.start()
		r.engine.script(func(context.Context, int, speech.Audio, speech.Request) (speech.Answer, error) {
			return says("hello"), nil
		})
		id := r.upload(wav(2, 1)).Recording.ID
		r.await(id, recordings.StatusCompleted)
		if called := r.engine.called(); called != 1 {
			t.Errorf("the engine was asked %d times", called)
		}
		if events := r.events(id); events["recording.transcription.completed"] != 1 {
			t.Errorf("events are %v", events)
		}
	})
}
