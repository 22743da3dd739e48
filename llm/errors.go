package llm

import (
	"errors"
	"net/http"

	"github.com/stenometer/stenometer/providers"
)

// errUnsent is in the error of a call whose caller left before a connection was made.
var errUnsent = errors.New("nothing was sent")

// blamesProvider reports whether the provider is in trouble, and not the one request.
func blamesProvider(e *providers.Error) bool {
	switch {
	case e.Status != 0:
		return e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError
	default:
		return e.Kind == providers.Unreachable || e.Kind == providers.TimedOut || e.Kind == providers.ServiceFault
	}
}

// refusesForm recognizes a server that may have no mode for JSON, or none for the usage of a stream: such servers refuse
// the whole request.
func refusesForm(err error) bool {
	var failure *providers.Error
	return errors.As(err, &failure) && (failure.Status == http.StatusBadRequest || failure.Status == http.StatusUnprocessableEntity)
}

func isFailure(err error) bool {
	var failure *providers.Error
	return errors.As(err, &failure)
}

// isRefusal reports whether the provider said no, with a status.
func isRefusal(err error) bool {
	var failure *providers.Error
	return errors.As(err, &failure) && failure.Status != 0
}

// isUnsent reports whether the provider has seen nothing of the call.
func isUnsent(err error) bool {
	var failure *providers.Error
	return errors.Is(err, errUnsent) || errors.As(err, &failure) && failure.Unsent
}
