package limits_test

import (
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
)

// Slots are the leases by another name: as many as there are places, kept by renewal, free when given back.
func TestSlotsAreLeases(t *testing.T) {
	t.Parallel()
	slots := limits.Slots{Leases: limits.NewMemory(time.Now)}
	take := func() (string, bool) {
		t.Helper()
		id, ok, err := slots.Acquire(t.Context(), "streams:{org:7}", 2, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return id, ok
	}
	first, _ := take()
	if second, ok := take(); !ok || second == first || first == "" {
		t.Fatalf("took %q and %q", first, second)
	}
	if _, ok := take(); ok {
		t.Error("a third of two places was taken")
	}
	if kept, err := slots.Renew(t.Context(), "streams:{org:7}", first, time.Hour); !kept || err != nil {
		t.Errorf("renewed: %v, %v", kept, err)
	}
	if err := slots.Release(t.Context(), "streams:{org:7}", first); err != nil {
		t.Fatal(err)
	}
	if kept, err := slots.Renew(t.Context(), "streams:{org:7}", first, time.Hour); kept || err != nil {
		t.Errorf("renewed after its release: %v, %v", kept, err)
	}
	if _, ok := take(); !ok {
		t.Error("the place that was given back is not free")
	}
}
