package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

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

// Rule: the guide lists every route of the live table, with its scope, its category and its limits, and under the
// heading that it has in the API's document.
func TestGoldenRoutesOfTheGuide(t *testing.T) {
	grouped := map[routes.Group][][]string{}
	live := liveTable(t).Rows()
	for _, row := range live {
		group := row.Operation.Group
		grouped[group] = append(grouped[group], []string{
			row.Method, "`" + guidePath(row.Path) + "`", whoMayEnter(row), string(row.Category), limitNames(row), besides(row),
		})
	}
	var text strings.Builder
	listed := 0
	for _, group := range documentedGroups(t) {
		rows := grouped[routes.Group(group)]
		listed += len(rows)
		head := []string{"method", "path", "needs", "category", "limits", "besides"}
		fmt.Fprintf(&text, "\n### %s\n\n%s", group, table(head, rows))
	}
	if listed != len(live) {
		t.Errorf("%d routes are listed, want all %d: a heading is missing", listed, len(live))
	}
	expectSection(t, "api-reference.md", "routes", text.String()+"\n")
}

// documentedGroups are the headings of the API's document, in its order.
func documentedGroups(t *testing.T) []string {
	t.Helper()
	var document struct{ Tags []struct{ Name string } }
	if err := json.Unmarshal(readFile(t, "docs/openapi.json"), &document); err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(document.Tags))
	for i, tag := range document.Tags {
		names[i] = tag.Name
	}
	return names
}

// besides is what a client may send with a request of this row, and what counts otherwise than one.
func besides(row routes.Row) string {
	var words []string
	request := reflect.TypeOf(row.Operation.Request)
	if row.Idempotent || hasHeader(request, "Idempotency-Key") {
		words = append(words, "`Idempotency-Key`")
	}
	if hasHeader(request, "If-None-Match") {
		words = append(words, "`ETag`")
	}
	if hasHeader(request, "If-Match") {
		words = append(words, "`If-Match`")
	}
	if row.Weighs != "" {
		words = append(words, "weighs its ids")
	}
	return strings.Join(words, ", ")
}

// hasHeader tells whether a request has this header among its fields.
func hasHeader(request reflect.Type, name string) bool {
	if request == nil || request.Kind() != reflect.Struct {
		return false
	}
	for _, field := range reflect.VisibleFields(request) {
		if field.Tag.Get("header") == name {
			return true
		}
	}
	return false
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
	names := make([]string, 0, len(row.Scopes)+1)
	for _, scope := range row.Scopes {
		if scope == auth.AnyToken {
			return scope.Name()
		}
		names = append(names, "`"+scope.Name()+"`")
	}
	switch {
	case row.InstanceWide:
		names = append(names, "and to administer the instance")
	case row.Administration:
		names = append(names, "and for administration, `"+row.Needs.Name()+"`")
	case row.Needs != (auth.Verb{}):
		names = append(names, "and `"+row.Needs.Name()+"`")
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

// Rule: every page that the documents link to is there, and has the heading that the link names.
func TestTheGuidesLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	pages := append(pagesForReaders(t), "CONTRIBUTING.md")
	if len(pages) < 10 {
		t.Fatalf("there are %d pages, want at least 10: are they still found?", len(pages))
	}
	for _, page := range pages {
		for _, piece := range strings.Split(string(readFile(t, page)), "](")[1:] {
			link, _, _ := strings.Cut(piece, ")")
			file, heading, named := strings.Cut(link, "#")
			if strings.Contains(link, "://") {
				continue
			}
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			content, err := os.ReadFile(filepath.Join(root, target))
			if err != nil && !isFolder(filepath.Join(root, target)) {
				t.Errorf("%s links to %s: %v", page, link, err)
				continue
			}
			if named && !slices.Contains(anchors(string(content)), heading) {
				t.Errorf("%s links to %s, and %s has no such heading", page, link, target)
			}
		}
	}
}

// Rule: the README leads to every page of the guide.
func TestTheReadmeLinksToEveryPageOfTheGuide(t *testing.T) {
	t.Parallel()
	readme := string(readFile(t, "README.md"))
	for _, page := range pagesForReaders(t)[1:] {
		if !strings.Contains(readme, "]("+page+")") {
			t.Errorf("README.md does not link to %s", page)
		}
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// anchors are the names by which the headings of a page can be linked to.
func anchors(page string) []string {
	var names []string
	for line := range strings.Lines(page) {
		heading, is := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !is || !strings.HasPrefix(line, "#") {
			continue
		}
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading)))
	}
	return names
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
