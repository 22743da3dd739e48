package routes

import "time"

// The forms of times on the wire. The contract has two, and each field keeps its own; neither depends on the
// machine's zone.
const (
	naiveForm = "2006-01-02T15:04:05"
	microForm = "2006-01-02T15:04:05.000000Z"
)

// Naive is UTC without a zone, with six digits of fraction where it isn't zero: "2026-03-05T06:13:46.123456".
func Naive(t time.Time) string {
	t = t.UTC().Truncate(time.Microsecond)
	if t.Nanosecond() == 0 {
		return t.Format(naiveForm)
	}
	return t.Format(naiveForm + ".000000")
}

// Micro is UTC with six digits of fraction and a Z: "2026-03-05T06:13:46.000000Z".
func Micro(t time.Time) string { return t.UTC().Format(microForm) }

// NaiveOrNull is Naive of what may be absent.
func NaiveOrNull(t *time.Time) *string { return orNull(t, Naive) }

// MicroOrNull is Micro of what may be absent.
func MicroOrNull(t *time.Time) *string { return orNull(t, Micro) }

func orNull(t *time.Time, form func(time.Time) string) *string {
	if t == nil {
		return nil
	}
	text := form(*t)
	return &text
}
