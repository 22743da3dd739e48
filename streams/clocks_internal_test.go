package streams

import (
	"testing"
	"time"
)

// The reason of an end is the deadline that was due first, whichever timer told of it and however late; of two at the
// same moment it is the total's.
func TestTheReasonIsTheDeadlineThatWasDueFirst(t *testing.T) {
	t.Parallel()
	clocks := Clocks{FirstByte: 20 * time.Second, Idle: 5 * time.Second, Total: 60 * time.Second, ClientStall: 30 * time.Second}
	opened := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return opened.Add(time.Duration(seconds * float64(time.Second))) }
	for name, row := range map[string]struct {
		moments moments
		now     float64
		want    clock
	}{
		"nothing is due":                     {moments{opened: opened, waiting: opened}, 19.999, none},
		"the provider does not begin":        {moments{opened: opened, waiting: opened}, 20, firstByte},
		"seen long after":                    {moments{opened: opened, waiting: opened}, 3600, firstByte},
		"it begins and is silent":            {moments{opened: opened, heard: at(10)}, 15, idle},
		"it is not silent yet":               {moments{opened: opened, heard: at(10)}, 14.999, none},
		"idle was due before the total":      {moments{opened: opened, heard: at(54.9)}, 61, idle},
		"the total was due before idle":      {moments{opened: opened, heard: at(55.1)}, 61, total},
		"both at once":                       {moments{opened: opened, heard: at(55)}, 60, total},
		"a talker is not silent":             {moments{opened: opened, heard: at(58)}, 59.999, none},
		"the client takes nothing":           {moments{opened: opened, writing: at(10)}, 40, clientStall},
		"the total while the client stalls":  {moments{opened: opened, writing: at(31)}, 62, total},
		"nobody is waited for but the total": {moments{opened: opened}, 59.999, none},
		"the total alone":                    {moments{opened: opened}, 60, total},
	} {
		if got := clocks.passed(row.moments, at(row.now)); got != row.want {
			t.Errorf("%s: clock %d, want %d", name, got, row.want)
		}
	}
}
