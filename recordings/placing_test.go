package recordings_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// An upload is put where it asks to be: tags in their order and the folder come into being with it, what the account
// has not is told, and another's is what the account has not.
func TestUploadsArePlaced(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		other := r.account("other")
		tags, foreign := r.makeTags(r.user, 3), r.makeTags(other, 1)[0]
		folder, foreignFolder := r.makeFolder(r.user, "talks"), r.makeFolder(other, "talks")
		text := func(id int64) string { return fmt.Sprint(id) }
		accepted := r.upload(wav(1, 1), "tag_ids[0]", text(tags[2]), "tag_ids[1]", text(foreign), "tag_ids[2]", " "+text(tags[0]),
			"tag_ids[3]", text(tags[2]), "tag_ids[4]", "x", "tag_ids[6]", text(tags[1]), "tag_id", text(tags[1]), "folder_id", text(folder))
		if on := r.tagsOn(accepted.Recording.ID); !slices.Equal(on, []int64{tags[2], tags[0]}) {
			t.Errorf("the tags are %v", on)
		}
		if len(accepted.Tags) != 2 || accepted.Tags[0].ID != tags[2] || *accepted.Folder.Name != "talks" || accepted.Folder.RecordingCount != 1 {
			t.Errorf("the answer shows %+v and %+v", accepted.Tags, accepted.Folder)
		}
		want := recordings.Ignored{TagIDs: []any{foreign, "x", tags[1]}}
		if !reflect.DeepEqual(accepted.Ignored, want) {
			t.Errorf("ignored is %v, want %v: what stands after a gap too", accepted.Ignored, want)
		}
		row, _ := r.row(accepted.Recording.ID)
		if row.FolderID == nil || *row.FolderID != folder || len(r.announced(row.ID)) != 0 {
			t.Errorf("the folder is %v, and of changes were told %v", row.FolderID, r.announced(row.ID))
		}
		single := r.upload(wav(1, 2), "tag_ids[0]", "77", "tag_id", text(tags[1]), "folder_id", text(foreignFolder))
		want = recordings.Ignored{TagIDs: []any{int64(77)}, FolderID: foreignFolder}
		if on := r.tagsOn(single.Recording.ID); !slices.Equal(on, tags[1:2]) || !reflect.DeepEqual(single.Ignored, want) || single.Folder != nil {
			t.Errorf("where no tag of the list is to be had the tags are %v and ignored is %v", on, single.Ignored)
		}
		blind, err := r.send(r.principal(r.user, "upload"), "a.wav", wav(1, 3), "tag_id", text(tags[0]), "folder_id", text(folder))
		if err != nil || len(blind.Tags) != 0 || blind.Folder != nil || len(blind.Ignored.TagIDs) != 0 || len(r.tagsOn(blind.Recording.ID)) != 1 {
			t.Errorf("a token that may not read was told %+v, %v", blind, err)
		}
	})
}

// A strict upload is put where it asks to be, or refused before its file was taken.
func TestStrictUploads(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		tag, foreign := r.makeTags(r.user, 1)[0], r.makeTags(r.account("other"), 1)[0]
		r.upload(wav(1, 1), "strict", "True", "tag_ids[0]", fmt.Sprint(tag))
		r.upload(wav(1, 2), "strict", "true")
		left := len(r.left())
		for field, id := range map[string]string{"tag_ids[0]": fmt.Sprint(foreign), "tag_id": "77", "folder_id": "none"} {
			_, err := r.send(r.owner, "a.txt", []byte("no media, which would be told later"), "strict", "TRUE", field, id)
			problem := expect(t, err, problems.InvalidParameter)
			if ignored, ok := problem.Fields["ignored"].(map[string]any); !ok || ignored["tag_ids"] == nil {
				t.Errorf("the refusal of %s is %+v", field, problem.Fields)
			}
		}
		if now := len(r.left()); now != left {
			t.Errorf("refused uploads left %d files", now-left)
		}
	})
}

// Tags that are deleted while an upload names them are on it or told as ignored; the upload is taken all the same.
func TestUploadsRaceWithDeletions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		for n := range 5 {
			tag, folder := r.makeTags(r.user, 1)[0], r.makeFolder(r.user, "a")
			allAtOnce(3, func(which int) {
				var err error
				switch which {
				case 0:
					_, err = r.send(r.owner, "a.wav", wav(1, n), "tag_id", fmt.Sprint(tag), "folder_id", fmt.Sprint(folder))
				case 1:
					err = r.recordings.DeleteTag(context.Background(), r.owner, tag)
				case 2:
					err = r.recordings.DeleteFolder(context.Background(), r.owner, folder)
				}
				if err != nil {
					t.Errorf("%d got %v", which, err)
				}
			})
		}
		page, err := r.recordings.List(context.Background(), r.owner, recordings.Filter{})
		if err != nil || len(page.Recordings) != 5 {
			t.Fatalf("there are %d recordings, %v", len(page.Recordings), err)
		}
		for _, recording := range page.Recordings {
			if len(recording.Tags) != 0 || recording.FolderID != nil {
				t.Errorf("a recording has %v and %v, which are gone", recording.Tags, recording.FolderID)
			}
		}
	})
}
