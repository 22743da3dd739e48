package config

import (
	"errors"
	"regexp"
	"strings"
	"unicode"
)

const (
	hostPatternAllowed = "a regular expression of at most 1000 characters, without spaces"
	longestPattern     = 1000
)

// HostPattern is a set of hosts. Its zero value is empty.
type HostPattern struct{ whole *regexp.Regexp }

// Whole matches a host from its first letter to its last; nil where no host is meant. A pattern that matched anywhere
// would let in whoever has a name with the right part in it.
func (p HostPattern) Whole() *regexp.Regexp { return p.whole }

// ParseHostPattern reads one.
func ParseHostPattern(text string) (HostPattern, error) {
	refused := errors.New("must be " + hostPatternAllowed)
	if len(text) > longestPattern || strings.ContainsFunc(text, unicode.IsSpace) {
		return HostPattern{}, refused
	}
	// Alone first, or a parenthesis too many could close the frame.
	if _, err := regexp.Compile(text); err != nil {
		return HostPattern{}, refused
	}
	whole, err := regexp.Compile("^(?:" + text + ")$")
	if err != nil {
		return HostPattern{}, refused
	}
	return HostPattern{whole}, nil
}
