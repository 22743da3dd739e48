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
		auth.Publish: "admin owner manager editor approver", auth.ManageTeamBilling: "admin owner", {}: "",
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
		for _, none := range []string{"", "Admin", "admin ", "root"} {
			if auth.RoleMay(none, verb) {
				t.Errorf("%q may %q", none, verb.Name())
			}
		}
	}
	var nobody auth.Principal
	if nobody.May(auth.ManageTeamBilling) {
		t.Error("the zero Principal may administer")
	}
}
