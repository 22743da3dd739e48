package tests

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/routes/probe"
	"github.com/stenometer/stenometer/server"
	"github.com/stenometer/stenometer/tests/golden"
)

// strange are roles that no account has: one that nobody knows, and none.
func strange() []string { return []string{"superuser", ""} }

// allRoles are those of the table and the strange ones.
func allRoles() []string {
	var names []string
	for _, role := range auth.Roles() {
		names = append(names, role.Name)
	}
	return append(names, strange()...)
}

// cast makes callers without a database: the guard asks for no more than who they are.
type cast struct {
	finder *authtest.Finder
	last   int64
}

func (c *cast) Live(scopes string, by probe.Caller) (string, error) {
	c.last++
	return c.finder.Mint(auth.Token{
		ID: c.last, UserID: c.last, OrganizationID: c.last, Role: by.Role, Scopes: auth.ParseScopes(scopes),
		Administration: by.Administration, Instance: by.Instance,
	}), nil
}

func (c *cast) Session(by probe.Caller) (string, error) {
	c.last++
	return c.finder.SignIn(auth.Session{UserID: c.last, OrganizationID: c.last, Role: by.Role, Instance: by.Instance}), nil
}

func (c *cast) Expired() (string, error) { return "", nil }
func (c *cast) Revoked() (string, error) { return "", nil }

func (c *cast) Key() (string, []byte, error) { return "", nil, nil }

// matrix is the live table as every role meets it.
func matrix(t *testing.T) []probe.Line {
	t.Helper()
	finder, cfg := authtest.NewFinder(), defaults(t)
	lines, err := probe.Matrix(t.Context(), probe.Target{
		Credentials: &cast{finder: finder},
		Build: func(figures limits.Figures) *routes.Table {
			return server.DryTable(cfg, server.Callers{Tokens: finder, Sessions: finder, Figures: figures})
		},
	}, allRoles())
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

const legend = "s a session, t a token with exactly the row's scopes, m the same made for administration, f a full token;\n" +
	"refused: - by role or mark, . by scope. \"(instance)\" is for callers who administer the whole instance besides.\n\n"

// uncelled says who enters by the doors that take no credential in a header.
var uncelled = map[routes.Door]string{
	routes.DoorPublic: "anyone",
	routes.DoorLate:   "any role whose token stands in the body",
	routes.DoorSigned: "any role whose integration's key signs it",
}

// Rule: which route is open to which role, by session and by token, is a table that a reviewer sees. It is what the live
// table does, not what it says. An unknown role and none have what every role has, and nothing besides.
func TestGoldenPermissions(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(legend)
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(columns, "\t%s\n", strings.Join(append(allRoles()[:len(allRoles())-1], "(none)"), "\t"))
	for _, line := range matrix(t) {
		name := line.Row.Method + " " + line.Row.Path
		if line.Cells == nil {
			fmt.Fprintf(columns, "%s\t%s\n", name, uncelled[line.Row.Door])
			continue
		}
		if line.Instance {
			name += " (instance)"
		}
		fmt.Fprintf(columns, "%s\t%s\n", name, strings.Join(line.Cells, "\t"))
		expectOpen(t, name, line)
	}
	if err := columns.Flush(); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join("testdata", "permissions.golden"), text.String())
}

// expectOpen holds what must be so whatever the golden file says.
func expectOpen(t *testing.T, name string, line probe.Line) {
	t.Helper()
	gated := line.Row.Needs != auth.Verb{}
	for i, role := range allRoles() {
		cell := line.Cells[i]
		entered := strings.ContainsAny(cell, "stmf")
		switch {
		case strings.Contains(cell, "("):
			t.Errorf("%s answers %s to %q", name, cell, role)
		case gated && entered && !auth.RoleMay(role, line.Row.Needs):
			t.Errorf("%s lets %q in, which may not %s: %s", name, role, line.Row.Needs.Name(), cell)
		case line.Row.Administration && strings.ContainsAny(cell, "tf"):
			t.Errorf("%s lets a token of %q in that was not made for administration: %s", name, role, cell)
		case line.Row.InstanceWide && !line.Instance && entered:
			t.Errorf("%s lets %q in, who does not administer the instance: %s", name, role, cell)
		case !gated && slices.Contains(strange(), role) && cell != line.Cells[0]:
			t.Errorf("%s is open to every role, and to %q it is %s", name, role, cell)
		}
	}
}
