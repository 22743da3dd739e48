package tests

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// faultsOf checks one Go file of the product; name is its path inside the repository. Each fault begins with the
// file and line at which it stands.
func faultsOf(name string, source []byte) []string {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	c := &fileCheck{name: name, pkg: path.Dir(name), files: files, echo: ""}
	c.checkSize(parsed, source)
	for _, spec := range parsed.Imports {
		c.checkImport(spec)
	}
	ast.Inspect(parsed, c.checkNode)
	return c.faults
}

// fileCheck gathers the faults of one file.
type fileCheck struct {
	name, pkg string
	files     *token.FileSet
	// echo is the name under which the file imports echo, "" when it does not.
	echo   string
	faults []string
}

func (c *fileCheck) fault(at token.Pos, format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf("%s:%d: %s", c.name, c.files.Position(at).Line, fmt.Sprintf(format, args...)))
}

func (c *fileCheck) checkSize(parsed *ast.File, source []byte) {
	if lines := strings.Count(string(source), "\n"); lines > longestFile {
		c.fault(parsed.Package, "%d lines; a file holds one idea and at most %d lines", lines, longestFile)
	}
	if slices.Contains(emptyNames, parsed.Name.Name) {
		c.fault(parsed.Package, "package %s: name it for what it holds", parsed.Name.Name)
	}
}

func (c *fileCheck) checkImport(spec *ast.ImportSpec) {
	imported, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		c.fault(spec.Pos(), "import %s: %v", spec.Path.Value, err)
		return
	}
	if strings.HasPrefix(imported, "github.com/labstack/echo") && !strings.Contains(imported, "/middleware") {
		c.echo = "echo"
		if spec.Name != nil {
			c.echo = spec.Name.Name
		}
	}
	if spec.Name != nil && spec.Name.Name == "." {
		c.fault(spec.Pos(), "a dot import hides whose word is used")
	}
	if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
		c.checkFloor(spec, ours)
		return
	}
	for _, rule := range libraryFloors {
		if strings.HasPrefix(imported, rule.library) && !slices.Contains(rule.pkgs, rowOf(c.pkg).pkg) {
			c.fault(spec.Pos(), "%s may not import %s: %s (%s)", c.pkg, imported, rule.why, strings.Join(rule.pkgs, ", "))
		}
	}
}

// checkFloor judges an import of one of our packages by another.
func (c *fileCheck) checkFloor(spec *ast.ImportSpec, ours string) {
	if within(ours, testPackages) {
		c.fault(spec.Pos(), "%s may not import %s: it is for tests", c.pkg, ours)
		return
	}
	row, target := rowOf(c.pkg), rowOf(ours)
	switch {
	case row.pkg == "":
		c.fault(spec.Pos(), "%s has no row in the table of floors", c.pkg)
	case target.pkg == "":
		c.fault(spec.Pos(), "%s has no row in the table of floors", ours)
	case target.pkg != row.pkg && !slices.Contains(row.mayImport, target.pkg):
		c.fault(spec.Pos(), "%s may not import %s: its floor lists %s", c.pkg, ours, orNothing(row.mayImport))
	}
}

func (c *fileCheck) checkNode(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.FuncDecl:
		if node.Recv == nil && node.Name.Name == "init" {
			c.fault(node.Pos(), "func init() runs unseen: build the value where it is used")
		}
	case *ast.SelectorExpr:
		c.checkSelector(node)
	case *ast.CompositeLit:
		c.checkClient(node)
	}
	return true
}

// checkClient finds HTTP clients that are made where nobody decides what they may dial.
func (c *fileCheck) checkClient(node *ast.CompositeLit) {
	made, ok := node.Type.(*ast.SelectorExpr)
	if !ok || within(c.name, clientMakers) {
		return
	}
	of, ok := made.X.(*ast.Ident)
	if ok && of.Name == "http" && (made.Sel.Name == "Client" || made.Sel.Name == "Transport") {
		c.fault(node.Pos(), "an http.%s of one's own: use one of package outbound, which decides what may be dialed", made.Sel.Name)
	}
}

func (c *fileCheck) checkSelector(node *ast.SelectorExpr) {
	word := node.Sel.Name
	if word == "AutoMigrate" {
		c.fault(node.Pos(), "AutoMigrate changes tables unreviewed: write a numbered migration")
	}
	of, _ := node.X.(*ast.Ident)
	if of != nil && c.echo != "" && of.Name == c.echo {
		if allowed, banned := echoWords[word]; banned && !slices.Contains(allowed, rowOf(c.pkg).pkg) {
			c.fault(node.Pos(), "%s.%s is a way past the route table; only %s may say it", c.echo, word, strings.Join(allowed, " and "))
		}
		return
	}
	if word == "Echo" && rowOf(c.pkg).pkg != "routes" {
		c.fault(node.Pos(), ".Echo() is a way past the route table; only routes may say it")
	}
}

// rowOf is the row that speaks for a package: its own, or that of the nearest folder above.
func rowOf(pkg string) floor {
	for {
		for _, row := range floors {
			if row.pkg == pkg {
				return row
			}
		}
		above := path.Dir(pkg)
		if above == pkg || above == "." {
			return floor{}
		}
		pkg = above
	}
}

// within reports whether pkg is one of the packages or below one.
func within(pkg string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return pkg == p || strings.HasPrefix(pkg, p+"/") })
}

func orNothing(pkgs []string) string {
	if len(pkgs) == 0 {
		return "nothing"
	}
	return strings.Join(pkgs, ", ")
}
