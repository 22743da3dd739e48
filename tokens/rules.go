package tokens

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
)

const (
	// DefaultName is what a token without a name is called.
	DefaultName = "Unnamed Token"
	// MaxNameLength is in characters.
	MaxNameLength = 100
	// MaxExpiryDays bounds expires_in_days: a hundred years.
	MaxExpiryDays = 36500
	// MaxOverlapHours bounds how long a rotated token works beside its successor: a week.
	MaxOverlapHours = 168
)

// nameOf trims a name and judges it.
func nameOf(name string) (string, error) {
	name = strings.TrimSpace(name)
	length := utf8.RuneCountInString(name)
	if length < 1 || length > MaxNameLength {
		return "", problems.New(problems.InvalidParameter, "name must have 1 to %d characters, not %d.", MaxNameLength, length)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", problems.New(problems.InvalidParameter, "name must be text without control characters.")
	}
	return name, nil
}

// scopesOf reads the scopes that were asked for: at least one; "full" alone or known names.
func scopesOf(names []string) (auth.ScopeSet, error) {
	known := make(map[string]bool)
	for _, row := range auth.Scopes() {
		known[row.Scope.Name()] = true
	}
	if len(names) == 0 {
		return auth.ScopeSet{}, scopesProblem("scopes must name at least one scope; leave it out for a full token.")
	}
	asked := make(map[string]bool, len(names))
	for _, name := range names {
		name = strings.TrimSpace(name)
		if !known[name] && name != auth.FullName {
			return auth.ScopeSet{}, scopesProblem("scopes holds a name that is not a scope.")
		}
		asked[name] = true
	}
	if asked[auth.FullName] {
		if len(asked) > 1 {
			return auth.ScopeSet{}, scopesProblem(`scopes must hold "full" alone or without it.`)
		}
		return auth.FullScopes(), nil
	}
	unique := make([]string, 0, len(asked))
	for name := range asked {
		unique = append(unique, name)
	}
	return auth.ParseScopes(strings.Join(unique, " ")), nil
}

func scopesProblem(sentence string) error {
	var names []string
	for _, row := range auth.Scopes() {
		names = append(names, row.Scope.Name())
	}
	return problems.New(problems.InvalidParameter, "%s Scopes are %s and %s.",
		sentence, strings.Join(names, ", "), auth.FullName)
}

// expiryOf turns days into a moment; 0 is never.
func expiryOf(days int64, now time.Time) (*time.Time, error) {
	if days < 0 || days > MaxExpiryDays {
		return nil, problems.New(problems.InvalidParameter,
			"expires_in_days must be a whole number from 0 (never) to %d, not %d.", MaxExpiryDays, days)
	}
	if days == 0 {
		return nil, nil
	}
	moment := now.AddDate(0, 0, int(days))
	return &moment, nil
}

// earlier is the first of two moments; nil is never.
func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}
