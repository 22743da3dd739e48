package webhooks

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/stenometer/stenometer/outbound"
)

// Reason says why an attempt failed, or why a delivery was dropped.
type Reason string

// The reasons besides those of outbound.Reason, which stand here too where an address was not called.
const (
	TimedOut      Reason = "timeout"
	Unreachable   Reason = "connection_failed"
	Untrusted     Reason = "tls_failed"
	NotHTTP       Reason = "answer_invalid"
	Redirected    Reason = "redirected"
	RateLimited   Reason = "rate_limited"
	ClientError   Reason = "refused"
	ServerError   Reason = "server_error"
	Gone          Reason = "gone"
	Unsigned      Reason = "secret_unreadable"
	TooOld        Reason = "dropped_too_old"
	TooMany       Reason = "dropped_too_many"
	WasDisabled   Reason = "dropped_disabled"
	ShareEnded    Reason = "dropped_share_ended"
	noReason      Reason = ""
	unknownReason        = "The delivery failed."
)

// ReasonRow is one row of the table of reasons.
type ReasonRow struct {
	Reason  Reason
	Meaning string
	// Retried is true where the schedule goes on.
	Retried bool
}

// Reasons is the table. It is closed: programs branch on it, and the user guide has it.
func Reasons() []ReasonRow {
	rows := []ReasonRow{
		{TimedOut, "The receiver did not answer in time.", true},
		{Unreachable, "No connection could be made, or it broke.", true},
		{Untrusted, "The receiver's certificate is not trusted, or TLS 1.2 or newer could not be agreed on.", true},
		{NotHTTP, "What came is no answer of HTTP, or its headers are too long.", true},
		{RateLimited, "The receiver answered 429 or 408; its Retry-After is respected.", true},
		{ServerError, "The receiver answered 5xx.", true},
		{Redirected, "The receiver answered 3xx. Redirects are not followed.", false},
		{ClientError, "The receiver answered another 4xx.", false},
		{Gone, "The receiver answered 410: the webhook was disabled.", false},
		{Unsigned, "The secret cannot be read with the server's present SECRET_KEY: rotate it.", false},
		{TooOld, "It waited for longer than the server keeps deliveries waiting. It can be replayed.", false},
		{TooMany, "More waited than the server keeps waiting; the oldest was dropped. It can be replayed.", false},
		{WasDisabled, "The webhook was disabled while it waited. It can be replayed.", false},
		{ShareEnded, "The recording was shared no longer with the webhook's account.", false},
	}
	for _, refused := range []outbound.Reason{
		outbound.URLInvalid, outbound.SchemeRefused, outbound.HostInvalid, outbound.NameUnknown, outbound.AddressRefused,
	} {
		rows = append(rows, ReasonRow{Reason(refused), "The address was not called: " + refused.Meaning() + ".", true})
	}
	return rows
}

// Meaning is the reason's sentence.
func (r Reason) Meaning() string {
	for _, row := range Reasons() {
		if row.Reason == r {
			return row.Meaning
		}
	}
	return unknownReason
}

func (r Reason) retried() bool {
	for _, row := range Reasons() {
		if row.Reason == r {
			return row.Retried
		}
	}
	return false
}

// reasonOfError sorts what came instead of an answer. The error itself is not shown: it names addresses inside.
func reasonOfError(err error) Reason {
	var refused *outbound.Refused
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var connection *net.OpError
	switch {
	case errors.As(err, &refused):
		return Reason(refused.Reason)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return TimedOut
	case errors.As(err, &certificate), errors.As(err, &record), errors.As(err, &alert):
		return Untrusted
	case errors.As(err, &connection), errors.Is(err, syscall.ECONNRESET), errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF):
		return Unreachable
	}
	return NotHTTP
}

// reasonOfStatus is empty for a success.
func reasonOfStatus(status int) Reason {
	switch {
	case status >= 200 && status <= 299:
		return noReason
	case status == http.StatusGone:
		return Gone
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		return RateLimited
	case status >= http.StatusInternalServerError:
		return ServerError
	case status >= http.StatusBadRequest:
		return ClientError
	case status < http.StatusOK:
		return NotHTTP // no status that there is
	}
	return Redirected
}
