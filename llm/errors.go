package llm

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// Kind says what went wrong with a call.
type Kind string

// The kinds of failure.
const (
	TooLarge     Kind = "size_limit"
	TimedOut     Kind = "timeout"
	Unauthorized Kind = "auth"
	RateLimited  Kind = "rate_limit"
	Unreachable  Kind = "connection"
	ServiceFault Kind = "service_error"
	Refused      Kind = "format"
	Unpaid       Kind = "billing"
	WrongModel   Kind = "model"
	Unreadable   Kind = "unknown"
)

// errUnsent is in the error of a call whose caller left before a connection was made.
var errUnsent = errors.New("nothing was sent")

// Error is a failed call of an engine, told in our words: neither the provider's address, nor its key, nor anything
// that it said is in it, so that it may be shown and stored.
type Error struct {
	Kind Kind
	// Status is the provider's HTTP status when it refused with one, else 0.
	Status int
	// RetryAfter is the wait that the provider asked for, at most an hour; 0 when it asked for none.
	RetryAfter time.Duration

	message   string
	permanent bool
	// unsent is true when no connection was made: the provider has seen nothing.
	unsent bool
}

func (e *Error) Error() string {
	if e.Status == 0 {
		return e.message
	}
	return fmt.Sprintf("%s (status %d)", e.message, e.Status)
}

// Retryable reports whether the same call may succeed later.
func (e *Error) Retryable() bool { return !e.permanent }

// Permanent reports whether trying again is in vain: the provider refused in a way that repeats.
func Permanent(err error) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.permanent
}

// Problem is an *Error as callers of the API are told it; other errors are unchanged. A provider's 401 or 403 is the
// operator's matter and never the caller's.
func Problem(err error) error {
	var failure *Error
	if !errors.As(err, &failure) {
		return err
	}
	away := (failure.Kind == RateLimited || failure.Kind == Unreachable) && !failure.permanent
	return problems.OfProvider(failure.Error(), failure.Kind == TimedOut, away, failure.RetryAfter).Because(err)
}

// blamesProvider reports whether the provider is in trouble, and not the one request.
func (e *Error) blamesProvider() bool {
	switch {
	case e.Status != 0:
		return e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError
	default:
		return e.Kind == Unreachable || e.Kind == TimedOut || e.Kind == ServiceFault
	}
}

// refusesForm recognizes a server that may have no mode for JSON, or none for the usage of a stream: such servers refuse
// the whole request.
func refusesForm(err error) bool {
	var failure *Error
	return errors.As(err, &failure) && (failure.Status == http.StatusBadRequest || failure.Status == http.StatusUnprocessableEntity)
}

func isFailure(err error) bool {
	var failure *Error
	return errors.As(err, &failure)
}

// isRefusal reports whether the provider said no, with a status.
func isRefusal(err error) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.Status != 0
}

// isUnsent reports whether the provider has seen nothing of the call.
func isUnsent(err error) bool {
	var failure *Error
	return errors.Is(err, errUnsent) || errors.As(err, &failure) && failure.unsent
}

func permanent(kind Kind, status int, message string) *Error {
	return &Error{Kind: kind, Status: status, message: message, permanent: true}
}

func retryable(kind Kind, status int, message string) *Error {
	return &Error{Kind: kind, Status: status, message: message}
}
