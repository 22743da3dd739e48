// Package providers has what is the same for the services of text models and of speech engines: how calls of them fail, and
// how texts are cut for them.
package providers

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what went wrong with a call, under the names that the contract uses for a failed transcription.
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

// Error is a failed call, told in our words: neither the provider's address, nor its key, nor anything that it said is in
// it, so that it may be shown and stored.
type Error struct {
	Kind Kind
	// Status is the provider's HTTP status when it refused with one, else 0.
	Status int
	// Message is a sentence without its full stop.
	Message string
	// RetryAfter is the wait that the provider asked for, at most an hour; 0 when it asked for none.
	RetryAfter time.Duration
	// Permanent is true where trying again is in vain: the provider refused in a way that repeats.
	Permanent bool
	// Unsent is true where it is known that the provider has seen nothing of the call.
	Unsent bool
}

// Permanent is a failure that trying again does not mend.
func Permanent(kind Kind, status int, message string) *Error {
	return &Error{Kind: kind, Status: status, Message: message, Permanent: true}
}

// Retryable is a failure after which the same call may succeed later.
func Retryable(kind Kind, status int, message string) *Error {
	return &Error{Kind: kind, Status: status, Message: message}
}

func (e *Error) Error() string {
	if e.Status == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s (status %d)", e.Message, e.Status)
}

// Late implements problems.ProviderFailure.
func (e *Error) Late() bool { return e.Kind == TimedOut }

// Away implements problems.ProviderFailure.
func (e *Error) Away() (wait time.Duration, away bool) {
	return e.RetryAfter, (e.Kind == RateLimited || e.Kind == Unreachable) && !e.Permanent
}

// IsPermanent reports whether an error is a failure that trying again does not mend.
func IsPermanent(err error) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.Permanent
}

// Wait is how long the provider asked to be left alone before the call is made again; 0 for not at all.
func Wait(err error) time.Duration {
	var failure *Error
	if !errors.As(err, &failure) || failure.Permanent {
		return 0
	}
	return failure.RetryAfter
}
