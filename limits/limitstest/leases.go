package limitstest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
)

func acquire(t *testing.T, s Subject, key string, places int, ttl time.Duration) (limits.Lease, bool) {
	t.Helper()
	lease, ok, err := s.Store.Acquire(t.Context(), key, places, ttl)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	return lease, ok
}

func held(t *testing.T, s Subject, key string, places int, ttl time.Duration) limits.Lease {
	t.Helper()
	lease, ok := acquire(t, s, key, places, ttl)
	if !ok {
		t.Fatalf("no place of %d was free", places)
	}
	return lease
}

// full wants no place of jobs:3 to be free.
func full(t *testing.T, s Subject, places int) {
	t.Helper()
	if _, ok := acquire(t, s, "jobs:3", places, time.Minute); ok {
		t.Fatalf("one place more than %d was given", places)
	}
}

func release(t *testing.T, s Subject, lease limits.Lease) {
	t.Helper()
	if err := s.Store.Release(t.Context(), lease); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

func renewed(t *testing.T, s Subject, lease limits.Lease, ttl time.Duration) bool {
	t.Helper()
	ok, err := s.Store.Renew(t.Context(), lease, ttl)
	if err != nil {
		t.Fatalf("Renew: %v", err)
	}
	return ok
}

func leasesExact(t *testing.T, s Subject) {
	var got atomic.Int64
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			if _, ok, err := s.Store.Acquire(t.Context(), "jobs:3", 3, time.Hour); err != nil {
				t.Errorf("Acquire: %v", err)
			} else if ok {
				got.Add(1)
			}
		})
	}
	group.Wait()
	if got.Load() != 3 {
		t.Errorf("%d of 64 racing callers got one of 3 places", got.Load())
	}
	full(t, s, 3)
	held(t, s, "jobs:4", 1, time.Hour)
}

func leaseRunsOut(t *testing.T, s Subject) {
	lost := held(t, s, "jobs:3", 2, s.Window/2)
	kept := held(t, s, "jobs:3", 2, time.Hour)
	full(t, s, 2)
	s.Wait(s.Window / 2)
	if renewed(t, s, lost, time.Hour) {
		t.Error("a lease that had run out was renewed")
	}
	held(t, s, "jobs:3", 2, time.Hour)
	full(t, s, 2)
	if renewed(t, s, lost, time.Hour) {
		t.Error("a lease was renewed whose place is another's")
	}
	if !renewed(t, s, kept, time.Hour) {
		t.Error("a lease was lost before its time")
	}
}

func leaseRenewed(t *testing.T, s Subject) {
	lease := held(t, s, "jobs:3", 1, s.Window)
	for range 4 {
		s.Wait(s.Window / 3)
		if !renewed(t, s, lease, s.Window) {
			t.Fatal("a lease was lost although it was renewed in time")
		}
		full(t, s, 1)
	}
	s.Wait(s.Window)
	held(t, s, "jobs:3", 1, time.Hour)
}

func leaseReleasedTwice(t *testing.T, s Subject) {
	first := held(t, s, "jobs:3", 2, time.Hour)
	held(t, s, "jobs:3", 2, time.Hour)
	release(t, s, first)
	release(t, s, first)
	release(t, s, limits.Lease{Key: "jobs:9", ID: "never taken"})
	if renewed(t, s, first, time.Hour) {
		t.Error("a released lease was renewed")
	}
	held(t, s, "jobs:3", 2, time.Hour)
	full(t, s, 2)
}

func leaseOfNone(t *testing.T, s Subject) {
	full(t, s, 0)
	full(t, s, -1)
}
