package auth

// Role is one row of the table of roles. What a role may do beyond its own work is decided where those things
// are built; here is which names exist and which of them a new account may get.
type Role struct {
	Name string
	// Assignable roles can be given to an account; the others are only found in rows that came from elsewhere.
	Assignable bool
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
		{RoleAdmin, true},
		{"owner", false},
		{"manager", false},
		{RoleEditor, true},
		{"contributor", false},
		{RoleViewer, true},
		{"approver", false},
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
