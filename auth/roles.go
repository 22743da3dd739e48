package auth

import "slices"

// Role is one row of the table of roles: which names exist, which of them a new account may get, and what each may do
// beyond its own work. The CHECK constraints of the databases, the user guide and the answers that list roles are
// compared with this table by tests.
type Role struct {
	Name string
	// Assignable roles can be given to an account; the others are only found in rows that came from elsewhere.
	Assignable bool
	// verbs are what the role may do, AdministerMembers among them.
	verbs []Verb
}

// May reports whether the role has a verb.
func (r Role) May(verb Verb) bool { return slices.Contains(r.verbs, verb) }

// Verb is what only some roles may do. Verbs are made only in this file; no role has the zero Verb.
type Verb struct{ name, meaning string }

// Name is how the verb is written in the route table and in refusals.
func (v Verb) Name() string { return v.name }

// Meaning is the verb's sentence in the user guide.
func (v Verb) Meaning() string { return v.meaning }

// The verbs. AdministerMembers is the right to administer an organization and its members, which stands beside the five.
var (
	Publish            = Verb{"publish", "Make public links, and change what the organization shares: its tags, folders and prompt."}
	Approve            = Verb{"approve", "Mark a summary approved, which locks it against being rewritten by itself."}
	AcceptMemoryRule   = Verb{"accept_memory_rule", "Accept a proposed word into the organization's vocabulary."}
	ManageIntegrations = Verb{"manage_integrations", "Manage the webhooks and hooks of the organization."}
	ManageTeamBilling  = Verb{"manage_team_billing", "See what the organization spends, and set budgets and limits."}
	AdministerMembers  = Verb{"administer_members", "Administer the organization, its members and their invites."}
)

// Verbs lists them in the order of the table's columns.
func Verbs() []Verb {
	return []Verb{Publish, Approve, AcceptMemoryRule, ManageIntegrations, ManageTeamBilling, AdministerMembers}
}

// The roles that may be assigned.
const (
	RoleAdmin  = "admin"
	RoleEditor = "editor"
	RoleViewer = "viewer"
)

// DefaultRole is what an account gets for which nobody chose.
const DefaultRole = RoleEditor

// Roles lists every role that a row may hold.
func Roles() []Role {
	manager := []Verb{Publish, Approve, AcceptMemoryRule}
	return []Role{
		{RoleAdmin, true, Verbs()},
		{"owner", false, Verbs()},
		{"manager", false, manager},
		{RoleEditor, true, []Verb{Publish}},
		{"contributor", false, nil},
		{RoleViewer, true, nil},
		{"approver", false, manager},
	}
}

// AssignableRoles lists the names that an account may be given.
func AssignableRoles() []string {
	var names []string
	for _, role := range Roles() {
		if role.Assignable {
			names = append(names, role.Name)
		}
	}
	return names
}

// RolesThatMay lists the names of those that have a verb, for questions to the database.
func RolesThatMay(verb Verb) []string {
	var names []string
	for _, role := range Roles() {
		if role.May(verb) {
			names = append(names, role.Name)
		}
	}
	return names
}

// roleNamed is the row of exactly this name.
func roleNamed(name string) (Role, bool) {
	for _, role := range Roles() {
		if role.Name == name {
			return role, true
		}
	}
	return Role{}, false
}

// RoleMay reports whether a role has a verb. A name that is no role has none of the verbs.
func RoleMay(name string, verb Verb) bool {
	role, known := roleNamed(name)
	return known && role.May(verb)
}

// RoleWithin reports whether a role may do nothing that another may not: who has the other may give it to somebody. A
// name that is no role is within none, and nothing is within it.
func RoleWithin(name, other string) bool {
	role, known := roleNamed(name)
	bound, exists := roleNamed(other)
	if !known || !exists {
		return false
	}
	for _, verb := range role.verbs {
		if !bound.May(verb) {
			return false
		}
	}
	return true
}
