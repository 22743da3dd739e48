package v1

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// readScope reads whose recordings are asked for.
func readScope(query url.Values) (recordings.Scope, error) {
	switch scope := recordings.Scope(query.Get("scope")); scope {
	case "":
		return recordings.ScopeOwn, nil
	case recordings.ScopeOwn, recordings.ScopeShared, recordings.ScopeAll:
		return scope, nil
	}
	return "", problems.New(problems.InvalidParameter, "scope must be own, shared or all.")
}

// isText tells whether the databases can hold the text and it is not too long.
func isText(text string, most int) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0) && utf8.RuneCountInString(text) <= most
}

// moment reads a date or date-time; nil when there is none.
func moment(query url.Values, name string) (*time.Time, error) {
	at, _, err := readMoment(query, name)
	return at, err
}

// lastMoment is moment for the end of a period: a bare date includes its whole day.
func lastMoment(query url.Values, name string) (*time.Time, error) {
	at, dateOnly, err := readMoment(query, name)
	if dateOnly {
		at = new(at.AddDate(0, 0, 1).Add(-time.Microsecond))
	}
	return at, err
}

// readMoment refuses what is no date: without the bound an answer would show what was not asked for.
func readMoment(query url.Values, name string) (at *time.Time, dateOnly bool, err error) {
	text := query.Get(name)
	if text == "" {
		return nil, false, nil
	}
	read, dateOnly, ok := recordings.ParseTime(text)
	if !ok {
		return nil, false, problems.New(problems.InvalidParameter, "%s must be a date or date-time of ISO 8601.", name)
	}
	return &read, dateOnly, nil
}

// wholeNumber reads an id; one beyond int64 is the largest, which nothing has.
func wholeNumber(text string) (int64, bool) {
	value, err := strconv.ParseInt(text, 10, 64)
	return value, err == nil || errors.Is(err, strconv.ErrRange)
}

// flag reads a mark that may be asked for either way; nil when it isn't asked for.
func flag(query url.Values, name string) *bool {
	if !query.Has(name) {
		return nil
	}
	wanted := false
	switch strings.ToLower(query.Get(name)) {
	case "true", "1", "yes", "on":
		wanted = true
	}
	return &wanted
}

// within reads a number from 1 to most; what is no number is the default.
func within(values url.Values, name string, otherwise, most int) (int, error) {
	value, err := strconv.ParseInt(values.Get(name), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return otherwise, nil
	}
	if value < 1 || value > int64(most) {
		return 0, problems.New(problems.InvalidParameter, "%s must be a whole number from 1 to %d.", name, most)
	}
	return int(value), nil
}
