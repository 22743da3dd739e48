package auth

// Role is one row of the table of roles: which names exist, which of them a new account may get, and what each may do
// beyond its own work.
type Role struct {
	Name string
	// Assignable roles can be given to an account; the others are only found in rows that came from elsewhere.
	Assignable bool
	// Publish is the verb of making public links, and of those that are there going on to work.
	Publish bool
}

// The roles that may be assigned.
const (
	RoleAdmin  = "admin"
	RoleEditor = "editor"
	RoleViewer = "viewer"
)

// Roles lists every role that a row may hold.
func Roles() []Role {
	return []Role{
		{Name: RoleAdmin, Assignable: true, Publish: true},
		{Name: "owner", Publish: true},
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

// MayPublish reports whether a role has the verb publish. A name that is no role has none of the verbs.
func MayPublish(role string) bool {
	for _, row := range Roles() {
		if row.Name == role {
			return row.Publish
		}
	}
	return false
}
