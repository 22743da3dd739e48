package problems

import "net/http"

// OpenAIError is the body of a refusal on OpenAI's wire. What else the refusal tells stands in its object, which is all
// of a refusal that OpenAI's own clients hand on.
func OpenAIError(kind Kind, message string, fields map[string]any) map[string]any {
	object := make(map[string]any, len(fields)+4)
	for name, value := range fields {
		object[name] = value
	}
	object["message"], object["type"], object["param"], object["code"] = message, kind.OpenAIType(), fields["field"], kind.Code()
	delete(object, "field")
	return map[string]any{"error": object}
}

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
