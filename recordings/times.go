package recordings

import (
	"strings"
	"time"
)

// clocks and zones are the forms of ISO 8601 that the contract's clients send, any of the one before any of the
// other; fractions of a second are taken by Parse wherever seconds stand.
var (
	clocks = []string{
		"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15", "20060102T150405", "20060102T1504", "20060102T15",
	}
	zones = []string{"Z07:00", "Z0700", "Z07", ""}
)

// ParseTime reads a date or date-time as clients write it and gives it in UTC, to the microsecond: with an offset
// it is converted, without one it is UTC, a bare date is its midnight. dateOnly tells a bare date apart. ok is
// false for everything else, days that no calendar has included.
func ParseTime(text string) (at time.Time, dateOnly, ok bool) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{"2006-01-02", "20060102"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true, storable(at)
		}
	}
	if len(text) > 10 && text[10] == ' ' {
		text = text[:10] + "T" + text[11:]
	}
	// In a query string a raw plus sign arrives as a space.
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		text = text[:i] + "+" + text[i+1:]
	}
	for _, clock := range clocks {
		for _, zone := range zones {
			if at, err := time.Parse(clock+zone, text); err == nil {
				at = at.UTC().Truncate(time.Microsecond)
				return at, false, storable(at)
			}
		}
	}
	return time.Time{}, false, false
}

// storable keeps to the years that both databases and four digits hold.
func storable(at time.Time) bool { return at.Year() >= 1 && at.Year() <= 9999 }
