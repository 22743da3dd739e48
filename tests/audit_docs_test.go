package tests

import "testing"

// Rule: one table a fact. The actions of the guide are those of the live table, each the name of one row.
func TestGoldenActionsOfTheGuide(t *testing.T) {
	var rows [][]string
	named := map[string]string{}
	for _, row := range liveTable(t).Rows() {
		if row.Action == "" {
			continue
		}
		route := row.Method + " " + guidePath(row.Path)
		if other, twice := named[row.Action]; twice {
			t.Errorf("%s and %s are one action", other, route)
		}
		named[row.Action] = route
		rows = append(rows, []string{"`" + row.Action + "`", "`" + route + "`", row.Operation.Summary})
	}
	expectSection(t, "audit.md", "actions", table([]string{"action", "route", "which is to"}, rows))
}
