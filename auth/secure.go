package auth

import (
	"net/http"
	"strings"
)

// Secure reports whether the client speaks TLS: with us, or with a trusted proxy that says so. What a stranger
// writes in the header is not believed. Where each proxy adds its own word the one counts that the outermost of
// ours wrote; most proxies write over what was there.
func (a *Addresses) Secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	peer, _ := parseHop(r.RemoteAddr)
	if a.count == 0 || !a.trusts(peer) {
		return false
	}
	words := strings.Split(strings.Join(r.Header["X-Forwarded-Proto"], ","), ",")
	word := words[max(0, len(words)-a.count)]
	return strings.EqualFold(strings.TrimSpace(word), "https")
}
