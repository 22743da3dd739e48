package accounts

import (
	"strings"

	"github.com/stenometer/stenometer/problems"
)

const (
	minPassword = 8
	// maxPassword keeps a stranger from having megabytes hashed.
	maxPassword = 1024
)

// passwordProblem is the policy of passwords, in whatever way one is set: long enough, and not what everybody knows of
// the account.
func passwordProblem(password, email, username string) error {
	if len(password) < minPassword || len(password) > maxPassword {
		return problems.New(problems.InvalidParameter, "password must have %d to %d bytes.", minPassword, maxPassword).
			With("field", "password").With("max_length", maxPassword)
	}
	for _, known := range []string{email, username} {
		if strings.EqualFold(password, known) {
			return problems.New(problems.InvalidParameter, "password must not be the account's e-mail address or username.").
				With("field", "password")
		}
	}
	return nil
}
