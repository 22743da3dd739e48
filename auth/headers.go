package auth

import (
	"net/http"
	"strings"

	"github.com/stenometer/stenometer/limits"
)

const (
	cacheControl = "Cache-Control"
	vary         = "Vary"
	// varyPlaces names every place of a credential: a shared cache must never hand one caller's answer to another.
	varyPlaces = "Authorization, X-API-Token, API-Token, Cookie"
)

// writeHeaders sets what every guarded answer carries: how its limits stand, and that no shared cache keeps it.
func (v *visit) writeHeaders(h http.Header) {
	switch set := h.Get(cacheControl); {
	case set == "":
		h.Set(cacheControl, "private")
	case strings.Contains(set, "private"), strings.Contains(set, "no-store"):
	case strings.Contains(set, "public"):
		h.Set(cacheControl, "private")
	default:
		h.Set(cacheControl, "private, "+set)
	}
	h.Add(vary, varyPlaces)
	limits.WriteHeaders(h, v.states, v.refused, v.now())
}
