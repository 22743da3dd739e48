package recordings_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// manyRows is how many recordings an account gets: enough for a database to think twice before it reads them all.
const manyRows = 6000

// crowd gives the account many recordings, all unlike one another, by one statement.
func (r *rig) crowd(user models.User) {
	r.t.Helper()
	series, stamp := "generate_series(1, %d) AS n(i)", "timestamptz '2026-01-01 00:00:00+00' + i * interval '1 minute'"
	if r.db.Dialect == models.SQLite {
		series = "(WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n)"
		stamp = "strftime('%%Y-%%m-%%d %%H:%%M:%%S+00:00', '2026-01-01', '+' || i || ' minutes')"
	}
	statement := fmt.Sprintf(`INSERT INTO recordings (organization_id, user_id, title, title_by_user, status, file_size, sha256, storage_key,
			meeting_date, is_inbox, is_highlighted, is_archived, job_id, work_token, ai_charged, completed_at, created_at, updated_at)
		SELECT %d, %d, 'Recording ' || i, false, CASE WHEN i %% 50 = 0 THEN 'FAILED' ELSE 'COMPLETED' END, i, '%064d', '',
			`+stamp+`, i %% 2 = 0, i %% 100 = 0, false, 0, '', false, `+stamp+`, `+stamp+`, `+stamp+`
		FROM `+series, user.OrganizationID, user.ID, 0, manyRows)
	err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
		// Search has caught up, which would take it a while.
		for _, sql := range []string{
			statement,
			"INSERT INTO search_texts (recording_id, user_id, field, first, folded) SELECT id, user_id, 'title', 0, lower(title) FROM recordings WHERE id IN (SELECT recording_id FROM search_marks)",
			"DELETE FROM search_marks",
		} {
			if err := tx.Exec(sql).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && r.db.Dialect == models.Postgres {
		err = r.db.Read.Exec("VACUUM ANALYZE").Error // as it does by itself in time
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// plans runs ask and returns how the database goes about each query of recordings that it makes.
func (r *rig) plans(ask func()) []string {
	r.t.Helper()
	var queries []string
	callbacks := r.db.Read.Callback().Query()
	err := callbacks.After("gorm:query").Register("test:note", func(tx *gorm.DB) {
		text := tx.Statement.SQL.String()
		if strings.Contains(text, "recordings") {
			queries = append(queries, tx.Explain(text, tx.Statement.Vars...))
		}
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ask()
	if err := callbacks.Remove("test:note"); err != nil {
		r.t.Fatal(err)
	}
	plans := make([]string, len(queries))
	for i, query := range queries {
		plans[i] = query + "\n" + r.explain(query)
	}
	return plans
}

func (r *rig) explain(query string) string {
	r.t.Helper()
	prefix := "EXPLAIN "
	if r.db.Dialect == models.SQLite {
		prefix = "EXPLAIN QUERY PLAN "
	}
	handle, err := r.db.Read.DB()
	if err != nil {
		r.t.Fatal(err)
	}
	rows, err := handle.QueryContext(context.Background(), prefix+query)
	if err != nil {
		r.t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line, ignored sql.NullString
		columns := []any{&line}
		if r.db.Dialect == models.SQLite {
			columns = []any{&ignored, &ignored, &ignored, &line}
		}
		if err := rows.Scan(columns...); err != nil {
			r.t.Fatal(err)
		}
		plan.WriteString(line.String + "\n")
	}
	if err := rows.Err(); err != nil {
		r.t.Fatal(err)
	}
	return plan.String()
}

// The rows of a page come by an index, in its order, however they are sorted and filtered: no table is read whole.
func TestNoPageReadsAWholeTable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) { s.recordings.ChangesSettle = time.Millisecond })
		r.crowd(r.account("another"))
		r.crowd(r.user)
		yes, from := true, day(1)
		filters := map[string]recordings.Filter{
			"failed": {Statuses: []string{recordings.StatusFailed}}, "inbox": {Inbox: &yes}, "starred": {Starred: &yes},
			"text": {Text: "cording 42"}, "dated": {From: &from}, "by meeting": {ByMeeting: true, From: &from},
			"tag": {Tag: 1}, "folder": {Folder: 1}, "in no folder": {NoFolder: true}, "changed": {UpdatedAfter: &from},
			"reference": {Ref: &recordings.RefFilter{System: "a", Ref: "b"}}, "deep": {Page: 200},
		}
		for _, name := range []string{"created_at", "updated_at", "meeting_date", "title", "file_size", "status"} {
			filters["up by "+name] = recordings.Filter{SortBy: name, Ascending: true}
			filters["down by "+name] = recordings.Filter{SortBy: name}
		}
		for name, filter := range filters {
			plans := r.plans(func() { r.titles(filter) })
			inOrder := strings.Contains(name, "by ") && name != "by meeting"
			for _, plan := range plans {
				if strings.Contains(plan, "count(*)") {
					continue // the total of a filter
				}
				if strings.Contains(plan, "Seq Scan on recordings") || strings.Contains(plan, "SCAN recordings") {
					t.Errorf("%s: the table is read whole:\n%s", name, plan)
				}
				if inOrder && (strings.Contains(plan, "Sort") || strings.Contains(plan, "TEMP B-TREE")) && strings.Contains(plan, "LIMIT") {
					t.Errorf("%s: the rows are sorted after they were read:\n%s", name, plan)
				}
			}
		}
	})
}

// Unfiltered lists, the feed and the stats neither count nor read all recordings of an account.
func TestNothingIsCountedThatIsKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) { s.recordings.ChangesSettle = time.Millisecond })
		r.crowd(r.account("another"))
		r.crowd(r.user)
		for name, ask := range map[string]func(){
			"list":  func() { r.titles(recordings.Filter{}) },
			"feed":  func() { r.follow("", 100) },
			"stats": func() { r.stats(r.owner) },
		} {
			plans := r.plans(ask)
			if len(plans) == 0 {
				t.Errorf("%s makes no query", name)
			}
			for _, plan := range plans {
				whole := strings.Contains(plan, "count(*)") && !strings.Contains(plan, "created_at >=")
				sorted := strings.Contains(plan, "TEMP B-TREE") && !strings.Contains(plan, "id IN (")
				if whole || sorted || strings.Contains(plan, "Seq Scan on recordings") || strings.Contains(plan, "SCAN recordings") {
					t.Errorf("%s:\n%s", name, plan)
				}
			}
		}
	})
}
