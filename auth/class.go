package auth

import (
	"net/http"

	"github.com/stenometer/stenometer/limits"
)

// classOf is the policy that decides about a row's requests while the storage of the limits does not answer: that of
// the category of its scopes. Rows without a scope, which are public or for sessions, follow write's where they have
// limits of their own, as signing in does, and by their method otherwise.
func classOf(row Row, scopes ...Scope) limits.Class {
	if len(scopes) == 0 {
		if len(row.Limits) == 0 && (row.Method == http.MethodGet || row.Method == http.MethodHead) {
			return limits.OnRead
		}
		return limits.OnWrite
	}
	switch CategoryOf(scopes...) {
	case CategoryProcess:
		return limits.OnProcess
	case CategoryWrite:
		return limits.OnWrite
	default:
		return limits.OnRead
	}
}
