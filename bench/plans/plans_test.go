// Package plans asks a database how it goes about the product's queries. It is a benchmark, since only a test can be a
// principal without a server.
package plans

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// plan is one query of an operation.
type plan struct{ Operation, Query, Plan string }

// BenchmarkPlans writes the plans of lists and searches in the database at PLANS_URL, of the account PLANS_USER of the
// organization PLANS_ORGANIZATION, to the file PLANS_OUT. PLANS_WORDS are searched for.
func BenchmarkPlans(b *testing.B) {
	db, err := models.Open(b.Context(), models.Options{URL: os.Getenv("PLANS_URL"), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	}()
	p := authtest.ByToken(b, number(b, "PLANS_USER"), number(b, "PLANS_ORGANIZATION"), 1, "full")
	r := recordings.New(db, recordings.Options{Now: time.Now, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	text, err := json.Marshal(all(b, db, r, p))
	if err == nil {
		err = os.WriteFile(os.Getenv("PLANS_OUT"), text, 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
}

func all(b *testing.B, db *models.DB, r *recordings.Recordings, p auth.Principal) (plans []plan) {
	b.Helper()
	type asked struct {
		name string
		ask  func(ctx context.Context) error
	}
	list := func(name string, filter recordings.Filter) asked {
		return asked{"list" + name, func(ctx context.Context) error { _, err := r.List(ctx, p, filter); return err }}
	}
	operations := []asked{
		list("", recordings.Filter{}), list(" by tag", recordings.Filter{Tag: 3}), list(" by folder", recordings.Filter{Folder: 3}),
		list(" by text", recordings.Filter{Text: "harbor"}), list(" by text that only transcripts have", recordings.Filter{Text: "meeting"}),
		list(" by status", recordings.Filter{Statuses: []string{recordings.StatusFailed}}),
		list(" by title", recordings.Filter{SortBy: "title", Ascending: true}), list(", a page in the middle", recordings.Filter{Page: 2000}),
	}
	for words := range strings.SplitSeq(os.Getenv("PLANS_WORDS"), ",") {
		operations = append(operations, asked{"search " + words, func(ctx context.Context) error {
			_, err := r.Search(ctx, p, recordings.Query{Text: words})
			return err
		}})
	}
	for _, o := range operations {
		for _, query := range noted(b, db, func() error { return o.ask(b.Context()) }) {
			plans = append(plans, plan{o.name, query, explained(b, db, query)})
		}
	}
	return plans
}

// noted gives the queries that ask looks for recordings by; those for what belongs to a page's recordings look up its
// ids, and are left out.
func noted(b *testing.B, db *models.DB, ask func() error) (queries []string) {
	b.Helper()
	callbacks := db.Read.Callback().Query()
	err := callbacks.After("gorm:query").Register("bench:note", func(tx *gorm.DB) {
		text := tx.Statement.SQL.String()
		// Ids and counts, and what search proposes: it alone asks for its marks.
		if tx.Statement.Table == "recordings" && (strings.Contains(text, "ORDER BY") || strings.Contains(text, "count(*)")) && !strings.Contains(text, "WHERE id IN") {
			queries = append(queries, tx.Explain(text, tx.Statement.Vars...))
		}
	})
	if err == nil {
		err = ask()
	}
	if err == nil {
		err = callbacks.Remove("bench:note")
	}
	if err != nil {
		b.Fatal(err)
	}
	return queries
}

func explained(b *testing.B, db *models.DB, query string) string {
	b.Helper()
	var lines []string
	var err error
	if db.Dialect == models.Postgres {
		err = db.Read.Raw("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) " + query).Scan(&lines).Error
	} else {
		var steps []struct{ Detail string }
		err = db.Read.Raw("EXPLAIN QUERY PLAN " + query).Scan(&steps).Error
		for _, step := range steps {
			lines = append(lines, step.Detail)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func number(b *testing.B, name string) int64 {
	b.Helper()
	value, err := strconv.ParseInt(os.Getenv(name), 10, 64)
	if err != nil {
		b.Fatalf("%s: %v", name, err)
	}
	return value
}
