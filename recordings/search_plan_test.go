package recordings_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// Terms of three letters and more are found by the trigram index, and no table is read from end to end.
func TestSearchUsesItsIndex(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		rows := make([]models.Recording, 5000)
		filler := strings.Repeat("notes like those of many other recordings ", 40)
		for i := range rows {
			rows[i] = titled("a title")
			rows[i].Notes = &filler
		}
		rows[4711] = titled("the needle")
		r := listing(t, url, rows...)
		r.index()
		explain := "EXPLAIN QUERY PLAN "
		if r.db.Dialect == models.Postgres {
			explain = "EXPLAIN "
			// As it does by itself in time. What was just written waits in a list beside the index, which makes it look costly.
			if err := r.db.Read.Exec("VACUUM (ANALYZE) recordings, search_texts, search_marks").Error; err != nil {
				t.Fatal(err)
			}
		}
		found := r.db.Read.Raw(explain + r.recordings.IndexedSQL(r.owner, recordings.Query{Text: "needle"}))
		plan := planOf(t, r.db.Dialect, found)
		index := "search_trigrams"
		if r.db.Dialect == models.SQLite {
			index = "search_trigrams VIRTUAL TABLE INDEX"
		}
		if !strings.Contains(plan, index) || strings.Contains(plan, "SCAN recordings") || strings.Contains(plan, "Seq Scan on recordings") || strings.Contains(plan, "Seq Scan on search_texts") {
			t.Errorf("the plan is\n%s", plan)
		}
		if got := r.brief(recordings.Query{Text: "needle the"}); got != "the needle:title" {
			t.Errorf("found %q", got)
		}
	})
}

// The newest recordings, which are read whole, are found by their dates: looking for their ids through the account would
// make every search as slow as the account is large.
func TestSearchReadsOnlyTheNewestWhole(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		r.crowd(r.user)
		for _, text := range []string{"recording", "co", "recording 42"} {
			plans := r.plans(func() { r.brief(recordings.Query{Text: text}) })
			for _, plan := range plans {
				query, steps, _ := strings.Cut(plan, "\n")
				bounded := strings.Contains(steps, "Index Cond: ((user_id = 1) AND (COALESCE") || strings.Contains(steps, "(user_id=? AND <expr>>?)") ||
					strings.Contains(steps, "recordings_pkey on recordings")
				if strings.Contains(query, "id IN (6000,") && strings.Contains(query, "ORDER BY") && !bounded {
					t.Errorf("%q:\n%s", text, plan)
				}
			}
		}
	})
}

func planOf(t *testing.T, dialect models.Dialect, query *gorm.DB) string {
	t.Helper()
	var lines []string
	if dialect == models.Postgres {
		if err := query.Scan(&lines).Error; err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	var steps []struct{ Detail string }
	if err := query.Scan(&steps).Error; err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		lines = append(lines, step.Detail)
	}
	return strings.Join(lines, "\n")
}
