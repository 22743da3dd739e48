package tests

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/tests/golden"
)

// TestGoldenFloorsOfTheLinter keeps the linter's import rules what the table says, so that it complains at the desk
// of what TestFloors would complain of later. Rewritten by make golden.
func TestGoldenFloorsOfTheLinter(t *testing.T) {
	t.Parallel()
	const begin, end = "        # floors: begin\n", "        # floors: end\n"
	config := string(readFile(t, ".golangci.yml"))
	before, rest, ok := strings.Cut(config, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf(".golangci.yml has no block between %q and %q", begin, end)
	}
	golden.Compare(t, filepath.Join(root, ".golangci.yml"), before+begin+depguardRules()+end+after)
}

// depguardRules renders the table of floors, the libraries' floors and the ban on test packages. A prefix is all that
// depguard knows, so the rules may be laxer than the table, never stricter.
func depguardRules() string {
	var out strings.Builder
	rule := func(name string, files, deny, allow []string, why string) {
		fmt.Fprintf(&out, "        %s:\n          list-mode: lax\n          files: [%s]\n", name, quoted(append(files, "!$test")))
		if len(allow) > 0 {
			fmt.Fprintf(&out, "          allow: [%s]\n", quoted(allow))
		}
		out.WriteString("          deny:\n")
		for _, denied := range deny {
			fmt.Fprintf(&out, "            - { pkg: '%s', desc: '%s' }\n", denied, why)
		}
	}
	for _, row := range floors {
		files := []string{"${config-path}/" + row.pkg + "/**"}
		for _, below := range floors {
			if within(below.pkg, []string{row.pkg}) && below.pkg != row.pkg {
				files = append(files, exceptIn(below.pkg))
			}
		}
		for _, pkg := range testPackages {
			if within(pkg, []string{row.pkg}) {
				files = append(files, exceptIn(pkg))
			}
		}
		allow := []string{module + "/" + row.pkg}
		for _, pkg := range row.mayImport {
			allow = append(allow, module+"/"+pkg)
		}
		rule("floor-"+strings.ReplaceAll(row.pkg, "/", "-"), files, []string{module}, allow,
			"the floor of "+row.pkg+" lists "+orNothing(row.mayImport))
	}
	product := []string{"${config-path}/**"}
	for _, pkg := range testPackages {
		product = append(product, exceptIn(pkg))
	}
	product = slices.Clip(product)
	for _, library := range libraryFloors {
		files := product
		for _, pkg := range library.pkgs {
			files = append(files, exceptIn(pkg))
		}
		name := "only-" + strings.Trim(strings.Map(dashed, library.library), "-")
		rule(name, files, []string{library.library}, nil, library.why+": "+strings.Join(library.pkgs, ", "))
	}
	var banned []string
	for _, pkg := range testPackages {
		banned = append(banned, module+"/"+pkg)
	}
	rule("no-test-packages", product, banned, nil, "it is for tests: the product must not need it")
	return out.String()
}

func exceptIn(pkg string) string { return "!${config-path}/" + pkg + "/**" }

func dashed(r rune) rune {
	if slices.Contains([]rune("/."), r) {
		return '-'
	}
	return r
}

func quoted(words []string) string {
	return "'" + strings.Join(words, "', '") + "'"
}
