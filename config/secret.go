package config

import "log/slog"

// Secret is a value that no log, error or dump shows, whatever verb or encoder is used. The zero Secret is unset.
type Secret struct {
	// A pointer, because fmt prints a struct without asking its methods where it is an unexported field of another, and
	// under verbs such as %d; a pointer inside it is printed as an address.
	value *string
}

// NewSecret makes a secret of a value; of "" the unset one.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// Reveal returns the value itself, "" when unset. Call it only where the value is used.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsSet reports whether there is a value.
func (s Secret) IsSet() bool { return s.value != nil }

func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return hidden
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return "config.Secret(" + s.String() + ")" }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides the value from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
