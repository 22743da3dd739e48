package metrics

import "github.com/prometheus/client_golang/prometheus"

// roles counts requests of accounts whose role is none of the table's.
type roles struct{ unknown, missing prometheus.Counter }

func newRoles() *roles {
	return &roles{
		unknown: counter("authz_unknown_role_total", "Requests of accounts whose role is none that there is; it has no permission."),
		missing: counter("authz_missing_role_total", "Requests of accounts without a role, which has no permission."),
	}
}

// UnknownRole counts a request of an account whose role is none that there is.
func (m *Metrics) UnknownRole() { m.roles.unknown.Inc() }

// MissingRole counts a request of an account without a role.
func (m *Metrics) MissingRole() { m.roles.missing.Inc() }
