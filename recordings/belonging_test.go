package recordings_test

import (
	"context"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// belongings gives each of the account's recordings, by title, what hangs on it, and returns the ids of tag and folder.
func (r *rig) belongings(tagged, filed, referred models.Recording) (tag, folder int64) {
	r.t.Helper()
	theTag := models.Tag{UserID: tagged.UserID, Name: "t", Color: "#000000", CreatedAt: day(1)}
	theFolder := models.Folder{UserID: filed.UserID, Name: "f", Color: "#000000", CreatedAt: day(1)}
	err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
		if err := tx.Create(&theTag).Error; err != nil {
			return err
		}
		if err := tx.Create(&theFolder).Error; err != nil {
			return err
		}
		if err := tx.Create(&models.RecordingTag{RecordingID: tagged.ID, TagID: theTag.ID}).Error; err != nil {
			return err
		}
		if err := tx.Create(&models.ExternalRef{
			RecordingID: referred.ID, UserID: referred.UserID, System: "crm", Kind: "case", Ref: "7", CreatedAt: day(1),
		}).Error; err != nil {
			return err
		}
		return tx.Model(&models.Recording{}).Where("id = ?", filed.ID).UpdateColumn("folder_id", theFolder.ID).Error
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return theTag.ID, theFolder.ID
}

// Lists can be narrowed to a tag, a folder, none, and a reference; ids of another account's find nothing, and the totals
// agree with what is shown.
func TestListByWhatBelongsToARecording(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		rows := []models.Recording{titled("tagged"), titled("filed"), titled("referred")}
		r := listing(t, url, rows...)
		tag, folder := r.belongings(rows[0], rows[1], rows[2])
		ref := func(system, kind, name string) *recordings.RefFilter {
			return &recordings.RefFilter{System: system, Kind: kind, Ref: name}
		}
		for name, test := range map[string]struct {
			filter recordings.Filter
			want   string
		}{
			"a tag":               {recordings.Filter{Tag: tag}, "tagged"},
			"no such tag":         {recordings.Filter{Tag: tag + 1}, ""},
			"a folder":            {recordings.Filter{Folder: folder}, "filed"},
			"no such folder":      {recordings.Filter{Folder: folder + 1}, ""},
			"no folder":           {recordings.Filter{NoFolder: true}, "referred tagged"},
			"a reference":         {recordings.Filter{Ref: ref("crm", "", "7")}, "referred"},
			"of a kind":           {recordings.Filter{Ref: ref("crm", "case", "7")}, "referred"},
			"of another kind":     {recordings.Filter{Ref: ref("crm", "deal", "7")}, ""},
			"another reference":   {recordings.Filter{Ref: ref("crm", "", "8")}, ""},
			"another system":      {recordings.Filter{Ref: ref("erp", "", "7")}, ""},
			"tag and folder":      {recordings.Filter{Tag: tag, Folder: folder}, ""},
			"tag and no folder":   {recordings.Filter{Tag: tag, NoFolder: true}, "tagged"},
			"status alone":        {recordings.Filter{Statuses: []string{recordings.StatusCompleted}}, "referred filed tagged"},
			"status nothing has":  {recordings.Filter{Statuses: []string{recordings.StatusFailed}}, ""},
			"of two states":       {recordings.Filter{Statuses: []string{recordings.StatusFailed, recordings.StatusCompleted}}, "referred filed tagged"},
			"tag and that status": {recordings.Filter{Tag: tag, Statuses: []string{recordings.StatusFailed}}, ""},
		} {
			page, err := r.recordings.List(context.Background(), r.owner, test.filter)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(r.titles(test.filter), " "); got != test.want || page.Total != int64(len(page.Recordings)) {
				t.Errorf("%s: got %q of %d, want %q", name, got, page.Total, test.want)
			}
			other, err := r.recordings.List(context.Background(), r.principal(r.account("other"), "full"), test.filter)
			if err != nil || other.Total != 0 || len(other.Recordings) != 0 {
				t.Errorf("%s: another account is shown %d of %d, %v", name, len(other.Recordings), other.Total, err)
			}
		}
	})
}

// A list tells whether there is a summary without loading it.
func TestListLoadsNoTexts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		long := strings.Repeat("x", 1<<10)
		with, without := titled("with"), titled("without")
		with.Summary, with.Notes = &long, &long
		r := listing(t, url, with, without)
		page, err := r.recordings.List(context.Background(), r.owner, recordings.Filter{SortBy: "title", Ascending: true})
		if err != nil || len(page.Recordings) != 2 {
			t.Fatal(page, err)
		}
		if !page.Recordings[0].HasSummary || page.Recordings[1].HasSummary {
			t.Errorf("the summaries are told as %v and %v", page.Recordings[0].HasSummary, page.Recordings[1].HasSummary)
		}
		if page.Recordings[0].Summary != nil || page.Recordings[0].Notes != nil {
			t.Error("the list has loaded the texts")
		}
	})
}
