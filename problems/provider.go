package problems

import (
	"cmp"
	"errors"
	"time"
)

// providerHint is the wait that is told of a provider which is busy or away and names none.
const providerHint = 5 * time.Second

// ProviderFailure is how a provider failed, in words that may be shown.
type ProviderFailure interface {
	error

	// Late reports whether it took too long.
	Late() bool
	// Away reports whether it is busy or cannot be reached, and the wait that it asked for, 0 for none.
	Away() (wait time.Duration, away bool)
}

// OfProvider is a ProviderFailure as a caller of the API is told it who waited for the provider; other errors are
// unchanged. A provider's 401 or 403 is the operator's matter and never the caller's.
func OfProvider(err error) error {
	var failure ProviderFailure
	if !errors.As(err, &failure) {
		return err
	}
	kind := ProviderFailed
	wait, away := failure.Away()
	switch {
	case failure.Late():
		kind, wait = ProviderTimeout, 0
	case away:
		kind, wait = ProviderUnavailable, cmp.Or(wait, providerHint)
	}
	return New(kind, "%s.", failure.Error()).After(wait).Because(err)
}
