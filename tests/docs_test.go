package tests

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/tests/golden"
)

// expectSection compares a generated part of a page of the user guide with what the code says.
func expectSection(t *testing.T, page, name, want string) {
	t.Helper()
	golden.Section(t, filepath.Join(root, "docs", "user-guide", page), name, want)
}

func table(head []string, rows [][]string) string {
	var text strings.Builder
	line := func(cells []string) { fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	return text.String()
}

// Rule: one table a fact. The scope table of the guide is the one of the code.
func TestGoldenScopesOfTheGuide(t *testing.T) {
	var rows [][]string
	for _, row := range auth.Scopes() {
		rows = append(rows, []string{"`" + row.Scope.Name() + "`", row.Meaning})
	}
	expectSection(t, "api-tokens.md", "scopes", table([]string{"scope", "opens"}, rows))
}

// Rule: one table a fact. The errors of the guide are those of the code.
func TestGoldenErrorsOfTheGuide(t *testing.T) {
	var rows [][]string
	for _, kind := range problems.Table() {
		rows = append(rows, []string{"`" + kind.Code() + "`", fmt.Sprint(kind.Status()), kind.Meaning()})
	}
	expectSection(t, "api-reference.md", "errors", table([]string{"code", "status", "meaning"}, rows))
}

// Rule: one table a fact. The limits of the guide are the plans of the code.
func TestGoldenLimitsOfTheGuide(t *testing.T) {
	var rows [][]string
	for _, plan := range limits.Plans() {
		rows = append(rows, []string{"`" + plan.Name + "`", plan.Subject.String(), "`" + plan.Kind.Code() + "`", plan.Meaning})
	}
	expectSection(t, "api-reference.md", "limits", table([]string{"limit", "counts by", "code in the 429", "applies to"}, rows))
}

// Rule: the guide lists every route of the live table, with its scope, its category and its limits.
func TestGoldenRoutesOfTheGuide(t *testing.T) {
	var rows [][]string
	for _, row := range liveTable(t).Rows() {
		rows = append(rows, []string{row.Method, "`" + guidePath(row.Path) + "`", whoMayEnter(row), string(row.Category), limitNames(row)})
	}
	expectSection(t, "api-reference.md", "routes", table([]string{"method", "path", "needs", "category", "limits"}, rows))
}

// guidePath writes parameters as readers of an API know them.
func guidePath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if noun, is := strings.CutPrefix(part, ":"); is {
			parts[i] = "{" + noun + "}"
		}
	}
	return strings.Join(parts, "/")
}

func whoMayEnter(row routes.Row) string {
	switch {
	case row.Door == routes.DoorPublic:
		return "nothing: " + row.Reason
	case row.Door == routes.DoorAccount:
		return "a session"
	}
	names := make([]string, len(row.Scopes))
	for i, scope := range row.Scopes {
		if scope == auth.AnyToken {
			return scope.Name()
		}
		names[i] = "`" + scope.Name() + "`"
	}
	return strings.Join(names, ", ")
}

func limitNames(row routes.Row) string {
	var names []string
	for _, stacked := range append(append([]auth.Stacked{}, row.Stack...), row.Taken...) {
		names = append(names, "`"+stacked.Plan.Name+"`")
	}
	return strings.Join(names, " ")
}

// Rule: every page of the guide that is linked to is there.
func TestTheGuidesLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "user-guide", "*.md"))
	if err != nil || len(pages) < 4 {
		t.Fatalf("the user guide has %d pages (%v), want at least 4", len(pages), err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range strings.Split(string(content), "](")[1:] {
			link, _, _ := strings.Cut(piece, ")")
			link, _, _ = strings.Cut(link, "#")
			if link == "" || strings.Contains(link, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link)); err != nil {
				t.Errorf("%s links to %s: %v", filepath.Base(page), link, err)
			}
		}
	}
}

// Rule: no example of the guide uses a status that HTTP does not know.
func TestTheErrorTableUsesRealStatuses(t *testing.T) {
	t.Parallel()
	for _, kind := range problems.Table() {
		if http.StatusText(kind.Status()) == "" {
			t.Errorf("%s has status %d", kind.Code(), kind.Status())
		}
	}
}
