package outbound

import (
	"net/url"
	"strings"
)

// ProviderOf names who answers at an address of the configuration: "openai" for OpenAI itself, which an empty address
// means too, else host and port as they are written. Never more of the address: it may hold a password.
func ProviderOf(base string) string {
	parsed, err := url.Parse(base)
	switch {
	case base == "", err == nil && strings.EqualFold(parsed.Host, "api.openai.com"):
		return "openai"
	case err != nil:
		return "unknown"
	}
	return strings.ToLower(parsed.Host)
}
