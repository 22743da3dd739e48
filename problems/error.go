package problems

import (
	"errors"
	"fmt"
	"time"
)

// Error is a failure that has an answer: a kind, a sentence for the caller, and what else the answer carries.
// Its cause is logged and never shown.
type Error struct {
	Kind Kind
	// Message is shown to the caller. It names the field and the bound where there is one, never a secret.
	Message string
	// Fields are further members of the JSON body, beside "error" and "code".
	Fields map[string]any
	// RetryAfter is sent rounded up to whole seconds, at least 1; zero sends no header.
	RetryAfter time.Duration

	cause error
}

// New makes an error of a kind with a sentence for the caller.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// With adds one member to the answer's body and returns the same error.
func (e *Error) With(field string, value any) *Error {
	if e.Fields == nil {
		e.Fields = make(map[string]any)
	}
	e.Fields[field] = value
	return e
}

// Because records the cause, for the log alone, and returns the same error.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// After sets the wait that Retry-After tells and returns the same error.
func (e *Error) After(wait time.Duration) *Error {
	e.RetryAfter = wait
	return e
}

func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Kind.code, e.Message, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Kind.code, e.Message)
}

func (e *Error) Unwrap() error { return e.cause }

// UploadTooLarge are the members that clients of the contract read in the 413 of an upload whose file may have so
// many bytes, whoever refuses it.
func UploadTooLarge(bytes int64) map[string]any {
	megabytes := float64(bytes) / (1 << 20)
	return map[string]any{"max_size_mb": megabytes, "effective_limit_mb": megabytes, "audio_only_mode": false}
}

// Of finds the problem in an error's chain; an error without one is internal, with the error as its cause.
func Of(err error) *Error {
	var p *Error
	if errors.As(err, &p) {
		return p
	}
	return New(Internal, "Internal error.").Because(err)
}

// Is reports whether the error's chain holds a problem of this kind.
func Is(err error, kind Kind) bool {
	var p *Error
	return errors.As(err, &p) && p.Kind == kind
}
