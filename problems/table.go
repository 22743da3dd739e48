// Package problems is the one table of what can go wrong in front of a caller: the kinds of failure, each with a
// stable code and a status. Everything below the door returns an error; the door turns it into one answer by this
// table. An error that is not in the table is "internal": logged whole, shown bare.
package problems

import "net/http"

// Kind is one row of the table. Kinds are made only here; the zero Kind is treated as internal.
type Kind struct {
	code    string
	status  int
	meaning string
}

// Code is the stable name that clients branch on.
func (k Kind) Code() string { return k.code }

// Status is the HTTP status of an answer of this kind.
func (k Kind) Status() int { return k.status }

// Meaning is the sentence of the user guide for this kind.
func (k Kind) Meaning() string { return k.meaning }

// The kinds of failure. Add one line here and its row in docs/user-guide/api-reference.md; a test compares them.
var (
	BadRequest             = Kind{"bad_request", http.StatusBadRequest, "The request could not be read: malformed JSON, a malformed form, or a body cut short."}
	InvalidParameter       = Kind{"invalid_parameter", http.StatusBadRequest, "A field or query parameter has a value outside what is allowed; the error names both."}
	InvalidMedia           = Kind{"invalid_media", http.StatusBadRequest, "The file is empty, or is not audio or video that can be decoded."}
	NoTimings              = Kind{"no_timings", http.StatusBadRequest, "The transcript has no times, so that subtitles cannot be made of it."}
	InvalidToken           = Kind{"invalid_token", http.StatusUnauthorized, "A credential was sent and is not valid: unknown, expired, revoked, malformed, two different ones, or in a place where it does not count."}
	AuthenticationRequired = Kind{"authentication_required", http.StatusUnauthorized, "No credential was sent."}
	InvalidCredentials     = Kind{"invalid_credentials", http.StatusUnauthorized, "The e-mail address or the password is wrong."}
	InsufficientScope      = Kind{"insufficient_scope", http.StatusForbidden, "The token is valid but lacks a scope that the route asks for."}
	CrossOrigin            = Kind{"cross_origin", http.StatusForbidden, "A request that changes something came with a session cookie but from another site."}
	RegistrationClosed     = Kind{"registration_closed", http.StatusForbidden, "This server does not take registrations."}
	InvalidLink            = Kind{"invalid_link", http.StatusBadRequest, "The link of an invite or of a forgotten password is unknown, was used or withdrawn, or has expired."}
	OIDCRefused            = Kind{"oidc_refused", http.StatusForbidden, "The sign-in by OpenID Connect was refused; the error says why."}
	OIDCUnavailable        = Kind{"oidc_unavailable", http.StatusServiceUnavailable, "The issuer of OpenID Connect cannot be reached, or answered what cannot be used; try again after Retry-After."}
	NotFound               = Kind{"not_found", http.StatusNotFound, "There is no such thing, or none that the caller may see."}
	ModelNotFound          = Kind{"model_not_found", http.StatusNotFound, "This server has no model of this name for its clients; GET /v1/models lists those that it has."}
	MethodNotAllowed       = Kind{"method_not_allowed", http.StatusMethodNotAllowed, "The path exists, the method does not; Allow lists those that do."}
	Conflict               = Kind{"conflict", http.StatusConflict, "The request contradicts the present state, such as a name that is taken."}
	InvalidState           = Kind{"invalid_state", http.StatusBadRequest, "The recording is not in a state in which this can be done."}
	TokenLimitReached      = Kind{"token_limit_reached", http.StatusConflict, "The account has as many active tokens as it may; revoking one frees a slot."}
	PreconditionFailed     = Kind{"precondition_failed", http.StatusPreconditionFailed, "If-Match names a state that is no longer the present one; read it again and decide anew."}
	FeatureDisabled        = Kind{"feature_disabled", http.StatusForbidden, "The operator has switched this feature off."}
	InsufficientPermission = Kind{"insufficient_permission", http.StatusForbidden, "The account's role does not have the verb that this takes, which required_permission names; or it is administration, and the token was not made for that; or the recording is shared with the account for less than this."}
	HTTPSRequired          = Kind{"https_required", http.StatusForbidden, "A public link is made over HTTPS only."}
	CursorExpired          = Kind{"cursor_expired", http.StatusGone, "The cursor is older than what is remembered; begin a full pass."}
	WebhookLimitReached    = Kind{"webhook_limit_reached", http.StatusConflict, "The account has as many webhooks as it may; deleting one frees a slot."}
	SemanticUnavailable    = Kind{"semantic_unavailable", http.StatusConflict, "This server has no search by meaning."}
	IdempotencyKeyReused   = Kind{"idempotency_key_reused", http.StatusUnprocessableEntity, "The idempotency key was used for another request; send each request with a key of its own."}
	IdempotencyInProgress  = Kind{"idempotency_in_progress", http.StatusConflict, "A request with the same idempotency key is being worked on; ask again after Retry-After for its answer."}
	PayloadTooLarge        = Kind{"payload_too_large", http.StatusRequestEntityTooLarge, "The body, the file or one of its fields is larger than allowed."}
	UnsupportedMediaType   = Kind{"unsupported_media_type", http.StatusUnsupportedMediaType, "The Content-Type or Content-Encoding is not one that the route reads."}
	RangeNotSatisfiable    = Kind{"range_not_satisfiable", http.StatusRequestedRangeNotSatisfiable, "The range lies outside the file; Content-Range tells its size."}
	HeadersTooLarge        = Kind{"headers_too_large", http.StatusRequestHeaderFieldsTooLarge, "The request's headers are larger than 32 KiB."}

	BudgetExceeded = Kind{"budget_exceeded", http.StatusPaymentRequired, "The month's budget has no room for what this can cost. Retry-After is there where only work in flight is in the way."}

	TokenRateLimited        = Kind{"token_rate_limit_exceeded", http.StatusTooManyRequests, "The token has used up its requests of this category."}
	AccountRateLimited      = Kind{"account_rate_limit_exceeded", http.StatusTooManyRequests, "All tokens of the account together have used up its requests of this category."}
	UserRateLimited         = Kind{"user_rate_limit_exceeded", http.StatusTooManyRequests, "The account has used up a limit of this route."}
	UserAIRateLimited       = Kind{"user_ai_rate_limit_exceeded", http.StatusTooManyRequests, "The account has used up its requests that start paid work."}
	OrganizationRateLimited = Kind{"organization_rate_limit_exceeded", http.StatusTooManyRequests, "The organization has used up its requests that start paid work."}
	AddressRateLimited      = Kind{"address_rate_limit_exceeded", http.StatusTooManyRequests, "Too many requests came from this address."}

	StreamLimitReached = Kind{"stream_limit_reached", http.StatusTooManyRequests, "The organization has as many streams open as it may; one that ends frees its slot."}

	FirstByteTimeout = Kind{"first_byte_timeout", http.StatusGatewayTimeout, "In place of a stream: the text service did not begin to answer in time."}
	IdleTimeout      = Kind{"idle_timeout", http.StatusGatewayTimeout, "In a stream: the text service began to answer and then was silent for too long."}
	TotalTimeout     = Kind{"total_timeout", http.StatusGatewayTimeout, "In a stream, or in place of one: the answer took longer than any may."}
	StreamSlotLost   = Kind{"stream_slot_lost", http.StatusServiceUnavailable, "In a stream: its slot could not be kept, because the storage of the limits did not answer or has forgotten it."}

	ProviderFailed      = Kind{"provider_failed", http.StatusBadGateway, "The speech or text service failed, or answered what cannot be used."}
	InquireFailed       = Kind{"inquire_failed", http.StatusBadGateway, "A question about many recordings was not answered: the text service failed, or answered what cannot be used."}
	ProviderUnavailable = Kind{"provider_unavailable", http.StatusServiceUnavailable, "The speech or text service is busy or cannot be reached; try again after Retry-After."}
	ProviderTimeout     = Kind{"provider_timeout", http.StatusGatewayTimeout, "The speech or text service did not answer in time."}
	ModelUnavailable    = Kind{"model_unavailable", http.StatusServiceUnavailable, "This server has no model that can do this; its operator can set one."}

	Internal            = Kind{"internal", http.StatusInternalServerError, "Something failed that is not the caller's fault; the log has the whole of it under the request id."}
	Timeout             = Kind{"timeout", http.StatusServiceUnavailable, "The request took longer than the server allows."}
	RequestTimeout      = Kind{"request_timeout", http.StatusRequestTimeout, "The body arrived too slowly or stopped arriving."}
	DatabaseUnavailable = Kind{"database_unavailable", http.StatusServiceUnavailable, "The database did not answer; try again after Retry-After."}
	LimitsUnavailable   = Kind{"limits_unavailable", http.StatusServiceUnavailable, "The storage of the limits did not answer, so that nothing is let in; try again after Retry-After."}
	StorageUnavailable  = Kind{"storage_unavailable", http.StatusServiceUnavailable, "The file storage did not answer; try again after Retry-After."}
	Starting            = Kind{"server_starting", http.StatusServiceUnavailable, "The server is opening its database; try again after Retry-After."}
	Stopping            = Kind{"server_stopping", http.StatusServiceUnavailable, "The server is stopping and takes no new work."}
	SpoolFull           = Kind{"spool_full", http.StatusServiceUnavailable, "The server holds as much as it may from senders that are not known yet; try again after Retry-After, or send what authenticates before the file."}
	StorageFull         = Kind{"storage_full", http.StatusInsufficientStorage, "The server has no room left; nothing was stored or changed."}
)

// Table lists every kind, in the order in which the user guide shows them.
func Table() []Kind {
	return []Kind{
		BadRequest, InvalidParameter, InvalidMedia, NoTimings, InvalidState,
		InvalidLink, InvalidToken, AuthenticationRequired, InvalidCredentials,
		BudgetExceeded, InsufficientScope, CrossOrigin, RegistrationClosed, OIDCRefused, FeatureDisabled, InsufficientPermission, HTTPSRequired,
		NotFound, ModelNotFound, MethodNotAllowed, RequestTimeout, Conflict, TokenLimitReached, WebhookLimitReached, SemanticUnavailable, IdempotencyInProgress,
		CursorExpired, PreconditionFailed, PayloadTooLarge, UnsupportedMediaType, IdempotencyKeyReused,
		RangeNotSatisfiable, TokenRateLimited, AccountRateLimited, UserRateLimited, UserAIRateLimited,
		OrganizationRateLimited, AddressRateLimited, StreamLimitReached, HeadersTooLarge,
		ProviderFailed, InquireFailed, ProviderUnavailable, ProviderTimeout, ModelUnavailable, OIDCUnavailable,
		FirstByteTimeout, IdleTimeout, TotalTimeout, StreamSlotLost,
		Internal, Timeout, DatabaseUnavailable, LimitsUnavailable, StorageUnavailable, SpoolFull, Starting, Stopping, StorageFull,
	}
}
