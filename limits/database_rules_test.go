package limits

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Three stores with connections of their own are three processes to the database.
func TestStoresOnOneDatabaseAreExactTogether(t *testing.T) {
	t.Parallel()
	eachDatabase(t, DatabaseOptions{}, func(t *testing.T, open func() databaseStore) {
		stores := []databaseStore{open(), open(), open()}
		var admitted, next atomic.Int64
		var group sync.WaitGroup
		for worker := range 24 {
			group.Go(func() {
				for i := next.Add(1); i <= 400; i = next.Add(1) {
					d, err := stores[worker%3].Take(t.Context(), perAccount(20+i%4, 240, time.Hour), nil)
					if err != nil {
						t.Errorf("Take: %v", err)
					}
					if d.Admitted {
						admitted.Add(1)
					}
				}
			})
		}
		group.Wait()
		if admitted.Load() != 240 {
			t.Errorf("%d of 400 requests were admitted by three stores; the figure is 240", admitted.Load())
		}
	})
}

// Stacks that name the same counters in different orders never wait for each other in a circle.
func TestStacksInAnyOrderDoNotLockEachOtherOut(t *testing.T) {
	t.Parallel()
	eachDatabase(t, DatabaseOptions{MaxKeys: 3}, func(t *testing.T, open func() databaseStore) {
		stores := []databaseStore{open(), open()}
		var group sync.WaitGroup
		for worker := range 8 {
			group.Go(func() {
				for i := range 50 {
					stack := append(perAccount(int64(worker%3), 1e6, time.Hour), perAddress(byte(i%5), 1e6, time.Hour)...)
					if worker%2 == 0 {
						stack[0], stack[2] = stack[2], stack[0]
					}
					if d, err := stores[worker%2].Take(t.Context(), stack, nil); err != nil || !d.Admitted {
						t.Errorf("admitted %v, error %v", d.Admitted, err)
					}
					if i%10 == 0 {
						if err := stores[worker%2].Sweep(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		group.Wait()
		if got := left(t, stores[0], perAccount(1, 1e6, time.Hour))[0]; got != 1e6-400 {
			t.Errorf("after 400 requests of one account %d are left of 1000000", got)
		}
	})
}

// At the bound counters that exist are kept, and newcomers of one plan and window share one figure; a newcomer that
// finds room again goes on being counted for what it did.
func TestDatabaseAtItsBound(t *testing.T) {
	t.Parallel()
	eachDatabase(t, DatabaseOptions{MaxKeys: 3}, func(t *testing.T, open func() databaseStore) {
		store := open()
		for n := range byte(2) {
			mustAdmit(t, store, perAddress(n, 2, time.Hour), true)
			mustAdmit(t, store, perAddress(n, 2, time.Hour), true)
		}
		short := perAddress(2, 2, 2*time.Second)
		mustAdmit(t, store, short, true)
		mustAdmit(t, store, perAddress(10, 2, time.Hour), true)
		mustAdmit(t, store, perAddress(11, 2, time.Hour), true)
		for n := range byte(40) {
			if n != 2 { // the third counter is of another window
				mustAdmit(t, store, perAddress(n, 2, time.Hour), false)
			}
		}
		spaceOf(t, store).counted(0)
		if d := mustAdmit(t, store, perAddress(12, 5, time.Hour), true); d.States[0].Context.Remaining != 2 {
			t.Errorf("a newcomer that finds room has %d left of 5, of which 2 were used in common and 1 by it", d.States[0].Context.Remaining)
		}
	})
}

// The bound is that of the storage: a process that begins does not bring new room.
func TestTheBoundIsKnownAtTheStart(t *testing.T) {
	t.Parallel()
	eachDatabase(t, DatabaseOptions{MaxKeys: 3}, func(t *testing.T, open func() databaseStore) {
		first := open()
		for n := range byte(3) {
			mustAdmit(t, first, perAddress(n, 2, time.Hour), true)
		}
		second := open()
		mustAdmit(t, second, perAddress(10, 1, time.Hour), true)
		mustAdmit(t, second, perAddress(11, 1, time.Hour), false)
		if counters, _ := rowsOf(t, second); counters != 4 {
			t.Errorf("there are %d counters, want 3 and the common one", counters)
		}
	})
}

// Newcomers that share a counter are decided one after the other, wherever they come in.
func TestNewcomersAtTheBoundAreExactTogether(t *testing.T) {
	t.Parallel()
	eachDatabase(t, DatabaseOptions{MaxKeys: 1}, func(t *testing.T, open func() databaseStore) {
		stores := []databaseStore{open(), open()}
		for n := range stores {
			mustAdmit(t, stores[n], perAccount(int64(n+1), 9, time.Hour), true) // each thinks that there is no more room
		}
		var admitted atomic.Int64
		var group sync.WaitGroup
		for worker := range 16 {
			group.Go(func() {
				for i := range 12 {
					d, err := stores[worker%2].Take(t.Context(), perAddress(byte(12*worker+i), 100, time.Hour), nil)
					if err != nil {
						t.Errorf("Take: %v", err)
					}
					if d.Admitted {
						admitted.Add(1)
					}
				}
			})
		}
		group.Wait()
		if admitted.Load() != 100 {
			t.Errorf("%d of 192 newcomers were admitted; their common figure is 100", admitted.Load())
		}
	})
}

// The last place is given once, whichever process is asked for it.
func TestLeasesOfSeveralStoresAreExactTogether(t *testing.T) {
	t.Parallel()
	eachDatabase(t, DatabaseOptions{}, func(t *testing.T, open func() databaseStore) {
		stores := []databaseStore{open(), open(), open()}
		for round := range 40 {
			var got atomic.Int64
			var group sync.WaitGroup
			for worker := range 9 {
				group.Go(func() {
					if _, ok, err := stores[worker%3].Acquire(t.Context(), fmt.Sprint("jobs:", round), 2, time.Hour); err != nil {
						t.Errorf("Acquire: %v", err)
					} else if ok {
						got.Add(1)
					}
				})
			}
			group.Wait()
			if got.Load() != 2 {
				t.Errorf("%d of 9 racing callers got one of 2 places", got.Load())
			}
		}
	})
}

func TestSweepDeletesWhatCountsNothing(t *testing.T) {
	t.Parallel()
	eachDatabase(t, DatabaseOptions{MaxKeys: 2000}, func(t *testing.T, open func() databaseStore) {
		store := open()
		kept := perAccount(17, 5, time.Hour)
		mustAdmit(t, store, kept, true)
		for n := range 1200 { // more than two batches
			brief := perAccount(int64(100+n), 5, 100*time.Millisecond)[1:]
			mustAdmit(t, store, brief, true)
		}
		lease, ok, err := store.Acquire(t.Context(), "jobs:3", 1, time.Hour)
		if err != nil || !ok {
			t.Fatalf("lease: %v, %v", ok, err)
		}
		if _, _, err := store.Acquire(t.Context(), "jobs:4", 1, time.Millisecond); err != nil {
			t.Fatal(err)
		}
		<-time.After(110 * time.Millisecond)
		// The second finds nothing to do but the counters that were still counting when the first came.
		for range 2 {
			if err := store.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		counters, leases := rowsOf(t, store)
		if counters != 2 || leases != 1 {
			t.Errorf("after the sweep there are %d counters and %d leases, want 2 and 1", counters, leases)
		}
		if room := spaceOf(t, store).left.Load(); room != 2000-2 {
			t.Errorf("after the sweep there is room for %d counters of 2000, and 2 are there", room)
		}
		if got := left(t, store, kept); got[0] != 4 || got[1] != 4 {
			t.Errorf("what counts has %v left of 5", got)
		}
		if ok, err := store.Renew(t.Context(), lease, time.Hour); err != nil || !ok {
			t.Errorf("the lease that lives is lost: %v, %v", ok, err)
		}
	})
}

// A counter that is charged again and again outlives the moment at which the sweep first looks at it.
func TestSweepKeepsWhatWasChargedAgain(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		clock := newFakeTime()
		store := openedSQLite(t, filepath.Join(t.TempDir(), "limits.db"), DatabaseOptions{Timeout: 10 * time.Second, Now: clock.now})
		keepsWhatIsCharged(t, store, time.Minute, func(d time.Duration) { clock.at = clock.at.Add(d) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		store := openedPostgres(t, migratedPostgres(t), DatabaseOptions{Timeout: 10 * time.Second})
		keepsWhatIsCharged(t, store, 3*time.Second, func(d time.Duration) { <-time.After(d) }) // it has a clock of its own
	})
}

func keepsWhatIsCharged(t *testing.T, store databaseStore, window time.Duration, wait func(d time.Duration)) {
	stack := perAccount(17, 1000, window)
	for range 4 { // the third comes after the end of the first
		mustAdmit(t, store, stack, true)
		if err := store.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := left(t, store, stack); got[0] == 1000 {
			t.Fatal("a sweep deleted what counts")
		}
		wait(window/2 + window/100)
	}
	wait(window)
	if err := store.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if counters, _ := rowsOf(t, store); counters != 0 {
		t.Errorf("%d idle counters are left", counters)
	}
}
