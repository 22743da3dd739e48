package recordings_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// listing is a rig with recordings that were not uploaded: a list needs rows alone.
func listing(t *testing.T, url string, rows ...models.Recording) *rig {
	t.Helper()
	r := newRig(t, url, "", nil)
	err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
		for i := range rows {
			rows[i].UserID, rows[i].OrganizationID = r.user.ID, r.user.OrganizationID
			rows[i].SHA256 = strings.Repeat("0", 64)
			if rows[i].Status == "" {
				rows[i].Status = recordings.StatusCompleted
			}
			if rows[i].CreatedAt.IsZero() {
				rows[i].CreatedAt = day(1)
			}
			if rows[i].UpdatedAt.IsZero() {
				rows[i].UpdatedAt = rows[i].CreatedAt
			}
		}
		if len(rows) == 0 {
			return nil
		}
		return tx.CreateInBatches(rows, 200).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func day(n int) time.Time { return time.Date(2026, 2, n, 12, 0, 0, 0, time.UTC) }

func titled(title string) models.Recording { return models.Recording{Title: &title} }

// titles lists what the filter finds.
func (r *rig) titles(filter recordings.Filter) []string {
	r.t.Helper()
	page, err := r.recordings.List(context.Background(), r.owner, filter)
	if err != nil {
		r.t.Fatal(err)
	}
	var found []string
	for _, recording := range page.Recordings {
		title := "-"
		if recording.Title != nil {
			title = *recording.Title
		}
		found = append(found, title)
	}
	return found
}

// H-072: text is looked for letter by letter, on every database.
func TestTextIsLiteral(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := listing(t, url, titled("50% off"), titled("50 xx off"), titled("a_b"), titled("axb"), titled(`a\b`))
		for text, want := range map[string][]string{
			"50% off": {"50% off"}, "a_b": {"a_b"}, "%": {"50% off"}, `\`: {`a\b`}, "OFF": {"50 xx off", "50% off"}, "zzz": nil,
		} {
			got := r.titles(recordings.Filter{Text: text, SortBy: "title", Ascending: true})
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%q finds %v, want %v", text, got, want)
			}
		}
	})
}

// Text is found in any case, whatever the letters and the database.
func TestTextIsFoundInAnyCase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := listing(t, url, titled("Müller trifft Ørsted"), models.Recording{})
		for _, text := range []string{"MÜLLER", "müller", "ørsted", "TRIFFT ØRSTED"} {
			if got := r.titles(recordings.Filter{Text: text}); !slices.Equal(got, []string{"Müller trifft Ørsted"}) {
				t.Errorf("%q finds %v", text, got)
			}
		}
	})
}

// H-070: pages beyond the end are empty, bounds are kept, and pages neither repeat nor skip a recording although
// every sort key is the same.
func TestPages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		var rows []models.Recording
		for n := range 23 {
			rows = append(rows, titled(fmt.Sprint(n)))
		}
		r := listing(t, url, rows...)
		for _, ascending := range []bool{true, false} {
			seen := map[string]bool{}
			for page := 1; page <= 3; page++ {
				for _, title := range r.titles(recordings.Filter{Page: page, PerPage: 10, SortBy: "status", Ascending: ascending}) {
					if seen[title] {
						t.Errorf("%s is on two pages", title)
					}
					seen[title] = true
				}
			}
			if len(seen) != 23 {
				t.Errorf("three pages show %d of 23", len(seen))
			}
		}
		for _, test := range []struct{ page, perPage, shown, effective, effectivePer int }{
			{0, 0, 23, 1, 25}, {-1, -1, 23, 1, 25}, {1, 1000, 23, 1, 100}, {4, 10, 0, 4, 10}, {math.MaxInt32, 100, 0, math.MaxInt32, 100},
		} {
			page, err := r.recordings.List(context.Background(), r.owner, recordings.Filter{Page: test.page, PerPage: test.perPage})
			if err != nil || len(page.Recordings) != test.shown || page.Page != test.effective || page.PerPage != test.effectivePer || page.Total != 23 {
				t.Errorf("page %d of %d shows %d (%d of %d, total %d), %v", test.page, test.perPage, len(page.Recordings), page.Page, page.PerPage, page.Total, err)
			}
		}
	})
}

func TestFilters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		yes, no := true, false
		at := func(n int) *time.Time { d := day(n); return &d }
		rows := []models.Recording{titled("a"), titled("b"), titled("c")}
		rows[0].CreatedAt, rows[0].MeetingDate, rows[0].IsInbox, rows[0].FileSize = day(1), at(20), true, 3
		rows[1].CreatedAt, rows[1].IsHighlighted, rows[1].Status, rows[1].FileSize = day(2), true, recordings.StatusFailed, 1
		rows[2].CreatedAt, rows[2].MeetingDate, rows[2].IsArchived, rows[2].UpdatedAt, rows[2].FileSize = day(3), at(10), true, day(9).Add(time.Microsecond), 2
		r := listing(t, url, rows...)
		for name, test := range map[string]struct {
			filter recordings.Filter
			want   string
		}{
			"all, newest first":           {recordings.Filter{}, "c b a"},
			"none":                        {recordings.Filter{None: true}, ""},
			"failed":                      {recordings.Filter{Statuses: []string{recordings.StatusFailed}}, "b"},
			"inbox":                       {recordings.Filter{Inbox: &yes}, "a"},
			"not starred":                 {recordings.Filter{Starred: &no}, "c a"},
			"archived":                    {recordings.Filter{Archived: &yes}, "c"},
			"from, inclusive":             {recordings.Filter{From: at(2)}, "c b"},
			"until, inclusive":            {recordings.Filter{Until: at(2)}, "b a"},
			"by the meeting":              {recordings.Filter{ByMeeting: true, From: at(15)}, "a"},
			"changed later":               {recordings.Filter{UpdatedAfter: at(9)}, "c"},
			"by size":                     {recordings.Filter{SortBy: "file_size", Ascending: true}, "b c a"},
			"by meeting, none is least":   {recordings.Filter{SortBy: "meeting_date", Ascending: true}, "b c a"},
			"by meeting, none comes last": {recordings.Filter{SortBy: "meeting_date"}, "a c b"},
			"by an unknown name":          {recordings.Filter{SortBy: "id; DROP TABLE recordings"}, "c b a"},
		} {
			if got := strings.Join(r.titles(test.filter), " "); got != test.want {
				t.Errorf("%s: got %q, want %q", name, got, test.want)
			}
		}
	})
}
