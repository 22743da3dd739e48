package speech

import (
	"errors"
	"fmt"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// Kind says what went wrong, under the names that the contract uses for a failed transcription.
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

// Error is a failed call of an engine, told in our words: neither the service's address, nor its key, nor anything that
// it said is in it, so that it may be shown and stored.
type Error struct {
	Kind Kind
	// Status is the service's HTTP status; 0 when none came.
	Status int
	// RetryAfter is the wait that the service asked for, at most an hour; 0 when it asked for none.
	RetryAfter time.Duration

	message   string
	permanent bool
	// untried is true when the call was not made at all, because the service is left alone.
	untried bool
}

func (e *Error) Error() string {
	if e.Status == 0 {
		return e.message
	}
	return fmt.Sprintf("%s (status %d)", e.message, e.Status)
}

// Retryable reports whether the same call may succeed later.
func (e *Error) Retryable() bool { return !e.permanent }

// Wait is how long the service asked to be left alone; 0 for not at all.
func Wait(err error) time.Duration {
	var failure *Error
	if !errors.As(err, &failure) || failure.permanent {
		return 0
	}
	return failure.RetryAfter
}

// Permanent reports whether trying again is in vain: the service refused in a way that repeats.
func Permanent(err error) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.permanent
}

// Problem is an *Error as a caller is told it who waited for the engine; other errors are unchanged. A service's 401 or
// 403 is the operator's matter and never the caller's.
func Problem(err error) error {
	var failure *Error
	if !errors.As(err, &failure) {
		return err
	}
	away := (failure.Kind == RateLimited || failure.Kind == Unreachable) && !failure.permanent
	return problems.OfProvider(failure.Error(), failure.Kind == TimedOut, away, failure.RetryAfter).Because(err)
}

func permanent(kind Kind, status int, message string) *Error {
	return &Error{Kind: kind, Status: status, message: message, permanent: true}
}

func retryable(kind Kind, status int, message string) *Error {
	return &Error{Kind: kind, Status: status, message: message}
}
