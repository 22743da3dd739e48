package config

import (
	"log/slog"
	"net/url"
	"strings"
)

// Location is an address of a service of the operator's. It may hold a password, which no log, error or dump shows.
// The zero Location is unset.
type Location struct {
	secret Secret
}

// NewLocation makes a location of an address; of "" the unset one.
func NewLocation(address string) Location { return Location{NewSecret(address)} }

// Reveal returns the whole address, password included; "" when unset.
func (l Location) Reveal() string { return l.secret.Reveal() }

// IsSet reports whether there is an address.
func (l Location) IsSet() bool { return l.secret.IsSet() }

// Scheme is what stands before "://", in lower case; "" when unset.
func (l Location) Scheme() string {
	scheme, _, _ := strings.Cut(l.Reveal(), "://")
	return strings.ToLower(scheme)
}

// String is the address without what may be secret: the query is left out, and everything behind the scheme of an
// address that names a user (a password with a slash in it could look like a path).
func (l Location) String() string {
	whole := l.Reveal()
	if whole == "" {
		return ""
	}
	scheme, _, ok := strings.Cut(whole, "://")
	if _, err := url.Parse(whole); err != nil || !ok || !plainScheme(scheme) {
		return hidden
	}
	if strings.Contains(whole, "@") {
		return scheme + "://…"
	}
	if before, _, found := strings.Cut(whole, "?"); found {
		return before + "?…"
	}
	return whole
}

func plainScheme(scheme string) bool {
	return scheme != "" && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+") == ""
}

// GoString hides a password from %#v.
func (l Location) GoString() string { return "config.Location(" + l.String() + ")" }

// MarshalText hides a password from encoders.
func (l Location) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// LogValue hides a password from slog.
func (l Location) LogValue() slog.Value { return slog.StringValue(l.String()) }
