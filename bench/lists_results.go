package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stenometer/stenometer/models"
)

// queryPlan is how a database goes about one query.
type queryPlan struct {
	Operation, Query, Plan string
	dialect                models.Dialect
}

// readPlans asks both databases for the plans of lists and searches in the large account. The queries are the
// product's own: it is asked the same in another process, which notes them.
func (b *bench) readPlans(ctx context.Context, libraries []*library) (all []queryPlan, err error) {
	program, out := filepath.Join(b.work, "plans.test"), filepath.Join(b.work, "plans.json")
	if err := b.command(ctx, b.source, nil, "go", "test", "-c", "-buildvcs=false", "-o", program, "./plans"); err != nil {
		return nil, err
	}
	words := strings.Join([]string{rareWord, commonWord, seldomWord + " " + otherWord, shortWord}, ",")
	for _, l := range libraries {
		if l.rows == smallLibrary {
			continue
		}
		environment := []string{
			"PLANS_URL=" + l.url, "PLANS_OUT=" + out, "PLANS_WORDS=" + words,
			fmt.Sprint("PLANS_USER=", l.owner.account), fmt.Sprint("PLANS_ORGANIZATION=", l.organization),
		}
		err := b.command(ctx, b.work, environment, program, "-test.run", "^$", "-test.bench", "^BenchmarkPlans$", "-test.benchtime", "1x")
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(out)
		var plans []queryPlan
		if err == nil {
			err = json.Unmarshal(text, &plans)
		}
		if err != nil {
			return nil, fmt.Errorf("reading plans: %w", err)
		}
		for i := range plans {
			plans[i].dialect = l.dialect
		}
		all = append(all, plans...)
	}
	return all, nil
}

// pair are the samples of an operation in the large account and in the small one.
func (l *listResults) pair(name string, dialect models.Dialect) (large, small []listSample) {
	if l == nil {
		return nil, nil
	}
	return l.samples[listKey{name, dialect, l.large}], l.samples[listKey{name, dialect, l.small}]
}

func latencies(samples []listSample) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = s.latency
	}
	return values
}

func cpus(samples []listSample) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = s.cpu
	}
	return values
}

func dialects() []models.Dialect { return []models.Dialect{models.SQLite, models.Postgres} }

func databaseName(dialect models.Dialect) string {
	return map[models.Dialect]string{models.SQLite: "SQLite", models.Postgres: "PostgreSQL"}[dialect]
}

func (r *results) listBars() (bars []bar) {
	for _, o := range operations() {
		if !o.demanded {
			continue
		}
		for _, dialect := range dialects() {
			large, small := r.lists.pair(o.name, dialect)
			what := fmt.Sprintf("%s, 100,000 recordings / 1,000, %s, ", o.name, databaseName(dialect))
			bars = append(bars,
				bar{what: what + "latency", most: 2, values: ratios(latencies(large), latencies(small))},
				bar{what: what + "CPU", most: 2, values: ratios(cpus(large), cpus(small))})
		}
	}
	return bars
}

func (r *results) writeLists(w *strings.Builder) {
	fmt.Fprintf(w, "\n## Lists at size\n\nAn account with %d recordings beside one with %d, each on a server and in a database of its own; %d rounds of %v for each\n"+
		"operation, one request after the other. Latency in ms; CPU is seconds of the server and its database for %d requests.\n",
		r.lists.large, r.lists.small, r.plan.rounds, listSlot, listRequests)
	for _, dialect := range dialects() {
		fmt.Fprintf(w, "\n### %s\n\n| operation | latency, %d | latency, %d | ratio | CPU, %d | CPU, %d | ratio |\n|---|---|---|---|---|---|---|\n",
			databaseName(dialect), r.lists.small, r.lists.large, r.lists.small, r.lists.large)
		for _, o := range operations() {
			large, small := r.lists.pair(o.name, dialect)
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s |\n", o.name,
				spread(latencies(small)), spread(latencies(large)), figure(median(ratios(latencies(large), latencies(small)))),
				spread(cpus(small)), spread(cpus(large)), figure(median(ratios(cpus(large), cpus(small)))))
		}
	}
	fmt.Fprintf(w, "\n### Plans\n\nOf the queries that look for recordings among %d. What belongs to the recordings of a page is looked up by their ids.\n"+
		"PostgreSQL tells the rows that it met.\n", r.lists.large)
	for _, dialect := range dialects() {
		for _, o := range namesOf(r.lists.plans) {
			r.writePlans(w, dialect, o)
		}
	}
}

// namesOf are the operations that have plans, in their order.
func namesOf(plans []queryPlan) (names []string) {
	for _, p := range plans {
		if !slices.Contains(names, p.Operation) {
			names = append(names, p.Operation)
		}
	}
	return names
}

func (r *results) writePlans(w *strings.Builder, dialect models.Dialect, operation string) {
	fmt.Fprintf(w, "\n%s, %s:\n\n```\n", databaseName(dialect), operation)
	for _, p := range r.lists.plans {
		if p.Operation == operation && p.dialect == dialect {
			fmt.Fprintf(w, "%s\n%s\n", shortened(p.Query), indented(shortened(p.Plan)))
		}
	}
	fmt.Fprint(w, "```\n")
}

// idList is a list of ids that is longer than anybody reads.
var idList = regexp.MustCompile(`(\d+), ?\d+(, ?\d+){3,}`)

func shortened(text string) string { return idList.ReplaceAllString(text, "$1, …") }

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
