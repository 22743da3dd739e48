package tests

import (
	"testing"

	"github.com/stenometer/stenometer/auth"
)

// Rule: one table a fact. The roles of the guide are those of the code, with their verbs.
func TestGoldenRolesOfTheGuide(t *testing.T) {
	head := []string{"role", "assignable"}
	for _, verb := range auth.Verbs() {
		head = append(head, "`"+verb.Name()+"`")
	}
	var rows [][]string
	for _, role := range auth.Roles() {
		cells := []string{"`" + role.Name + "`", ticked(role.Assignable, "yes")}
		for _, verb := range auth.Verbs() {
			cells = append(cells, ticked(role.May(verb), "✓"))
		}
		rows = append(rows, cells)
	}
	expectSection(t, "roles.md", "roles", table(head, rows))
}

func ticked(holds bool, mark string) string {
	if holds {
		return mark
	}
	return ""
}

// Rule: what each verb opens is said in the guide as the live table has it: the routes that ask for it, but those of
// administration, which are a page of their own.
func TestGoldenVerbsOfTheGuide(t *testing.T) {
	var rows [][]string
	for _, verb := range auth.Verbs() {
		opens, administration := "", false
		for _, row := range liveTable(t).Rows() {
			switch {
			case row.Needs != verb:
			case row.Administration:
				administration = true
			default:
				if opens != "" {
					opens += "<br>"
				}
				opens += "`" + row.Method + " " + guidePath(row.Path) + "`"
			}
		}
		if administration {
			if opens != "" {
				opens += "<br>"
			}
			opens += "its part of `/api/v1/admin/…`"
		}
		rows = append(rows, []string{"`" + verb.Name() + "`", verb.Meaning(), opens})
	}
	expectSection(t, "roles.md", "verbs", table([]string{"permission", "is to", "routes"}, rows))
}
