package auth_test

import (
	"strings"
	"testing"

	"github.com/stenometer/stenometer/auth"
)

// Rule: the roles of the product's table have the verbs that it says; what is no role has none, and no role has a verb
// that is none.
func TestRolesHaveTheirVerbs(t *testing.T) {
	t.Parallel()
	for verb, want := range map[auth.Verb]string{
		auth.Publish:            "admin owner manager editor approver",
		auth.Approve:            "admin owner manager approver",
		auth.AcceptMemoryRule:   "admin owner manager approver",
		auth.ManageIntegrations: "admin owner",
		auth.ManageTeamBilling:  "admin owner",
		auth.AdministerMembers:  "admin owner",
		{}:                      "",
	} {
		var may []string
		for _, role := range auth.Roles() {
			if auth.RoleMay(role.Name, verb) {
				may = append(may, role.Name)
			}
		}
		if got := strings.Join(may, " "); got != want {
			t.Errorf("%q is of %s, want %s", verb.Name(), got, want)
		}
		for _, none := range []string{"", "Admin", "ADMIN", "admin ", "superuser"} {
			if auth.RoleMay(none, verb) {
				t.Errorf("%q may %q", none, verb.Name())
			}
		}
	}
	var nobody auth.Principal
	for _, verb := range auth.Verbs() {
		if nobody.May(verb) {
			t.Errorf("the zero Principal may %s", verb.Name())
		}
	}
}

// Rule: nobody gives a role that may do more than their own, and what is no role gives and is given nothing.
func TestARoleIsWithinAnother(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		role, bound string
		want        bool
	}{
		{"viewer", "viewer", true},
		{"viewer", "editor", true},
		{"editor", "viewer", false},
		{"admin", "owner", true},
		{"admin", "manager", false},
		{"approver", "manager", true},
		{"root", "admin", false},
		{"viewer", "root", false},
		{"", "", false},
	} {
		if got := auth.RoleWithin(row.role, row.bound); got != row.want {
			t.Errorf("%q within %q: %v", row.role, row.bound, got)
		}
	}
}
