package problems

import (
	"cmp"
	"time"
)

// providerHint is the wait that is told of a provider which is busy or away and names none.
const providerHint = 5 * time.Second

// OfProvider is the failure of a provider as a caller is told it who waited: it was late, or it is away and trying again
// may help, or it failed in another way. wait is what it asked for, 0 for nothing.
func OfProvider(message string, late, away bool, wait time.Duration) *Error {
	kind := ProviderFailed
	switch {
	case late:
		kind, wait = ProviderTimeout, 0
	case away:
		kind, wait = ProviderUnavailable, cmp.Or(wait, providerHint)
	}
	return New(kind, "%s.", message).After(wait)
}
