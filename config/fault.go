package config

import (
	"fmt"
	"strings"
)

// Fault is one value that cannot be used.
type Fault struct {
	// Variable is the setting, or the place in the `.env` file where there is none.
	Variable string
	// Value is what was read, as far as it may be shown: never a secret, never a password in an address.
	Value string
	// Allowed says what would be right.
	Allowed string
}

func (f Fault) String() string {
	if f.Value == "" {
		return fmt.Sprintf("%s: %s", f.Variable, f.Allowed)
	}
	return fmt.Sprintf("%s=%s: %s", f.Variable, f.Value, f.Allowed)
}

// Faults is every fault of a configuration, as one error with one line a fault.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// Warning is something in the configuration that does not stop the start but is probably not meant.
type Warning struct {
	Variable string
	Text     string
}

func (w Warning) String() string { return w.Variable + ": " + w.Text }

// shown is a value as a fault may quote it: on one line, and cut where it is long. What names a user may name a
// password too, also where the setting allows neither.
func shown(value string) string {
	const longest = 120
	if strings.Contains(value, "@") {
		return NewLocation(value).String()
	}
	if len(value) > longest {
		return fmt.Sprintf("%q…", value[:longest])
	}
	return fmt.Sprintf("%q", value)
}

// hidden stands in a fault for a value that may hold a secret.
const hidden = "(not shown)"
