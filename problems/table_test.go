package problems_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/problems"
)

// Each kind has a code of its own that clients can rely on, a failure's status and a sentence for the user guide.
func TestKindsAreSane(t *testing.T) {
	t.Parallel()
	snake := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	seen := make(map[string]bool)
	for _, kind := range problems.Table() {
		if !snake.MatchString(kind.Code()) || seen[kind.Code()] {
			t.Errorf("the code %q is not in snake case or not unique", kind.Code())
		}
		seen[kind.Code()] = true
		if kind.Status() < 400 || kind.Status() > 599 || http.StatusText(kind.Status()) == "" {
			t.Errorf("%s: the status %d is no failure", kind.Code(), kind.Status())
		}
		if !strings.HasSuffix(kind.Meaning(), ".") {
			t.Errorf("%s: the meaning %q is no sentence", kind.Code(), kind.Meaning())
		}
	}
}

// Every kind that is declared is in the table, which the user guide is checked against.
func TestEveryKindIsInTheTable(t *testing.T) {
	t.Parallel()
	var codes []string
	for _, kind := range problems.Table() {
		codes = append(codes, kind.Code())
	}
	declared := declaredCodes(t)
	for _, code := range declared {
		if !slices.Contains(codes, code) {
			t.Errorf("%s is declared and not in Table()", code)
		}
	}
	if len(declared) != len(codes) || len(declared) < 30 {
		t.Errorf("%d kinds are declared and %d in Table()", len(declared), len(codes))
	}
}

// declaredCodes reads the first field of every Kind literal in the package's source.
func declaredCodes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "table.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(file, func(node ast.Node) bool {
		literal, ok := node.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if name, ok := literal.Type.(*ast.Ident); !ok || name.Name != "Kind" || len(literal.Elts) == 0 {
			return true
		}
		if code, ok := literal.Elts[0].(*ast.BasicLit); ok {
			codes = append(codes, strings.Trim(code.Value, `"`))
		}
		return true
	})
	return codes
}
