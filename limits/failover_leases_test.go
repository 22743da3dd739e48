package limits_test

import (
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/limits/limitstest"
	"github.com/stenometer/stenometer/problems"
)

// whole is a Failover as one store of everything.
type whole struct {
	limits.Store
	limits.Leases
}

// A Failover keeps every rule of a store, while the storage answers and while it counts alone in its place.
func TestFailoverKeepsTheRulesOfAStore(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*installation){
		"the storage answers": func(*installation) {},
		"the storage is away": (*installation).goAway,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limitstest.Run(t, func(t *testing.T) limitstest.Subject {
				i := running(t, "local,local,local")
				prepare(i)
				return limitstest.Subject{
					Store:  whole{i.For(limits.OnWrite), i.Failover},
					Window: time.Minute,
					Now:    func() time.Time { return i.now },
					Wait:   func(d time.Duration) { i.now = i.now.Add(d) },
				}
			})
		})
	}
}

const places = "jobs:{org:3}"

func (i *installation) place(among int) (limits.Lease, bool) {
	i.t.Helper()
	lease, ok, err := i.Acquire(i.t.Context(), places, among, 15*time.Second)
	if err != nil {
		i.t.Fatal(err)
	}
	return lease, ok
}

func (i *installation) kept(lease limits.Lease) bool {
	i.t.Helper()
	ok, err := i.Renew(i.t.Context(), lease, 15*time.Second)
	if err != nil {
		i.t.Fatal(err)
	}
	return ok
}

// stored is how many of the places the storage has free.
func (i *installation) stored(among int) (free int) {
	i.t.Helper()
	var taken []limits.Lease
	for {
		lease, ok, _ := i.storage.Memory.Acquire(i.t.Context(), places, among, time.Minute)
		if !ok {
			break
		}
		taken = append(taken, lease)
	}
	for _, lease := range taken {
		_ = i.storage.Memory.Release(i.t.Context(), lease)
	}
	return len(taken)
}

func TestPlacesAreDividedWithoutTheStorage(t *testing.T) {
	t.Parallel()
	i := running(t, "deny,deny,local")
	i.replicas = 2
	before, _ := i.place(7)
	i.goAway()
	for n, want := range []bool{true, true, false} {
		if _, ok := i.place(7); ok != want {
			t.Errorf("place %d besides the one held before: %v, want half of 7 in all", n+1, ok)
		}
	}
	if !i.kept(before) {
		t.Error("a place held when the outage began was lost in it")
	}
	if _, ok := i.place(0); ok {
		t.Error("one of no places was given")
	}
	if err := i.Release(t.Context(), before); err != nil {
		t.Error(err)
	}
	if _, ok := i.place(7); !ok {
		t.Error("a place that was given back is not free")
	}
}

func TestPlacesAreDeniedWithoutTheStorage(t *testing.T) {
	t.Parallel()
	i := running(t, "local,local,deny")
	lease, _ := i.place(3)
	i.goAway()
	if _, ok, err := i.Acquire(t.Context(), places, 3, time.Minute); ok || !problems.Is(err, problems.LimitsUnavailable) {
		t.Errorf("a new place: %v, %v", ok, err)
	}
	if ok, err := i.Renew(t.Context(), lease, time.Minute); ok || !problems.Is(err, problems.LimitsUnavailable) {
		t.Errorf("one held before: %v, %v", ok, err)
	}
	if err := i.Release(t.Context(), lease); err != nil {
		t.Errorf("giving it back: %v", err)
	}
	i.comeBack()
	i.now = i.now.Add(16 * time.Second)
	if free := i.stored(3); free != 3 {
		t.Errorf("%d of 3 places are free once the one that could not be given back ran out", free)
	}
}

// A place taken in an outage moves to the storage when that is back and has room; the holder notices nothing.
func TestPlacesOfAnOutageMoveToTheStorage(t *testing.T) {
	t.Parallel()
	i := running(t, "local,local,local")
	before, _ := i.place(2)
	i.goAway()
	during, ok := i.place(2)
	if !ok {
		t.Fatal("no second place in the outage")
	}
	// Another process took what looked free while this one could not be heard: the storage is full.
	i.now = i.now.Add(10 * time.Second)
	if !i.kept(before) || !i.kept(during) {
		t.Fatal("a place was lost in the outage")
	}
	i.now = i.now.Add(10 * time.Second)
	other, ok, _ := i.storage.Memory.Acquire(t.Context(), places, 2, 15*time.Second)
	if !ok {
		t.Fatal("what was not renewed did not run out in the storage")
	}
	i.comeBack()
	if !i.kept(before) || !i.kept(during) {
		t.Error("work ended because an outage was over")
	}
	if free := i.stored(2); free != 0 {
		t.Errorf("%d places are free in the storage, want one held by each process", free)
	}
	_ = i.storage.Memory.Release(t.Context(), other)
	if !i.kept(before) || !i.kept(during) {
		t.Error("a place was lost when there was one free")
	}
	if free := i.stored(2); free != 0 {
		t.Errorf("%d places are free in the storage, want both held by this process", free)
	}
	for _, lease := range []limits.Lease{before, during} {
		if err := i.Release(t.Context(), lease); err != nil {
			t.Error(err)
		}
	}
	if free := i.stored(2); free != 2 {
		t.Errorf("%d places are free after both were given back under the names that their holders know", free)
	}
}

// What the storage has forgotten without an outage is lost, and so is what ran out in one.
func TestPlacesThatAreLost(t *testing.T) {
	t.Parallel()
	i := running(t, "local,local,local")
	forgotten, _ := i.place(3)
	_ = i.storage.Memory.Release(t.Context(), forgotten)
	if i.kept(forgotten) {
		t.Error("a place that the storage has forgotten was kept")
	}
	i.goAway()
	late, _ := i.place(3)
	i.now = i.now.Add(15 * time.Second)
	if i.kept(late) {
		t.Error("a place that had run out was renewed in the outage")
	}
	late, _ = i.place(3)
	i.now = i.now.Add(15 * time.Second)
	i.comeBack()
	if i.kept(late) {
		t.Error("a place that had run out was renewed after the outage")
	}
}
