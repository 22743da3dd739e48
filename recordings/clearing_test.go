package recordings_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// many is more than two portions of recordings.
const many = 1_003

// crowd is a rig with many recordings, all with the tag and in the folder, and one with neither.
func crowd(t *testing.T, url string) (r *rig, tag, folder int64) {
	t.Helper()
	r = newRig(t, url, "", nil)
	tag, folder = r.makeTags(r.user, 1)[0], r.makeFolder(r.user, "full")
	rows := bare(many + 1)
	links := make([]models.RecordingTag, many)
	for i := range rows {
		rows[i].SHA256 = strings.Repeat("0", 64)
		rows[i].UserID, rows[i].OrganizationID, rows[i].Status = r.user.ID, r.user.OrganizationID, "COMPLETED"
		rows[i].CreatedAt, rows[i].UpdatedAt = day(1), day(1)
		if i < many {
			rows[i].FolderID = &folder
			links[i] = models.RecordingTag{RecordingID: int64(i + 1), TagID: tag, Position: 3}
		}
	}
	r.write(func(tx *gorm.DB) error {
		return errors.Join(tx.CreateInBatches(rows, 200).Error, tx.CreateInBatches(links, 500).Error)
	})
	return r, tag, folder
}

// moved counts the recordings whose updated_at is not what it was, and the announcements that name the field.
func (r *rig) moved(field string) (moved, told int64) {
	r.t.Helper()
	err := errors.Join(
		r.db.Read.Model(&models.Recording{}).Where("updated_at > ?", day(1)).Count(&moved).Error,
		r.db.Read.Model(&models.OutboxEvent{}).Where("type = 'recording.updated' AND data LIKE ?", `%"fields_changed":["`+field+`"]%`).
			Distinct("recording_id").Count(&told).Error,
	)
	if err != nil {
		r.t.Fatal(err)
	}
	return moved, told
}

// A tag that is deleted is taken off every recording that has it, however many: each has changed, and no other.
func TestDeletingATagChangesItsRecordings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r, tag, _ := crowd(t, url)
		if err := r.recordings.DeleteTag(ctx, r.owner, tag); err != nil {
			t.Fatal(err)
		}
		if moved, told := r.moved("tags"); moved != many || told != many {
			t.Errorf("%d recordings moved and %d were told of, want %d", moved, told, many)
		}
		if row, _ := r.row(many + 1); !row.UpdatedAt.Equal(day(1)) {
			t.Error("a recording without the tag has moved")
		}
		expect(t, r.recordings.DeleteTag(ctx, r.owner, tag), problems.NotFound)
	})
}

// A folder that is deleted leaves its recordings, in no folder: each has changed, and no other.
func TestDeletingAFolderChangesItsRecordings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r, _, folder := crowd(t, url)
		if err := r.recordings.DeleteFolder(ctx, r.owner, folder); err != nil {
			t.Fatal(err)
		}
		if moved, told := r.moved("folder_id"); moved != many || told != many {
			t.Errorf("%d recordings moved and %d were told of, want %d", moved, told, many)
		}
		var inside int64
		if err := r.db.Read.Model(&models.Recording{}).Where("folder_id IS NOT NULL").Count(&inside).Error; err != nil || inside != 0 {
			t.Errorf("%d are in a folder still, %v", inside, err)
		}
		expect(t, r.recordings.DeleteFolder(ctx, r.owner, folder), problems.NotFound)
	})
}

// A deletion that is cut short has changed whole portions: what lost the tag has moved and was told of, the tag is
// still there with the rest, and asking again ends it.
func TestADeletionCutShortGoesOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, tag, _ := crowd(t, url)
		ctx, cancel := context.WithCancel(context.Background())
		var asked atomic.Int64
		r.clock(func() time.Time { // the clock is read once for each portion
			if asked.Add(1) == 2 {
				cancel()
			}
			return time.Now()
		})
		if err := r.recordings.DeleteTag(ctx, r.owner, tag); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want it canceled", err)
		}
		var left int64
		if err := r.db.Read.Model(&models.RecordingTag{}).Count(&left).Error; err != nil || left == 0 || left == many {
			t.Fatalf("%d recordings have the tag, %v", left, err)
		}
		if moved, told := r.moved("tags"); moved != many-left || told != many-left {
			t.Errorf("%d moved and %d were told of, want those %d that lost the tag", moved, told, many-left)
		}
		if err := r.recordings.DeleteTag(context.Background(), r.owner, tag); err != nil {
			t.Fatal(err)
		}
		if moved, told := r.moved("tags"); moved != many || told != many {
			t.Errorf("in the end %d moved and %d were told of", moved, told)
		}
	})
}

// clock makes the rig's stories read this clock.
func (r *rig) clock(now func() time.Time) { r.recordings.Now = now }

// Two changes of a recording bear two moments, also where a deletion makes the second within the same microsecond.
func TestDeletionsMoveOnInStoppedTime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := listing(t, url, bare(2)...)
		tags := r.makeTags(r.user, 2)
		stopped := time.Now().UTC().Truncate(time.Microsecond)
		r.clock(func() time.Time { return stopped })
		for id := range int64(2) {
			if _, err := r.recordings.AddTags(ctx, r.owner, id+1, tags[id:]); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(r.recordings.DeleteTag(ctx, r.owner, tags[0]), r.recordings.DeleteTag(ctx, r.owner, tags[1])); err != nil {
			t.Fatal(err)
		}
		first, _ := r.row(1)
		second, _ := r.row(2)
		if !first.UpdatedAt.Equal(stopped.Add(2*time.Microsecond)) || !second.UpdatedAt.Equal(stopped.Add(time.Microsecond)) {
			t.Errorf("after three and two changes at %v they bear %v and %v", stopped, first.UpdatedAt, second.UpdatedAt)
		}
	})
}

// Whoever tags or files a recording while the tag or the folder is deleted gets an answer that is true, and nothing
// is left that points to what is gone.
func TestDeletionsRaceWithUse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := listing(t, url, bare(4)...)
		for range 15 {
			tag, folder := r.tag(r.owner, called("a")), r.makeFolder(r.user, "a")
			allAtOnce(10, func(n int) {
				id := int64(n%4 + 1)
				var err error
				switch {
				case n == 8:
					err = r.recordings.DeleteTag(ctx, r.owner, tag)
				case n == 9:
					err = r.recordings.DeleteFolder(ctx, r.owner, folder)
				case n%2 == 0:
					_, err = r.recordings.AddTags(ctx, r.owner, id, []int64{tag})
				default:
					_, err = r.recordings.Patch(ctx, r.owner, id, nil, filed(folder))
					if problems.Is(err, problems.NotFound) {
						err = nil
					}
				}
				if err != nil {
					t.Errorf("%d got %v", n, err)
				}
			})
			// In the end each is gone, whoever was first.
			for id := range int64(4) {
				row, _ := r.row(id + 1)
				if on := r.tagsOn(id + 1); slices.Contains(on, tag) || row.FolderID != nil {
					t.Errorf("recording %d has the tags %v and the folder %v", id+1, on, row.FolderID)
				}
			}
		}
	})
}
