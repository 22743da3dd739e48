package auth

// Role is one row of the table of roles: which names exist, which of them a new account may get, and what each may do
// beyond its own work.
type Role struct {
	Name string
	// Assignable roles can be given to an account; the others are only found in rows that came from elsewhere.
	Assignable bool
	// Publish is the verb of making public links, and of those that are there going on to work.
	Publish bool
	// ManageTeamBilling is the verb of seeing and setting what the organization may spend.
	ManageTeamBilling bool
}

// Verb is what only some roles may do. Verbs are made only in this file; no role has the zero Verb.
type Verb struct{ name string }

// Name is how the verb is written in the route table.
func (v Verb) Name() string { return v.name }

// The verbs.
var (
	Publish           = Verb{"publish"}
	ManageTeamBilling = Verb{"manage_team_billing"}
)

// The roles that may be assigned.
const (
	RoleAdmin  = "admin"
	RoleEditor = "editor"
	RoleViewer = "viewer"
)

// Roles lists every role that a row may hold.
func Roles() []Role {
	return []Role{
		{Name: RoleAdmin, Assignable: true, Publish: true, ManageTeamBilling: true},
		{Name: "owner", Publish: true, ManageTeamBilling: true},
		{Name: "manager", Publish: true},
		{Name: RoleEditor, Assignable: true, Publish: true},
		{Name: "contributor"},
		{Name: RoleViewer, Assignable: true},
		{Name: "approver", Publish: true},
	}
}

// AssignableRoles lists the names that a new account may get.
func AssignableRoles() []string {
	var names []string
	for _, role := range Roles() {
		if role.Assignable {
			names = append(names, role.Name)
		}
	}
	return names
}

// MayPublish reports whether a role has the verb publish.
func MayPublish(role string) bool { return RoleMay(role, Publish) }

// RoleMay reports whether a role has a verb. A name that is no role has none of the verbs.
func RoleMay(role string, verb Verb) bool {
	for _, row := range Roles() {
		if row.Name == role {
			return verb == Publish && row.Publish || verb == ManageTeamBilling && row.ManageTeamBilling
		}
	}
	return false
}
