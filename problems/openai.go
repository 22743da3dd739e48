package problems

import "net/http"

// OpenAIType is the word for the kind in the error object of OpenAI's wire, by which its clients tell whose fault a
// failure is.
func (k Kind) OpenAIType() string {
	switch k.status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "insufficient_quota"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	}
	if k.status >= http.StatusInternalServerError || k.status == 0 {
		return "server_error"
	}
	return "invalid_request_error"
}
