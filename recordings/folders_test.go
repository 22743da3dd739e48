package recordings_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

func filed(folder int64) recordings.Patch { return recordings.Patch{FolderID: becomes(folder)} }

func calledFolder(name string) recordings.FolderEdit {
	return recordings.FolderEdit{Preset: recordings.Preset{Name: becomes(name)}}
}

// A folder starts with the usual color and empty; what a change does not name stays, and null takes away.
func TestFoldersAreKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := listing(t, url, bare(2)...)
		edit := calledFolder(" Talks ")
		edit.Hotwords, edit.InitialPrompt, edit.Model, edit.RetentionDays = becomes(" h "), becomes("i"), becomes("m"), becomes(-1)
		made, err := r.recordings.CreateFolder(ctx, r.owner, edit)
		if err != nil || *made.Name != "Talks" || made.Color != "#10B981" || *made.Hotwords != "h" || *made.InitialPrompt != "i" ||
			*made.Model != "m" || *made.RetentionDays != -1 || !made.ProtectFromDeletion || made.RecordingCount != 0 {
			t.Fatalf("made %+v, %v", made, err)
		}
		r.moves(1, func() error { _, err := r.recordings.Patch(ctx, r.owner, 1, nil, filed(made.ID)); return err }, "folder_id")
		r.makeFolder(r.user, "alpha")
		r.makeFolder(r.account("other"), "foreign")
		folders, err := r.recordings.Folders(ctx, r.owner)
		if err != nil || len(folders) != 2 || *folders[0].Name != "alpha" || folders[1].RecordingCount != 1 {
			t.Errorf("there are %+v, %v", folders, err)
		}
		changed, err := r.recordings.UpdateFolder(ctx, r.owner, made.ID, recordings.FolderEdit{Hotwords: becomes(""), RetentionDays: becomes(0)})
		if err != nil || *changed.Name != "Talks" || changed.Hotwords != nil || *changed.InitialPrompt != "i" ||
			changed.RetentionDays != nil || changed.ProtectFromDeletion || changed.RecordingCount != 1 {
			t.Errorf("changed to %+v, %v", changed, err)
		}
		if shown, err := r.recordings.Folder(ctx, r.owner, made.ID); err != nil || *shown.Name != "Talks" || shown.RecordingCount != 1 {
			t.Errorf("shown is %+v, %v", shown, err)
		}
		blind, err := r.recordings.UpdateFolder(ctx, r.principal(r.user, "write"), made.ID, recordings.FolderEdit{RetentionDays: becomes(30)})
		if err != nil || blind.Name != nil || blind.InitialPrompt != nil || *blind.RetentionDays != 30 {
			t.Errorf("a token that may not read was told %+v, %v", blind, err)
		}
	})
}

// A name is an account's once; another account's folder is not there, by whichever route it is asked for.
func TestFoldersAreTheirAccounts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		foreign := r.makeFolder(r.account("other"), "a")
		id := r.makeFolder(r.user, "a")
		second := r.makeFolder(r.user, "b")
		_, err := r.recordings.CreateFolder(ctx, r.owner, calledFolder("a "))
		expect(t, err, problems.InvalidParameter)
		_, err = r.recordings.UpdateFolder(ctx, r.owner, second, calledFolder("a"))
		expect(t, err, problems.Conflict)
		if _, err := r.recordings.UpdateFolder(ctx, r.owner, id, calledFolder("a")); err != nil {
			t.Errorf("a folder may keep its name: %v", err)
		}
		_, err = r.recordings.Folder(ctx, r.owner, 1<<40)
		unknown := expect(t, err, problems.NotFound).Message
		_, shown := r.recordings.Folder(ctx, r.owner, foreign)
		_, changed := r.recordings.UpdateFolder(ctx, r.owner, foreign, calledFolder("mine"))
		for _, err := range []error{shown, changed, r.recordings.DeleteFolder(ctx, r.owner, foreign)} {
			if told := expect(t, err, problems.NotFound).Message; told != unknown {
				t.Errorf("another's folder is told apart from none: %q", told)
			}
		}
	})
}

// What is outside its bounds is refused by a message that names it; the rest is as with tags.
func TestFoldersHaveBounds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, sqliteURL(t), "", nil)
	long := strings.Repeat("x", 10_001)
	for field, edit := range map[string]recordings.FolderEdit{
		"color":                       {Preset: recordings.Preset{Color: becomes("red")}},
		"default_hotwords":            {Hotwords: becomes(long)},
		"default_initial_prompt":      {InitialPrompt: becomes(long)},
		"default_transcription_model": {Model: becomes(long[:121])},
		"retention_days":              {RetentionDays: becomes(-2)},
		"retention_days ":             {RetentionDays: becomes(36_501)},
	} {
		edit.Name = becomes("new")
		_, err := r.recordings.CreateFolder(ctx, r.owner, edit)
		if problem := expect(t, err, problems.InvalidParameter); !strings.Contains(problem.Message, strings.TrimSpace(field)) {
			t.Errorf("a bad %s says %q", field, problem.Message)
		}
	}
	edit := calledFolder("new")
	edit.NamingTemplateID = becomes(int64(3))
	_, err := r.recordings.CreateFolder(ctx, r.owner, edit)
	expect(t, err, problems.NotFound)
}

// Of several that make a folder of one name at once, one does; the bound of an account holds too.
func TestRacingFolders(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		rows := make([]models.Folder, 999)
		for i := range rows {
			rows[i] = models.Folder{UserID: r.user.ID, Name: strings.Repeat("x", i%40+1) + string(rune('a'+i/40)), Color: "#000000", CreatedAt: day(1)}
		}
		r.write(func(tx *gorm.DB) error { return tx.CreateInBatches(rows, 300).Error })
		var made atomic.Int64
		allAtOnce(8, func(int) {
			_, err := r.recordings.CreateFolder(context.Background(), r.owner, calledFolder("one"))
			switch {
			case err == nil:
				made.Add(1)
			case !problems.Is(err, problems.Conflict): // the thousandth was made, so that there is no room either
				t.Errorf("a loser got %v", err)
			}
		})
		if made.Load() != 1 {
			t.Errorf("%d folders were made where one had room", made.Load())
		}
	})
}
