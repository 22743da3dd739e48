package routes

import (
	"testing"
	"time"
)

// A time has the same form whatever zone it comes in.
func TestTimesOnTheWire(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("Tokyo", 9*3600)
	for _, row := range []struct {
		in           time.Time
		naive, micro string
	}{
		{time.Date(2026, 3, 5, 8, 30, 15, 0, tokyo), "2026-03-04T23:30:15", "2026-03-04T23:30:15.000000Z"},
		{time.Date(2026, 3, 5, 6, 13, 46, 123456789, time.UTC), "2026-03-05T06:13:46.123456", "2026-03-05T06:13:46.123456Z"},
		{time.Date(2026, 3, 5, 6, 13, 46, 120000000, time.UTC), "2026-03-05T06:13:46.120000", "2026-03-05T06:13:46.120000Z"},
		{time.Date(2026, 3, 5, 6, 13, 46, 999, time.UTC), "2026-03-05T06:13:46", "2026-03-05T06:13:46.000000Z"},
	} {
		if got := Naive(row.in); got != row.naive {
			t.Errorf("Naive(%v) = %s, want %s", row.in, got, row.naive)
		}
		if got := Micro(row.in); got != row.micro {
			t.Errorf("Micro(%v) = %s, want %s", row.in, got, row.micro)
		}
	}
	if NaiveOrNull(nil) != nil || MicroOrNull(nil) != nil {
		t.Error("an absent time is not null")
	}
}
